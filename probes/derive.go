package probes

import (
	"sync"
	"time"

	"pgtlb/probes/perf"
)

// Reasons a figure is missing although its source was read.
const (
	reasonFirst     = "first sample: a rate needs two"
	reasonBackwards = "counter went backwards (restarted or wrapped)"
	reasonNotRun    = "not counted: the counter was never scheduled in this interval"
)

// kindByID is the catalogue's kinds, built once and never changed.
var kindByID = sync.OnceValue(func() map[string]Kind {
	m := map[string]Kind{}
	for _, c := range Catalogue() {
		m[c.ID] = c.Kind
	}
	return m
})

// Derive turns two raw samples into the figures of the interval between them.
// It is pure: a recorded run gives the same frames as the live one. prev may be
// nil; then only levels are known. A counter that went backwards, or that was
// not there before, has no figure but a reason.
func Derive(prev, cur *Sample) Frame {
	f := Frame{
		Seq: cur.Seq, At: cur.At, T: cur.T, Marks: cur.Marks,
		Values: make(map[Key]Value, 64),
	}
	old := map[string]*Batch{}
	if prev != nil {
		f.Elapsed = cur.T - prev.T
		if f.Elapsed > 0 && cur.OwnCPU >= prev.OwnCPU {
			f.OwnCPUPct = 100 * float64(cur.OwnCPU-prev.OwnCPU) / float64(f.Elapsed)
		}
		for i := range prev.Batches {
			old[prev.Batches[i].Probe] = &prev.Batches[i]
		}
	}
	d := deriver{frame: &f, groups: map[Key]string{}}
	for i := range cur.Batches {
		b := &cur.Batches[i]
		f.ProbeTime += b.Took
		f.Misses = append(f.Misses, b.Misses...)
		p := old[b.Probe]
		var elapsed time.Duration
		if p != nil {
			elapsed = cur.T + b.Offset - prev.T - p.Offset
		}
		d.readings(p, b, elapsed.Seconds())
		f.Backends = append(f.Backends, backendRows(p, b, elapsed.Seconds())...)
		d.serverFaults(p, b, elapsed.Seconds())
	}
	d.wholes()
	d.load()
	d.server()
	d.ratios()
	return f
}

// deriver fills one frame.
type deriver struct {
	frame  *Frame
	groups map[Key]string // perf group of a counter
}

func (d *deriver) readings(prev, cur *Batch, seconds float64) {
	var before map[Key]*Reading
	if prev != nil {
		before = make(map[Key]*Reading, len(prev.Readings))
		for i := range prev.Readings {
			r := &prev.Readings[i]
			before[Key{r.ID, r.Label}] = r
		}
	}
	for i := range cur.Readings {
		r := &cur.Readings[i]
		k := Key{r.ID, r.Label}
		switch kindByID()[r.ID] {
		case Counter:
			d.frame.Values[k] = growth(before[k], r, seconds)
			if r.Group != "" {
				d.groups[k] = r.Group
			}
		case Distribution:
			if r.Hist != nil {
				if d.frame.Hists == nil {
					d.frame.Hists = map[string]*Histogram{}
				}
				d.frame.Hists[r.Label] = r.Hist
			}
		default:
			d.frame.Values[k] = Value{V: r.Value}
		}
	}
}

// growth is a counter's change from prev to cur.
func growth(prev, cur *Reading, seconds float64) Value {
	if prev == nil || seconds <= 0 {
		return Value{Missing: reasonFirst}
	}
	if cur.Parts == nil {
		if cur.Value < prev.Value {
			return Value{Missing: reasonBackwards}
		}
		delta := cur.Value - prev.Value
		return Value{V: delta / seconds, Delta: delta}
	}
	for i := range min(len(prev.Parts), len(cur.Parts)) {
		if cur.Parts[i][0] < prev.Parts[i][0] {
			return Value{Missing: reasonBackwards}
		}
	}
	delta, share, counted := perf.Scale(counts(prev.Parts), counts(cur.Parts))
	if !counted {
		return Value{Missing: reasonNotRun}
	}
	return Value{V: delta / seconds, Delta: delta, RunningPct: 100 * share}
}

func counts(parts []Part) []perf.Count {
	out := make([]perf.Count, len(parts))
	for i, p := range parts {
		out[i] = perf.Count{Value: p[0], Enabled: p[1], Running: p[2]}
	}
	return out
}

// wholes adds the sum over the labels for the counters of loads.
func (d *deriver) wholes() {
	for _, id := range []string{Transactions, Failed} {
		var sum Value
		n := 0
		for _, l := range d.frame.Labels(id) {
			v := d.frame.Values[Key{id, l}]
			if !v.OK() {
				continue
			}
			sum.V += v.V
			sum.Delta += v.Delta
			n++
		}
		if n > 0 {
			d.frame.Values[Key{id, ""}] = sum
		}
	}
}

// load makes throughput and latency of the loads from their meters' readings.
func (d *deriver) load() {
	f := d.frame
	for _, l := range append(f.Labels(Transactions), "") {
		if v, ok := f.Values[Key{Transactions, l}]; ok {
			f.Values[Key{TPS, l}] = Value{V: v.V, Delta: v.Delta, Missing: v.Missing}
		}
	}
	var all *Histogram
	for l, h := range f.Hists {
		d.latency(l, h)
		switch {
		case all == nil && len(f.Hists) == 1:
			all = h
		case all == nil:
			all = NewHistogram()
			fallthrough
		default:
			all.Add(h)
		}
	}
	if all != nil {
		d.latency("", all)
	}
}

func (d *deriver) latency(label string, h *Histogram) {
	if h.Count() == 0 {
		for _, id := range []string{LatencyMean, LatencyP50, LatencyP95, LatencyP99} {
			d.frame.Values[Key{id, label}] = Value{Missing: "no transaction finished in this interval"}
		}
		return
	}
	d.frame.Values[Key{LatencyMean, label}] = Value{V: h.MeanMS()}
	d.frame.Values[Key{LatencyP50, label}] = Value{V: h.QuantileMS(0.50)}
	d.frame.Values[Key{LatencyP95, label}] = Value{V: h.QuantileMS(0.95)}
	d.frame.Values[Key{LatencyP99, label}] = Value{V: h.QuantileMS(0.99)}
}

// server makes the server's own throughput and mean latency.
func (d *deriver) server() {
	f := d.frame
	c, okC := f.Values[Key{Commits, ""}]
	r, okR := f.Values[Key{Rollbacks, ""}]
	if okC && okR {
		v := Value{V: c.V + r.V, Delta: c.Delta + r.Delta, Missing: c.Missing}
		if v.Missing == "" {
			v.Missing = r.Missing
		}
		f.Values[Key{ServerTPS, ""}] = v
	}
	calls, okCalls := f.Values[Key{StmtCalls, ""}]
	ms, okMS := f.Values[Key{StmtExecMS, ""}]
	switch {
	case !okCalls || !okMS:
	case !calls.OK():
		f.Values[Key{ServerLatencyMean, ""}] = Value{Missing: calls.Missing}
	case calls.Delta == 0:
		f.Values[Key{ServerLatencyMean, ""}] = Value{Missing: "no statement ended in this interval"}
	default:
		f.Values[Key{ServerLatencyMean, ""}] = Value{V: ms.Delta / calls.Delta}
	}
}

// ratios divides counters of the same group, so that both were counted over
// the same moments.
func (d *deriver) ratios() {
	d.ratio(DTLBMissPct, DTLBLoadMisses, DTLBLoads, 100, true)
	d.ratio(WalkCyclesPct, WalkCyclesLoad, Cycles, 100, true)
	if _, ok := d.frame.Values[Key{DTLBLoads, ""}]; !ok {
		d.ratio(DTLBMissesPerKInstr, DTLBLoadMisses, Instructions, 1000, false)
	}
}

func (d *deriver) ratio(id, over, under string, factor float64, sameGroup bool) {
	kOver, kUnder := Key{over, ""}, Key{under, ""}
	a, okA := d.frame.Values[kOver]
	b, okB := d.frame.Values[kUnder]
	if !okA || !okB {
		return
	}
	v := Value{}
	switch {
	case !a.OK():
		v.Missing = a.Missing
	case !b.OK():
		v.Missing = b.Missing
	case sameGroup && d.groups[kOver] != d.groups[kUnder]:
		v.Missing = "the two counters did not run in one group, so their ratio would mean nothing"
	case b.Delta == 0:
		v.Missing = "nothing was counted in this interval"
	default:
		v = Value{V: factor * a.Delta / b.Delta, RunningPct: min(a.RunningPct, b.RunningPct)}
	}
	d.frame.Values[Key{id, ""}] = v
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// ident tells processes apart, also when a pid is used again.
type ident struct {
	pid   int
	start uint64
}

func byIdent(b *Batch) map[ident]*Backend {
	m := map[ident]*Backend{}
	if b != nil {
		for i := range b.Backends {
			m[ident{b.Backends[i].Pid, b.Backends[i].StartTicks}] = &b.Backends[i]
		}
	}
	return m
}

// serverFaults sums the page faults of the server's processes over the
// interval. A process that was not there before counts from its start.
func (d *deriver) serverFaults(prev, cur *Batch, seconds float64) {
	if len(cur.Backends) == 0 {
		return
	}
	k := Key{ServerPageFaults, ""}
	if prev == nil || len(prev.Backends) == 0 || seconds <= 0 {
		d.frame.Values[k] = Value{Missing: reasonFirst}
		return
	}
	before := byIdent(prev)
	var sum float64
	readable := false
	for _, b := range cur.Backends {
		if b.Use == nil || b.Own {
			continue
		}
		readable = true
		faults := b.Use.MinorFaults + b.Use.MajorFaults
		if p := before[ident{b.Pid, b.StartTicks}]; p != nil && p.Use != nil {
			if was := p.Use.MinorFaults + p.Use.MajorFaults; was <= faults {
				faults -= was
			}
		}
		sum += float64(faults)
	}
	if !readable {
		return // the backends' probe says why
	}
	d.frame.Values[k] = Value{V: sum / seconds, Delta: sum}
}

func backendRows(prev, cur *Batch, seconds float64) []BackendRow {
	if len(cur.Backends) == 0 {
		return nil
	}
	before := byIdent(prev)
	rows := make([]BackendRow, len(cur.Backends))
	for i, b := range cur.Backends {
		rows[i] = BackendRow{Backend: b, Rates: backendRates(before[ident{b.Pid, b.StartTicks}], &b, seconds)}
	}
	return rows
}

func backendRates(p, c *Backend, seconds float64) *BackendRates {
	if p == nil || seconds <= 0 || p.Mem == nil || c.Mem == nil || p.Use == nil || c.Use == nil {
		return nil
	}
	per := func(was, is uint64) float64 { return (float64(is) - float64(was)) / seconds }
	return &BackendRates{
		PageTables:  per(p.Mem.PageTables, c.Mem.PageTables),
		MinorFaults: per(p.Use.MinorFaults, c.Use.MinorFaults),
		MajorFaults: per(p.Use.MajorFaults, c.Use.MajorFaults),
		UserPct:     per(p.Use.User, c.Use.User) * 100 / ticksPerSecond,
		KernelPct:   per(p.Use.Kernel, c.Use.Kernel) * 100 / ticksPerSecond,
	}
}
