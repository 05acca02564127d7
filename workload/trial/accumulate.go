package trial

import (
	"slices"
	"time"

	"pgtlb/probes"
)

// Accumulator makes a Summary frame by frame. Add costs the same for each
// frame, so a live session can ask for the Summary at every tick.
type Accumulator struct {
	metrics map[string]probes.Metric
	sums    map[probes.Key]*sum
	hists   map[string]*probes.Histogram
	reasons map[probes.Key]string
	seconds float64
	frames  int
}

// sum is what is kept of one metric and label.
type sum struct {
	kind    probes.Kind
	seconds float64 // measured, where the metric was there
	total   float64 // growth of a counter
	area    float64 // level × seconds of a gauge
	over    float64 // upper and lower total of a ratio
	under   float64
	start   float64
	end     float64
	max     float64
	began   bool // start is set
	running float64
}

// NewAccumulator returns one that has seen nothing.
func NewAccumulator() *Accumulator {
	a := &Accumulator{
		metrics: map[string]probes.Metric{},
		sums:    map[probes.Key]*sum{},
		hists:   map[string]*probes.Histogram{},
		reasons: map[probes.Key]string{},
	}
	for _, m := range probes.Catalogue() {
		a.metrics[m.ID] = m
	}
	return a
}

// Begin takes the gauges' levels at the start of the window from the frame that
// ends there. It is left out where there is no such frame; then the levels at
// the end of the first frame stand in.
func (a *Accumulator) Begin(f probes.Frame) {
	for k, v := range f.Values {
		if m, ok := a.metrics[k.ID]; ok && m.Kind == probes.Gauge && v.OK() {
			a.sum(k, m.Kind).begin(v.V)
		}
	}
}

// Add takes in the next frame of the window.
func (a *Accumulator) Add(f probes.Frame) {
	seconds := f.Elapsed.Seconds()
	if seconds <= 0 {
		return
	}
	a.seconds += seconds
	a.frames++
	for k, v := range f.Values {
		m, ok := a.metrics[k.ID]
		switch {
		case !ok || fromTotals(k.ID):
		case !v.OK():
			a.reasons[k] = v.Missing
		default:
			a.add(&f, k, m, v, seconds)
		}
	}
	for _, miss := range f.Misses {
		a.reasons[probes.Key{ID: miss.ID}] = miss.Reason
	}
	for label, h := range f.Hists {
		if h == nil {
			continue
		}
		if a.hists[label] == nil {
			a.hists[label] = probes.NewHistogram()
		}
		a.hists[label].Add(h)
	}
}

func (a *Accumulator) add(f *probes.Frame, k probes.Key, m probes.Metric, v probes.Value, seconds float64) {
	s := a.sum(k, m.Kind)
	if v.RunningPct > 0 && (s.running == 0 || v.RunningPct < s.running) {
		s.running = v.RunningPct
	}
	switch m.Kind {
	case probes.Counter:
		s.total += v.Delta
	case probes.Ratio:
		over, under := ratioParts(f, k.ID)
		s.over += over
		s.under += under
		s.area += v.V * seconds
	default:
		// When the last client has stopped, its page table is gone: the level
		// that a load reached is the one before.
		if grows(k.ID) && s.seconds > 0 && f.Marked(probes.LoadStopped) {
			return
		}
		s.begin(v.V)
		s.end = v.V
		s.max = max(s.max, v.V)
		s.area += v.V * seconds
	}
	s.seconds += seconds
}

func (s *sum) begin(level float64) {
	if !s.began {
		s.start, s.max, s.began = level, level, true
	}
}

func (a *Accumulator) sum(k probes.Key, kind probes.Kind) *sum {
	s := a.sums[k]
	if s == nil {
		s = &sum{kind: kind}
		a.sums[k] = s
	}
	return s
}

// Summary is one number per metric for what has been added so far. It shares
// nothing with the accumulator.
func (a *Accumulator) Summary() *Summary {
	s := &Summary{
		Seconds: a.seconds,
		Figures: make(map[probes.Key]Figure, len(a.sums)+len(a.reasons)+8),
		Latency: map[string]*probes.Histogram{},
	}
	for k, reason := range a.reasons {
		s.Figures[k] = Figure{Missing: reason}
	}
	for k, sum := range a.sums {
		if sum.seconds > 0 {
			s.Figures[k] = sum.figure(k.ID)
		}
	}
	for k, f := range s.Figures {
		if k.ID == probes.Transactions {
			s.Figures[probes.Key{ID: probes.TPS, Label: k.Label}] = f
		}
	}
	a.latencies(s)
	return s
}

// figure is the one number of a metric.
func (s *sum) figure(id string) Figure {
	f := Figure{RunningPct: s.running}
	switch s.kind {
	case probes.Counter:
		f.Total, f.Value = s.total, s.total/s.seconds
	case probes.Ratio:
		f.Value = s.area / s.seconds
		if s.under > 0 {
			f.Value = ratioFactor(id) * s.over / s.under
		}
	default:
		f.Start, f.End, f.Max = s.start, s.end, s.max
		f.Value = s.area / s.seconds
		if grows(id) {
			f.Value = s.end
		}
	}
	return f
}

// latencies fills in the percentiles over all transactions of the window.
func (a *Accumulator) latencies(s *Summary) {
	all := probes.NewHistogram()
	labels := 0
	for label, h := range a.hists {
		if label == "" {
			continue
		}
		labels++
		own := probes.NewHistogram()
		own.Add(h)
		s.Latency[label] = own
		if len(a.hists) == 1 {
			all = own // published, so it may be shared
		} else {
			all.Add(h)
		}
	}
	if labels == 0 {
		all.Add(a.hists[""])
	}
	if len(a.hists) > 0 {
		s.Latency[""] = all
	}
	for label, h := range s.Latency {
		for _, id := range []string{probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99} {
			s.Figures[probes.Key{ID: id, Label: label}] = latencyFigure(id, h)
		}
	}
}

func latencyFigure(id string, h *probes.Histogram) Figure {
	if h.Count() == 0 {
		return Figure{Missing: "no transaction finished"}
	}
	switch id {
	case probes.LatencyP50:
		return Figure{Value: h.QuantileMS(0.50)}
	case probes.LatencyP95:
		return Figure{Value: h.QuantileMS(0.95)}
	case probes.LatencyP99:
		return Figure{Value: h.QuantileMS(0.99)}
	}
	return Figure{Value: h.MeanMS()}
}

// fromTotals tells which metrics a window takes from its transactions and not
// from the frames' own figures.
func fromTotals(id string) bool {
	switch id {
	case probes.TPS, probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99, probes.Latency:
		return true
	}
	return false
}

// grows tells which gauges grow to their full size under a load, so that the
// last level and not the mean describes it.
func grows(id string) bool {
	switch id {
	case probes.PageTables, probes.SecPageTables, probes.PageTableBackendsSum, probes.PageTableMaxBackend,
		probes.HugetlbUsed, probes.PoolTotal, probes.PoolFree, probes.PoolReserved, probes.PoolSurplus,
		probes.Backends, probes.MemTotal, probes.AnonHuge, probes.ShmemHuge:
		return true
	}
	return false
}

// ratioParts returns the two counters' growth that a ratio is made of; zeros
// where the frame does not hold them.
func ratioParts(f *probes.Frame, id string) (over, under float64) {
	var o, u probes.Value
	switch id {
	case probes.DTLBMissPct:
		o, u = f.Get(probes.DTLBLoadMisses), f.Get(probes.DTLBLoads)
	case probes.WalkCyclesPct:
		o, u = f.Get(probes.WalkCyclesLoad), f.Get(probes.Cycles)
	case probes.DTLBMissesPerKInstr:
		o, u = f.Get(probes.DTLBLoadMisses), f.Get(probes.Instructions)
	}
	if !o.OK() || !u.OK() {
		return 0, 0
	}
	return o.Delta, u.Delta
}

func ratioFactor(id string) float64 {
	if id == probes.DTLBMissesPerKInstr {
		return 1000
	}
	return 100
}

// LoadWindow finds the frames of the load: from the one after the frame whose
// sample carries the first LoadStarted (that frame ends where the load starts)
// up to, not including, index to: the frame after the one in which the last
// load stopped, or the end. Where no frame tells of a start, ok is false and the
// window is everything up to the last stop, or to the end.
func LoadWindow(frames []probes.Frame) (from, to int, ok bool) {
	running, stopped := 0, len(frames)
	for i, f := range frames {
		for _, m := range f.Marks {
			switch m.Kind {
			case probes.LoadStarted:
				if !ok {
					from, ok = i+1, true
				}
				running++
			case probes.LoadStopped:
				running--
				stopped = i + 1
			}
		}
		if ok && running <= 0 {
			return from, i + 1, true
		}
	}
	if !ok {
		return 0, stopped, false
	}
	return from, len(frames), true
}

// Summarize makes the Summary of the load window of frames, or of all frames
// where no load started.
func Summarize(frames []probes.Frame) *Summary { return SummarizeFirst(frames, 0) }

// SummarizeFirst is Summarize for the first length of the window only, so that
// a finished run can be held against one that is still going. A length of 0
// takes the whole window.
func SummarizeFirst(frames []probes.Frame, length time.Duration) *Summary {
	from, to, _ := LoadWindow(frames)
	if length > 0 {
		var sum time.Duration
		for i := from; i < to; i++ {
			if sum += frames[i].Elapsed; sum > length+frames[i].Elapsed/2 {
				to = i
				break
			}
		}
	}
	return summarize(frames, from, to)
}

func summarize(frames []probes.Frame, from, to int) *Summary {
	a := NewAccumulator()
	if from > 0 && from <= len(frames) {
		a.Begin(frames[from-1])
	}
	for i := from; i < to; i++ {
		a.Add(frames[i])
	}
	return a.Summary()
}

// Fill says where the filling of page tables ended in a load window.
type Fill struct {
	// At is the index of the first frame after the filling; the end of the
	// window where Clear is false.
	At int
	// Clear tells whether the end can be seen.
	Clear bool
	// Why says how the end was found, or why not, in one sentence.
	Why string
}

// The rule of FillEnd, in frames and ratios.
const (
	fillLeast   = 12   // frames of a window in which an end can be told
	fillRun     = 3    // frames in a row that must be quiet
	fillRest    = 0.10 // share of the peak's excess that counts as quiet
	fillRise    = 1.5  // peak ÷ steady level from which on there was a filling
	fillSettled = 1.3  // drift within the last third that still counts as level
)

// FillEnd finds where the filling of page tables ended: a load that meets
// shared buffers for the first time takes a minor fault for each part of them,
// and these die out. What counts is the minor faults of the server's client
// backends; where they were not recorded, those of the whole machine. The rule:
// the steady level is the median rate of minor faults in the last third of the
// load window; the filling ends before the first
// three frames in a row whose rate is above it by at most a tenth of what the
// first third's highest rate was above it. Where the last third itself still
// falls by more than 1.3-fold, no end is named.
func FillEnd(frames []probes.Frame) Fill {
	from, to, _ := LoadWindow(frames)
	if from < to && frames[to-1].Elapsed < usual(frames[from:to])/2 {
		to-- // the rest of an interval, too short for a rate
	}
	rates, ok := faultRates(frames[from:to])
	n := len(rates)
	switch {
	case !ok:
		return Fill{At: to, Why: "page faults were not measured in every interval, so the filling of page tables cannot be told from the steady state"}
	case n < fillLeast:
		return Fill{At: to, Why: "the run is too short to tell the filling of page tables from the steady state"}
	}
	third := n / 3
	last := rates[n-third:]
	level := median(last)
	peak := slices.Max(rates[:third])
	before, after := median(last[:len(last)/2]), median(last[len(last)/2:])
	if before > fillSettled*max(after, 1) && before-after > fillRest*(peak-level) {
		return Fill{At: to, Why: "page faults were still becoming fewer at the end: the run shows the filling of page tables, not the steady state"}
	}
	if peak < fillRise*max(level, 1) {
		return Fill{At: from, Clear: true, Why: "page faults stayed level from the start: there was no filling of page tables to set apart"}
	}
	limit := level + fillRest*(peak-level)
	quiet := 0
	for i, r := range rates {
		if r > limit {
			quiet = 0
			continue
		}
		if quiet++; quiet == fillRun {
			return Fill{At: from + i + 1 - fillRun, Clear: true, Why: "the rate of minor page faults had fallen to its later level"}
		}
	}
	return Fill{At: to, Why: "the rate of page faults went up and down too much to tell the filling of page tables from the steady state"}
}

// faultRates returns the rate of minor faults of each frame: those of the client
// backends where every frame has them, else the machine's, else all faults of
// the machine.
func faultRates(frames []probes.Frame) ([]float64, bool) {
	if rates, ok := backendFaultRates(frames); ok {
		return rates, true
	}
	for _, id := range []string{probes.PageFaultsMinor, probes.PageFaults} {
		rates := make([]float64, 0, len(frames))
		for i := range frames {
			if v := frames[i].Get(id); v.OK() {
				rates = append(rates, v.V)
			}
		}
		if len(rates) == len(frames) && len(rates) > 0 {
			return rates, true
		}
	}
	return nil, false
}

// backendFaultRates adds up the minor faults per second of the client backends
// that were there in the sample before, too.
func backendFaultRates(frames []probes.Frame) ([]float64, bool) {
	rates := make([]float64, len(frames))
	for i := range frames {
		known := false
		for _, b := range frames[i].Backends {
			if b.Role == clientRole && !b.Own && b.Rates != nil {
				rates[i] += b.Rates.MinorFaults
				known = true
			}
		}
		if !known {
			return nil, false
		}
	}
	return rates, len(rates) > 0
}

// usual is the median time between the samples of at least one frame.
func usual(frames []probes.Frame) time.Duration {
	all := make([]time.Duration, len(frames))
	for i := range frames {
		all[i] = frames[i].Elapsed
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// median of at least one value; the slice is left as it is.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
