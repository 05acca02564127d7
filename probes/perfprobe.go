package probes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pgtlb/probes/perf"
)

// PerfScope says whose events the counters count.
type PerfScope string

const (
	// ScopeAuto is the whole machine where that is permitted, else the server.
	ScopeAuto PerfScope = ""
	// ScopeSystem is the whole machine, whatever runs there.
	ScopeSystem PerfScope = "system"
	// ScopeServer is the postmaster, its children and those to come.
	ScopeServer PerfScope = "server"
)

// ParsePerfScope reads the name of a scope.
func ParsePerfScope(s string) (PerfScope, error) {
	switch p := PerfScope(s); p {
	case ScopeAuto, ScopeSystem, ScopeServer:
		return p, nil
	}
	return "", fmt.Errorf("scope %q: choose system or server", s)
}

// counters adapts a set of perf events to Probe.
type counters struct {
	set     *perf.Set
	metrics []Metric
	buf     []perf.Reading
}

// OpenPerf opens the kernel's event counters. postmaster is the server's first
// process, 0 where it is not known here. What cannot be counted is returned
// with reason and remedy; the probe is nil when that is everything.
func OpenPerf(ctx context.Context, roots Roots, scope PerfScope, postmaster int) (Probe, []Miss) {
	if scope == ScopeServer && postmaster == 0 {
		return nil, perfMisses(nil, errors.New("the server's processes are not visible here, so their events cannot be counted"))
	}
	var tries []perf.Scope
	if scope != ScopeServer {
		tries = append(tries, perf.System())
	}
	if scope != ScopeSystem && postmaster != 0 {
		tries = append(tries, perf.Tree(postmaster))
	}
	var first []Miss
	for _, t := range tries {
		c, missing := openCounters(ctx, roots, t)
		if c != nil {
			return c, missing
		}
		if first == nil {
			first = missing // the wider scope's reasons say what would help most
		}
	}
	return nil, first
}

func openCounters(ctx context.Context, roots Roots, scope perf.Scope) (Probe, []Miss) {
	set, missing, err := perf.Open(perf.Options{Scope: scope, Root: filepath.Dir(roots.Proc)})
	if err != nil {
		return nil, perfMisses(missing, err)
	}
	dead, err := set.SelfTest(ctx)
	missing = append(missing, dead...)
	if err != nil {
		return nil, append(perfMisses(missing, err), closing(set)...)
	}
	c := &counters{set: set, metrics: perfMetrics(set)}
	if len(c.metrics) == 0 {
		return nil, append(perfMisses(missing, errors.New("no event could be counted")), closing(set)...)
	}
	return c, perfMisses(missing, nil)
}

func closing(set *perf.Set) []Miss {
	if err := set.Close(); err != nil {
		return []Miss{{ID: PageFaults, Reason: err.Error()}}
	}
	return nil
}

// perfMetrics describes the open events as the catalogue knows them, with the
// event and the scope in use, and the ratios that they make.
func perfMetrics(set *perf.Set) []Metric {
	var out []Metric
	group := map[string]string{}
	for _, e := range set.Events() {
		m, ok := Lookup(e.ID)
		if !ok {
			continue
		}
		m.Source, m.Scope = "perf event "+e.Title, e.Scope
		if e.Desc != "" {
			m.Source += ": " + e.Desc
		}
		group[e.ID] = e.Group
		out = append(out, m)
	}
	ratio := func(id, over, under string, meaning string) {
		if group[over] == "" || group[under] == "" {
			return
		}
		m := MustLookup(id)
		m.Scope = out[0].Scope
		if meaning != "" {
			m.Meaning = meaning
		}
		out = append(out, m)
	}
	ratio(DTLBMissPct, DTLBLoadMisses, DTLBLoads, perf.MissRateMeaning(set.CPU()))
	ratio(WalkCyclesPct, WalkCyclesLoad, Cycles, "")
	if group[DTLBLoads] == "" {
		ratio(DTLBMissesPerKInstr, DTLBLoadMisses, Instructions, "")
	}
	return out
}

// perfMisses turns what the perf room could not open into misses. A missing
// event takes the ratio made of it along. With an error, every event that is not
// listed is missing for that reason.
func perfMisses(missing []perf.Missing, err error) []Miss {
	var out []Miss
	have := map[string]bool{}
	add := func(id, reason, remedy string) {
		if !have[id] {
			have[id] = true
			out = append(out, Miss{id, reason, remedy})
		}
	}
	for _, m := range missing {
		add(m.ID, m.State.String()+": "+m.Reason, m.Remedy)
	}
	if err != nil {
		reason, remedy := err.Error(), ""
		var u *perf.Unavailable
		if errors.As(err, &u) {
			reason, remedy = u.Reason, u.Remedy
		}
		for _, id := range []string{PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches,
			CyclesUser, CyclesKernel, Instructions, DTLBLoads, DTLBLoadMisses} {
			add(id, reason, remedy)
		}
	}
	for _, r := range []struct{ ratio, of string }{
		{DTLBMissPct, DTLBLoadMisses}, {DTLBMissPct, DTLBLoads}, {WalkCyclesPct, WalkCyclesLoad},
	} {
		if i := slices.IndexFunc(out, func(m Miss) bool { return m.ID == r.of }); i >= 0 {
			add(r.ratio, out[i].Reason, out[i].Remedy)
		}
	}
	return out
}

func (c *counters) Name() string      { return "perf" }
func (c *counters) Metrics() []Metric { return slices.Clone(c.metrics) }
func (c *counters) Close() error      { return c.set.Close() }

func (c *counters) Read(context.Context) (Batch, error) {
	readings, missing, err := c.set.Read(c.buf)
	c.buf = readings
	b := Batch{Misses: perfMisses(missing, nil)}
	for _, r := range readings {
		if _, known := Lookup(r.ID); !known {
			continue
		}
		parts := make([]Part, len(r.Per))
		for i, n := range r.Per {
			parts[i] = Part{n.Value, n.Enabled, n.Running}
		}
		b.Readings = append(b.Readings, Reading{ID: r.ID, Group: r.Group, Parts: parts})
	}
	return b, err
}
