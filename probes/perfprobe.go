package probes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pgtlb/probes/perf"
)

// PerfScope says whose kernel events are counted.
type PerfScope string

// The scopes of perf events.
const (
	// PerfAuto counts system wide where that is permitted, else the server.
	PerfAuto PerfScope = ""
	// PerfSystem counts every process of the machine.
	PerfSystem PerfScope = "system"
	// PerfServer counts the postmaster and all its children.
	PerfServer PerfScope = "server"
)

// ParsePerfScope reads a scope as people write it.
func ParsePerfScope(s string) (PerfScope, error) {
	switch p := PerfScope(s); p {
	case PerfAuto, PerfSystem, PerfServer:
		return p, nil
	}
	return PerfAuto, fmt.Errorf("unknown scope %q: system or server", s)
}

// perfIDs are the metrics that perf events can give, the ratios made of them
// included.
func perfIDs() []string {
	return []string{PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches, CyclesUser, CyclesKernel, Cycles,
		Instructions, DTLBLoads, DTLBLoadMisses, DTLBMissPct, DTLBWalks, WalkCyclesLoad, WalkCyclesStore, WalkCyclesPct}
}

// perfProbe offers the kernel events that package perf counts.
type perfProbe struct {
	set     *perf.Set
	metrics []Metric
	roots   Roots
	// tree is the postmaster whose tree is counted; its pid is 0 system wide.
	tree postmaster
	buf  []perf.Reading
}

// OpenPerf opens the kernel's events and tests that they count, which may take
// some seconds. postmasterPid is 0 where the server's processes are not visible.
// The probe is nil when no event at all can be counted; the misses say of each
// metric that is not there why not.
func OpenPerf(ctx context.Context, roots Roots, scope PerfScope, postmasterPid int) (Probe, []Miss) {
	var first []Miss
	if scope != PerfServer {
		p, misses := openPerf(ctx, roots, perf.System(), postmaster{})
		if p != nil {
			return p, misses
		}
		first = misses
		if scope == PerfSystem || postmasterPid == 0 {
			return nil, misses
		}
	}
	pm := postmaster{pid: postmasterPid}
	stat, err := readProcStat(roots, postmasterPid)
	if postmasterPid == 0 || err != nil {
		return nil, perfMisses(nil, nil, &Unavailable{
			What:   "perf events of the server",
			Reason: "the server's processes are not visible here",
			Remedy: "run pgtlb on the server's host, or count system wide",
		})
	}
	pm.start = stat.start
	p, misses := openPerf(ctx, roots, perf.Tree(postmasterPid), pm)
	if p == nil && first != nil {
		return nil, first // the wider scope's remedy helps both
	}
	return p, misses
}

func openPerf(ctx context.Context, roots Roots, scope perf.Scope, pm postmaster) (Probe, []Miss) {
	set, missing, err := perf.Open(perf.Options{Scope: scope, Root: filepath.Dir(roots.ProcPath())})
	if err != nil {
		return nil, perfMisses(nil, missing, perfUnavailable(err))
	}
	// An error leaves the events open and untested; then their counts speak.
	silent, err := set.SelfTest(ctx)
	events := set.Events()
	if len(events) == 0 || errors.Is(err, context.Canceled) {
		if err == nil {
			err = errors.New("no event counts")
		}
		return nil, perfMisses(nil, append(silent, missing...), errors.Join(err, set.Close()))
	}
	p := &perfProbe{set: set, roots: roots, tree: pm}
	for _, e := range events {
		if m, ok := Lookup(e.ID); ok {
			m.Source, m.Scope = perfSource(e), e.Scope
			p.metrics = append(p.metrics, m)
		}
	}
	p.metrics = append(p.metrics, ratioMetrics(p.metrics, set.CPU())...)
	return p, perfMisses(p.metrics, append(silent, missing...), nil)
}

// perfUnavailable makes perf's own kind of unavailable ours.
func perfUnavailable(err error) error {
	var u *perf.Unavailable
	if errors.As(err, &u) {
		return &Unavailable{What: "perf events", Reason: u.Reason, Remedy: u.Remedy}
	}
	return err
}

func perfSource(e perf.Event) string {
	switch {
	case e.Title == "":
		return "perf event " + e.ID
	case e.Hardware():
		return "perf hardware event " + e.Title
	}
	return "perf software event " + e.Title
}

// ratioMetrics describes the ratios that the Deriver makes of the opened events; the
// miss rate means what this CPU counts.
func ratioMetrics(opened []Metric, cpu perf.CPU) []Metric {
	var out []Metric
	scope := ""
	has := func(id string) bool {
		i := slices.IndexFunc(opened, func(m Metric) bool { return m.ID == id })
		if i >= 0 {
			scope = opened[i].Scope
		}
		return i >= 0
	}
	add := func(id string) *Metric {
		out = append(out, MustLookup(id))
		m := &out[len(out)-1]
		m.Scope = scope
		return m
	}
	if has(DTLBLoads) && has(DTLBLoadMisses) {
		m := add(DTLBMissPct)
		m.Meaning = "Share of dTLB loads that missed; on this CPU: " + perf.MissRateMeaning(cpu) + "."
	}
	if has(DTLBLoadMisses) && has(Instructions) {
		add(DTLBMissesPerKInstr)
	}
	if has(Cycles) && has(WalkCyclesLoad) {
		add(WalkCyclesPct)
	}
	return out
}

// perfMisses gives every metric of perf events that was not opened its reason:
// its own, for a ratio that of the event it lacks, else err. What only some CPUs
// have is no loss on the others: page walks are missed where the CPU counts
// them, the parts of the share of cycles in page walks where the share itself is
// measured; else the share stands for them.
func perfMisses(opened []Metric, missing []perf.Missing, err error) []Miss {
	isOpen := func(id string) bool {
		return slices.ContainsFunc(opened, func(m Metric) bool { return m.ID == id })
	}
	why := func(ids ...string) (Miss, bool) {
		for _, id := range ids {
			for _, m := range missing {
				if m.ID == id {
					return Miss{Reason: m.Reason, Remedy: m.Remedy}, true
				}
			}
		}
		return Miss{}, false
	}
	var out []Miss
	for _, id := range perfIDs() {
		if isOpen(id) {
			continue
		}
		parts := []string{id}
		switch id {
		case DTLBMissPct:
			parts = []string{DTLBLoadMisses, DTLBLoads}
		case WalkCyclesPct:
			parts = []string{WalkCyclesLoad, Cycles}
		case Cycles, WalkCyclesLoad, WalkCyclesStore:
			if !isOpen(WalkCyclesPct) {
				continue
			}
		}
		m, ok := why(parts...)
		if !ok && id == DTLBWalks {
			continue
		}
		if !ok {
			m = missFor(id, nil, err)
		}
		m.ID = id
		out = append(out, m)
	}
	return out
}

// PerfName is the name of the probe that OpenPerf returns.
const PerfName = "perf"

// WholeMachine tells whether a probe of OpenPerf counts the whole machine, not
// one server's processes.
func WholeMachine(p Probe) bool {
	for _, m := range p.Metrics() {
		if m.Scope != perf.System().String() {
			return false
		}
	}
	return true
}

// Name is PerfName.
func (p *perfProbe) Name() string      { return PerfName }
func (p *perfProbe) Metrics() []Metric { return slices.Clone(p.metrics) }

// Close closes the events.
func (p *perfProbe) Close() error {
	if err := p.set.Close(); err != nil {
		return fmt.Errorf("closing perf events: %w", err)
	}
	return nil
}

// Read reads every event. When the postmaster has ended, its tree's counts stand
// still: that is no 0 but a miss.
func (p *perfProbe) Read(context.Context) (Batch, error) {
	b := Batch{Probe: p.Name()}
	if p.tree.pid != 0 {
		stat, err := readProcStat(p.roots, p.tree.pid)
		if err != nil || stat.start != p.tree.start {
			err := &Unavailable{What: "perf events", Reason: fmt.Sprintf("postmaster %d, whose tree is counted, has ended", p.tree.pid)}
			for _, m := range p.metrics {
				b.Misses = append(b.Misses, missFor(m.ID, nil, err))
			}
			return b, err
		}
	}
	readings, missing, err := p.set.Read(p.buf)
	p.buf = readings
	for _, r := range readings {
		parts := make([]Part, len(r.Per))
		for i, c := range r.Per {
			parts[i] = Part{c.Value, c.Enabled, c.Running}
		}
		b.Readings = append(b.Readings, Reading{ID: r.ID, Parts: parts, Group: r.Group})
	}
	for _, m := range missing {
		b.Misses = append(b.Misses, Miss{ID: m.ID, Reason: m.Reason, Remedy: m.Remedy})
	}
	if err != nil {
		return b, fmt.Errorf("reading perf events: %w", err)
	}
	return b, nil
}
