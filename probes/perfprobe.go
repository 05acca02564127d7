package probes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pgtlb/probes/perf"
)

// PerfScope says whose kernel events are counted.
type PerfScope string

// The scopes of perf events.
const (
	// PerfAuto counts system wide where that is permitted, else the cgroup of the
	// server where it has one to itself, else the server.
	PerfAuto PerfScope = ""
	// PerfSystem counts every process of the machine.
	PerfSystem PerfScope = "system"
	// PerfCgroup counts the service or container that the server runs in.
	PerfCgroup PerfScope = "cgroup"
	// PerfServer counts the postmaster and all its children.
	PerfServer PerfScope = "server"
)

// ParsePerfScope reads a scope as people write it.
func ParsePerfScope(s string) (PerfScope, error) {
	switch p := PerfScope(s); p {
	case PerfAuto, PerfSystem, PerfCgroup, PerfServer:
		return p, nil
	}
	return PerfAuto, fmt.Errorf("unknown scope %q: system, cgroup or server", s)
}

// perfIDs are the metrics that perf events can give, the ratios made of them
// included.
func perfIDs() []string {
	return append([]string{PageFaults, PageFaultsMinor, PageFaultsMajor, ContextSwitches, CyclesUser, CyclesKernel, Instructions,
		DTLBLoads, DTLBLoadMisses, DTLBMissPct, WalkCyclesPct}, ofSomeCPUs()...)
}

// ofSomeCPUs are the metrics that only some CPUs have: on the others nothing is
// missing without them, for the share of cycles in page walks stands for them all.
func ofSomeCPUs() []string {
	return []string{Cycles, WalkCyclesLoad, WalkCyclesStore, WalkCeilingPct, WalkUserCycles, WalkUserLoad, WalkUserStore,
		WalkUserData, WalkUserInstr, DTLBWalks, DTLBWalks4K, DTLBWalks2M, DTLBWalks1G}
}

// perfProbe offers the kernel events that package perf counts.
type perfProbe struct {
	set     *perf.Set
	metrics []Metric
	roots   Roots
	// server is the postmaster whose processes or cgroup are counted; its pid is 0
	// system wide.
	server postmaster
	// short says that events were given up for want of descriptors; empty where
	// none were.
	short string
	why   string // the scope is what it is; may be empty
	buf   []perf.Reading
}

// OpenPerf opens the kernel's events and tests that they count, which may take
// some seconds. postmasterPid is 0 where the server's processes are not visible.
// The probe is nil when no event at all can be counted; the misses say of each
// metric that is not there why not. Left to choose, it takes the widest scope that
// is permitted and has room for all events; ScopeOf says which and why.
func OpenPerf(ctx context.Context, roots Roots, scope PerfScope, postmasterPid int) (Probe, []Miss) {
	scopes := []PerfScope{scope}
	if scope == PerfAuto {
		scopes = autoScopes(roots, postmasterPid)
	}
	p, misses := widest(scopes, func(s PerfScope) (*perfProbe, []Miss) { return openScope(ctx, roots, s, postmasterPid) })
	if p == nil {
		return nil, misses
	}
	return p, misses
}

// autoScopes are the scopes to choose from, the widest first.
func autoScopes(roots Roots, postmasterPid int) []PerfScope {
	switch {
	case postmasterPid == 0:
		return []PerfScope{PerfSystem}
	case hasOwnCgroup(roots, postmasterPid):
		return []PerfScope{PerfSystem, PerfCgroup, PerfServer}
	}
	return []PerfScope{PerfSystem, PerfServer}
}

// widest opens the first of the scopes that counts all events there are. Where
// descriptors are short in each, it takes the one that gives up the fewest events.
// The misses are those of the scope taken, or of the first where none opens: what
// helps there helps the others.
func widest(scopes []PerfScope, open func(PerfScope) (*perfProbe, []Miss)) (*perfProbe, []Miss) {
	best, misses := open(scopes[0])
	why := narrowed(best, misses)
	for _, scope := range scopes[1:] {
		if best != nil && best.short == "" {
			break
		}
		p, more := open(scope)
		switch {
		case p == nil:
		case best == nil || len(p.metrics) > len(best.metrics):
			best.drop()
			best, misses = p, more
			best.why = why
		default:
			p.drop()
		}
	}
	return best, misses
}

// narrowed says why a server's processes are counted and not the whole machine.
func narrowed(system *perfProbe, misses []Miss) string {
	if system != nil {
		return "not system wide: " + system.short
	}
	if len(misses) == 0 {
		return ""
	}
	why := "not system wide: " + misses[0].Reason
	if misses[0].Remedy != "" {
		why += " (" + misses[0].Remedy + ")"
	}
	return why
}

// drop closes a probe that another one replaces. Nothing can be done about
// events that do not close.
func (p *perfProbe) drop() {
	if p != nil {
		_ = p.Close()
	}
}

// hasOwnCgroup tells whether a server's cgroup holds less than the machine, and
// not pgtlb.
func hasOwnCgroup(roots Roots, postmasterPid int) bool {
	if postmasterPid == 0 {
		return false
	}
	c, err := findCgroup(roots, postmasterPid)
	return err == nil && !c.whole && !c.ours
}

// openScope opens one scope.
func openScope(ctx context.Context, roots Roots, scope PerfScope, postmasterPid int) (*perfProbe, []Miss) {
	if scope == PerfSystem {
		return openPerf(ctx, roots, perf.System(), postmaster{})
	}
	stat, err := readProcStat(roots, postmasterPid)
	if postmasterPid == 0 || err != nil {
		return nil, perfMisses(nil, nil, &Unavailable{
			What:   "perf events of the server",
			State:  NotThere,
			Reason: "the server's processes are not visible here",
			Remedy: "run pgtlb on the server's host, or count system wide",
		})
	}
	pm := postmaster{pid: postmasterPid, start: stat.start}
	if scope == PerfServer {
		return openPerf(ctx, roots, perf.Tree(postmasterPid), pm)
	}
	c, err := findCgroup(roots, postmasterPid)
	if err == nil && c.whole {
		err = &Unavailable{What: "perf events of the server's cgroup", State: NotThere,
			Reason: "the server runs in the root cgroup, which every process belongs to",
			Remedy: "run the server as a service or in a container, or count system wide or the server's processes"}
	}
	if err != nil {
		return nil, perfMisses(nil, nil, err)
	}
	p, misses := openPerf(ctx, roots, perf.Cgroup(c.dir), pm)
	if p != nil && c.ours {
		p.why = "pgtlb runs in this cgroup too and is counted with it"
	}
	return p, misses
}

func openPerf(ctx context.Context, roots Roots, scope perf.Scope, pm postmaster) (*perfProbe, []Miss) {
	set, missing, err := perf.Open(perf.Options{Scope: scope, Root: filepath.Dir(roots.ProcPath())})
	if err != nil {
		return nil, perfMisses(nil, missing, perfUnavailable(err))
	}
	// An error leaves the events open and untested; then their counts speak.
	silent, err := set.SelfTest(ctx)
	missing = append(silent, missing...)
	events := set.Events()
	if len(events) == 0 || errors.Is(err, context.Canceled) {
		if err == nil {
			err = errors.New("no event counts")
		}
		return nil, perfMisses(nil, missing, errors.Join(err, set.Close()))
	}
	p := &perfProbe{set: set, roots: roots, server: pm}
	if i := slices.IndexFunc(missing, func(m perf.Missing) bool { return m.Files }); i >= 0 {
		p.short = missing[i].Reason
	}
	for _, e := range events {
		if m, ok := Lookup(e.ID); ok {
			m.Source, m.Scope = perfSource(e), e.Scope
			p.metrics = append(p.metrics, m)
		}
	}
	p.metrics = append(p.metrics, ratioMetrics(p.metrics, set.CPU())...)
	return p, perfMisses(p.metrics, missing, nil)
}

// perfUnavailable makes perf's own kind of unavailable ours.
func perfUnavailable(err error) error {
	var u *perf.Unavailable
	if errors.As(err, &u) {
		return &Unavailable{What: "perf events", State: stateOf(u.State), Reason: u.Reason, Remedy: u.Remedy}
	}
	return err
}

// stateOf names perf's states.
func stateOf(s perf.State) State {
	switch s {
	case perf.NoPermission:
		return NoPermission
	case perf.NotCounted:
		return NotCounted
	}
	return NotThere
}

// missOf is a missing event as a metric.
func missOf(m perf.Missing) Miss {
	return Miss{ID: m.ID, State: stateOf(m.State), Reason: m.Reason, Remedy: m.Remedy}
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
	if has(WalkUserCycles) {
		m := add(WalkCeilingPct)
		m.Meaning = strings.TrimSpace(m.Meaning + " " + perf.WalkNote(cpu))
	}
	for _, d := range PerTransactions() {
		if has(d.Counter) {
			add(d.ID)
		}
	}
	return out
}

// perfMisses gives every metric of perf events that was not opened its reason:
// its own, for a ratio that of the event it lacks, else err. What only some CPUs
// have is no loss on the others: page walks are missed where the CPU counts
// them, the parts of the share of cycles in page walks where the share itself is
// measured; else the share stands for them, as the ceiling does for its parts.
func perfMisses(opened []Metric, missing []perf.Missing, err error) []Miss {
	isOpen := func(id string) bool {
		return slices.ContainsFunc(opened, func(m Metric) bool { return m.ID == id })
	}
	why := func(ids ...string) (Miss, bool) {
		for _, id := range ids {
			for _, m := range missing {
				if m.ID == id {
					return missOf(m), true
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
		case WalkCeilingPct:
			parts = walkParts()
		case Cycles, WalkCyclesLoad, WalkCyclesStore:
			if !isOpen(WalkCyclesPct) {
				continue
			}
		}
		if slices.Contains(walkParts(), id) {
			continue
		}
		m, ok := why(parts...)
		if !ok && slices.Contains(ofSomeCPUs(), id) {
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

// CountingScope says whose kernel events are counted.
type CountingScope struct {
	Scope string `json:"scope"` // "system wide"
	// Why says why, where that needs a word: "not system wide: counting system wide
	// needs CAP_PERFMON".
	Why string `json:"why,omitempty"`
}

// String is one line for people.
func (c CountingScope) String() string {
	if c.Why == "" {
		return c.Scope
	}
	return c.Scope + "; " + c.Why
}

// WholeMachine tells whether every process of the machine is counted.
func (c CountingScope) WholeMachine() bool { return c.Scope == perf.System().String() }

// ScopeOf is the scope of a probe of OpenPerf; empty for another probe.
func ScopeOf(p Probe) CountingScope {
	if p, ok := p.(*perfProbe); ok {
		return CountingScope{Scope: p.metrics[0].Scope, Why: p.why}
	}
	return CountingScope{}
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

// Read reads every event. When the postmaster has ended, the counts of its tree or
// cgroup stand still: that is no 0 but a miss.
func (p *perfProbe) Read(context.Context) (Batch, error) {
	b := Batch{Probe: p.Name()}
	if p.server.pid != 0 {
		stat, err := readProcStat(p.roots, p.server.pid)
		if err != nil || stat.start != p.server.start {
			err := &Unavailable{What: "perf events", State: NotThere, Reason: fmt.Sprintf("postmaster %d, whose server is counted, has ended", p.server.pid)}
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
		b.Misses = append(b.Misses, missOf(m))
	}
	if err != nil {
		return b, fmt.Errorf("reading perf events: %w", err)
	}
	return b, nil
}
