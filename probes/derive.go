package probes

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"pgtlb/probes/perf"
)

// Reasons a figure is missing although its source was read.
const (
	reasonFirst      = "first sample: a rate needs two"
	reasonBackwards  = "counter went backwards (restarted or wrapped)"
	reasonUnmeasured = "not measured"
	reasonNotRun     = "not counted: the counter was never scheduled in this interval"
)

// kindByID is the catalogue's kinds, built once and never changed.
var kindByID = sync.OnceValue(func() map[string]Kind {
	m := map[string]Kind{}
	for _, c := range Catalogue() {
		m[c.ID] = c.Kind
	}
	return m
})

// maker fills one frame.
type maker struct {
	frame  *Frame
	groups map[Key]string // perf group of a counter
}

// batch takes in what one probe read at a time, and remembers it.
func (m *maker) batch(mem *memory, b *Batch, at time.Duration) {
	f := m.frame
	f.Misses = append(f.Misses, b.Misses...)
	m.readings(mem, b, at)
	m.missed(mem, b)
	if len(b.Backends) == 0 {
		return
	}
	m.backends(mem, b, at)
	f.Clients = ClientTables(f.Backends)
	m.serverFaults(mem, b, at)
	m.clientFaults(b)
	mem.backends, mem.backendsAt, mem.looked = byIdent(b), at, f.At.Add(b.Offset)
}

func (m *maker) readings(mem *memory, b *Batch, at time.Duration) {
	f := m.frame
	for i := range b.Readings {
		r := &b.Readings[i]
		k := Key{r.ID, r.Label}
		switch kindByID()[r.ID] {
		case Counter:
			v := Value{Missing: reasonFirst}
			if before, ok := mem.counters[k]; ok && at > before.at {
				v = growth(&before.Reading, r, before.at, at-before.at)
			}
			f.Values[k] = v
			mem.counters[k] = past{*r, at}
			if r.Group != "" {
				m.groups[k] = r.Group
			}
		case Distribution:
			if r.Hist != nil {
				if f.Hists == nil {
					f.Hists = map[string]*Histogram{}
				}
				f.Hists[r.Label] = r.Hist
			}
		default:
			f.Values[k] = Value{V: r.Value}
		}
	}
}

// missed says of each counter read before, label by label, why it is not there
// this time.
func (m *maker) missed(mem *memory, b *Batch) {
	for _, miss := range b.Misses {
		for k := range mem.counters {
			if _, there := m.frame.Values[k]; k.ID == miss.ID && !there {
				m.frame.Values[k] = Value{Missing: miss.Text()}
			}
		}
	}
}

// growth is a counter's change from prev, read at since, to cur, elapsed later.
func growth(prev, cur *Reading, since, elapsed time.Duration) Value {
	v := Value{Since: since, Elapsed: elapsed}
	if cur.Parts == nil {
		if cur.Value < prev.Value {
			return Value{Missing: reasonBackwards}
		}
		v.Delta = cur.Value - prev.Value
		v.V = v.Delta / elapsed.Seconds()
		return v
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
	v.V, v.Delta, v.RunningPct = delta/elapsed.Seconds(), delta, 100*share
	return v
}

func counts(parts []Part) []perf.Count {
	out := make([]perf.Count, len(parts))
	for i, p := range parts {
		out[i] = perf.Count{Value: p[0], Enabled: p[1], Running: p[2]}
	}
	return out
}

// wholes adds the sum over the labels for the counters of loads. It is missing
// when that of one load is: a part is not the whole.
func (m *maker) wholes() {
	for _, id := range []string{Transactions, Failed} {
		var parts []Value
		for _, l := range m.frame.Labels(id) {
			parts = append(parts, m.frame.Values[Key{id, l}])
		}
		if len(parts) == 0 {
			continue
		}
		for _, miss := range m.frame.Misses { // a load that was not read has no label
			if miss.ID == id {
				parts = append(parts, Value{Missing: miss.Text()})
			}
		}
		m.frame.Values[Key{id, ""}] = sum(parts...)
	}
}

// sum adds counters up; it is missing when one of them is. It covers the time
// of the one that covers most.
func sum(parts ...Value) Value {
	all := parts[0]
	for _, v := range parts[1:] {
		if all.Missing == "" {
			all.Missing = v.Missing
		}
		all.V, all.Delta = all.V+v.V, all.Delta+v.Delta
		all.Since, all.Elapsed = min(all.Since, v.Since), max(all.Elapsed, v.Elapsed)
	}
	if !all.OK() {
		return Value{Missing: all.Missing}
	}
	return all
}

// load makes throughput and latency of the loads from their meters' readings.
func (m *maker) load() {
	f := m.frame
	for _, l := range append(f.Labels(Transactions), "") {
		if v, ok := f.Values[Key{Transactions, l}]; ok {
			f.Values[Key{TPS, l}] = v
		}
	}
	var all *Histogram
	for l, h := range f.Hists {
		m.latency(l, h)
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
		m.latency("", all)
	}
}

func (m *maker) latency(label string, h *Histogram) {
	if h.Count() == 0 {
		for _, id := range []string{LatencyMean, LatencyP50, LatencyP95, LatencyP99} {
			m.frame.Values[Key{id, label}] = Value{Missing: "no transaction finished in this interval"}
		}
		return
	}
	m.frame.Values[Key{LatencyMean, label}] = Value{V: h.MeanMS()}
	m.frame.Values[Key{LatencyP50, label}] = Value{V: h.QuantileMS(0.50)}
	m.frame.Values[Key{LatencyP95, label}] = Value{V: h.QuantileMS(0.95)}
	m.frame.Values[Key{LatencyP99, label}] = Value{V: h.QuantileMS(0.99)}
}

// server makes the server's own throughput and mean latency.
func (m *maker) server() {
	f := m.frame
	c, okC := f.Values[Key{Commits, ""}]
	r, okR := f.Values[Key{Rollbacks, ""}]
	if okC && okR {
		f.Values[Key{ServerTPS, ""}] = sum(c, r)
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
		f.Values[Key{ServerLatencyMean, ""}] = Value{V: ms.Delta / calls.Delta, Since: calls.Since, Elapsed: calls.Elapsed}
	}
}

// ratios divides counters of the same group, so that both were counted over
// the same moments.
func (m *maker) ratios() {
	m.ratio(DTLBMissPct, 100, true, DTLBLoads, DTLBLoadMisses)
	m.ratio(WalkCyclesPct, 100, true, Cycles, WalkCyclesLoad)
	m.ratio(WalkCeilingPct, 100, true, WalkUserCycles, m.there(walkParts()[1:])...)
	if _, ok := m.frame.Values[Key{DTLBLoads, ""}]; !ok {
		m.ratio(DTLBMissesPerKInstr, 1000, false, Instructions, DTLBLoadMisses)
	}
}

// walkParts are what the ceiling of page walks is made of, the cycles first. A
// CPU has some of them, and all that it has are counted together or none.
func walkParts() []string {
	return []string{WalkUserCycles, WalkUserLoad, WalkUserStore, WalkUserData, WalkUserInstr}
}

// there leaves out what the frame does not hold.
func (m *maker) there(ids []string) []string {
	var out []string
	for _, id := range ids {
		if _, ok := m.frame.Values[Key{id, ""}]; ok {
			out = append(out, id)
		}
	}
	return out
}

// ratio divides the sum of counters by another one.
func (m *maker) ratio(id string, factor float64, sameGroup bool, under string, over ...string) {
	kUnder := Key{under, ""}
	b, there := m.frame.Values[kUnder]
	if !there || len(over) == 0 || len(m.there(over)) < len(over) {
		return
	}
	v := Value{Since: b.Since, Elapsed: b.Elapsed, RunningPct: b.RunningPct, Under: b.Delta, Missing: b.Missing}
	for _, part := range over {
		k := Key{part, ""}
		a := m.frame.Values[k]
		switch {
		case !v.OK():
		case !a.OK():
			v.Missing = a.Missing
		case sameGroup && m.groups[k] != m.groups[kUnder]:
			v.Missing = "the two counters did not run in one group, so their ratio would mean nothing"
		case a.Since != b.Since || a.Elapsed != b.Elapsed:
			v.Missing = "the two counters were not read over the same interval"
		}
		v.Over += factor * a.Delta
		v.RunningPct = min(v.RunningPct, a.RunningPct)
	}
	switch {
	case !v.OK():
		v = Value{Missing: v.Missing}
	case v.Under == 0:
		v = Value{Missing: "nothing was counted in this interval"}
	default:
		v.V = v.Over / v.Under
	}
	m.frame.Values[Key{id, ""}] = v
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// ident tells processes apart, also when a pid is used again.
type ident struct {
	pid   int
	start uint64
}

func identOf(b *Backend) ident { return ident{b.Pid, b.StartTicks} }

func byIdent(b *Batch) map[ident]*Backend {
	m := make(map[ident]*Backend, len(b.Backends))
	for i := range b.Backends {
		m[identOf(&b.Backends[i])] = &b.Backends[i]
	}
	return m
}

// backends makes the rows of the processes, with their rates since the last batch
// that listed them.
func (m *maker) backends(mem *memory, cur *Batch, at time.Duration) {
	f := m.frame
	seconds := (at - mem.backendsAt).Seconds()
	f.Backends = slices.Grow(f.Backends, len(cur.Backends))
	rates := make([]BackendRates, 0, len(cur.Backends)) // in one piece for all rows
	for i := range cur.Backends {
		b := &cur.Backends[i]
		row := BackendRow{Backend: *b}
		if r, ok := backendRates(mem.backends[identOf(b)], b, seconds); ok {
			rates = append(rates, r)
			row.Rates = &rates[len(rates)-1]
		}
		f.Backends = append(f.Backends, row)
	}
}

func backendRates(p, c *Backend, seconds float64) (BackendRates, bool) {
	if p == nil || seconds <= 0 || p.Mem == nil || c.Mem == nil || p.Use == nil || c.Use == nil {
		return BackendRates{}, false
	}
	per := func(was, is uint64) float64 { return (float64(is) - float64(was)) / seconds }
	return BackendRates{
		PageTables:  per(p.Mem.PageTables, c.Mem.PageTables),
		MinorFaults: per(p.Use.MinorFaults, c.Use.MinorFaults),
		MajorFaults: per(p.Use.MajorFaults, c.Use.MajorFaults),
		UserPct:     per(p.Use.User, c.Use.User) * 100 / ticksPerSecond,
		KernelPct:   per(p.Use.Kernel, c.Use.Kernel) * 100 / ticksPerSecond,
	}, true
}

// together is for how long at least one of the reads was under way.
func together(batches []Batch) time.Duration {
	type span struct{ from, to time.Duration }
	spans := make([]span, 0, len(batches))
	for i := range batches {
		if b := &batches[i]; b.Took > 0 {
			spans = append(spans, span{b.Offset, b.Offset + b.Took})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var sum, until time.Duration
	for i, s := range spans {
		if i == 0 || s.from > until {
			until = s.from
		}
		sum += max(0, s.to-until)
		until = max(until, s.to)
	}
	return sum
}
