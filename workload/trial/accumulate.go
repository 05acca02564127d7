package trial

import (
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
	// start is where the window starts, if bounded: what was counted from
	// before it on is left out, as a recording that begins there has it neither.
	start   time.Duration
	bounded bool
}

// sum is what is kept of one metric and label.
type sum struct {
	kind    probes.Kind
	seconds float64 // measured, where the metric was there
	total   float64 // growth of a counter
	area    float64 // level × seconds of a gauge
	over    float64 // upper and lower sum of a ratio
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

// Begin takes the start of the window, and the gauges' levels there, from the
// frame that ends there. It is left out where there is no such frame; then the
// levels at the end of the first frame stand in.
func (a *Accumulator) Begin(f probes.Frame) {
	a.start, a.bounded = f.T, true
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
	for k, v := range f.Values {
		m, ok := a.metrics[k.ID]
		switch {
		case !ok || fromTotals(k.ID):
		case !v.OK():
			a.reasons[k] = v.Missing
		case a.bounded && v.Elapsed > 0 && v.Since < a.start:
			a.reasons[k] = "its reads were late at the start and the end of the window"
		case v.Elapsed > 0:
			a.add(&f, k, m, v, v.Elapsed.Seconds())
		default:
			a.add(&f, k, m, v, seconds)
		}
	}
	for _, miss := range f.Misses {
		a.reasons[probes.Key{ID: miss.ID}] = miss.Text()
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
		s.over += v.Over
		s.under += v.Under
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
			s.Figures[k] = sum.figure(k.ID, a.seconds)
		}
	}
	s.whole(probes.Transactions)
	s.whole(probes.Failed)
	for k, f := range s.Figures {
		if k.ID == probes.Transactions {
			s.Figures[probes.Key{ID: probes.TPS, Label: k.Label}] = f
		}
	}
	s.perTransaction()
	a.latencies(s)
	return s
}

// perTransaction divides the rates over the window: the intervals that lack a figure
// per transaction, since the two probes were read too far apart in them, have their
// part in it too.
func (s *Summary) perTransaction() {
	for _, d := range probes.PerTransactions() {
		k := probes.Key{ID: d.ID}
		was, there := s.Figures[k]
		if !there || !was.OK() {
			continue
		}
		count, done := s.Get(d.Counter), s.Get(probes.TPS)
		if !done.OK() {
			done = s.Get(probes.ServerTPS)
		}
		if count.OK() && done.OK() && done.Value > 0 {
			was.Value = d.Factor * count.Value / done.Value
			s.Figures[k] = was
		}
	}
}

// whole makes the figure of all loads from those of each: in an interval in
// which one was read late, the others' part would be lost.
func (s *Summary) whole(id string) {
	var all Figure
	n := 0
	for k, f := range s.Figures {
		if k.ID != id || k.Label == "" {
			continue
		}
		n++
		all.Value, all.Total = all.Value+f.Value, all.Total+f.Total
		all.Uncovered = max(all.Uncovered, f.Uncovered)
		if !f.OK() {
			all.Missing = f.Missing
		}
	}
	switch {
	case n == 0:
	case !all.OK():
		s.Figures[probes.Key{ID: id}] = Figure{Missing: all.Missing}
	default:
		s.Figures[probes.Key{ID: id}] = all
	}
}

// allowed is the share of a window that a total may leave out and still count as
// that of the window: reads do not begin at the very moment of a sample.
const allowed = 0.01

// figure is the one number of a metric over a window of that many seconds.
func (s *sum) figure(id string, window float64) Figure {
	f := Figure{RunningPct: s.running}
	switch s.kind {
	case probes.Counter:
		f.Total, f.Value = s.total, s.total/s.seconds
		if out := window - s.seconds; out > allowed*window {
			f.Uncovered = out
		}
	case probes.Ratio:
		f.Value = s.area / s.seconds
		if s.under > 0 {
			f.Value = s.over / s.under
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

// latencyFigure is the mean, or a percentile where there are enough transactions for
// it: one of a handful is the luck of single ones, and the arm that makes more of them
// gets the slower slowest.
func latencyFigure(id string, h *probes.Histogram) Figure {
	n := h.Count()
	if n == 0 {
		return Figure{Missing: "no transaction finished"}
	}
	q, ok := map[string]float64{probes.LatencyP50: 0.50, probes.LatencyP95: 0.95, probes.LatencyP99: 0.99}[id]
	if !ok {
		return Figure{Value: h.MeanMS()}
	}
	if why := fewText(q, n); why != "" {
		return Figure{Missing: why}
	}
	return Figure{Value: h.QuantileMS(q)}
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
	case probes.PageTables, probes.PageTableOthers, probes.SecPageTables, probes.PageTableBackendsSum, probes.PageTableMaxBackend, probes.ClientPageFaults,
		probes.HugetlbUsed, probes.PoolTotal, probes.PoolFree, probes.PoolReserved, probes.PoolSurplus,
		probes.Backends, probes.MemTotal, probes.Catalog, probes.AnonHuge, probes.ShmemHuge:
		return true
	}
	return false
}
