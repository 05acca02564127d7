package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Set is a set of open events. Close it to give the descriptors back.
type Set struct {
	opts   Options
	cpu    CPU
	facts  Facts
	events map[string]Event
	how    how
	find   func() ([]target, error) // what to count, asked again at each attach
	dir    *os.File                 // of the cgroup, open as long as the set; nil for the other scopes
	units  []*unit
	closed bool
}

// unit is a plan at work: the wanted events in one of their layouts.
type unit struct {
	plan    plan
	want    []string
	layouts []layout
	at      int // index of the open layout
	groups  []*group

	// The self-test opens every event alone once, to tell a dead event from a layout that does not work.
	alone, knownAlive bool
}

// Open opens what can be opened and says of the rest why not: a partial set is normal. Nothing counts for the time
// before Open. The error is an *Unavailable when no event at all can be counted; then nothing is open. Hardware events that
// open are not proved to count: call SelfTest before the first Read.
func Open(o Options) (*Set, []Missing, error) {
	// An unreadable cpuinfo costs only the raw events; their Missing says that the CPU is unknown.
	cpu, _ := readCPU(o)
	events, missing := catalogue(cpu)
	dir, err := openDir(o.Scope)
	if err != nil {
		return nil, missing, &Unavailable{Reason: err.Error()}
	}
	s := &Set{opts: o, cpu: cpu, events: map[string]Event{}, dir: dir,
		find: func() ([]target, error) { return targets(o, dir) }}
	for _, e := range events {
		s.events[e.ID] = e
	}
	more, err := s.open(events)
	missing = append(missing, more...)
	if err == nil && len(s.units) == 0 {
		err = unavailable(missing)
	}
	if err != nil {
		return nil, missing, errors.Join(err, s.Close())
	}
	return s, once(missing), nil
}

// open opens the events of the catalogue, as far as they can be. On an error some may be open.
func (s *Set) open(events []Event) ([]Missing, error) {
	s.facts = readFacts(s.opts, events)
	inherit := s.opts.Scope.Postmaster != 0
	s.how = how{inherit: inherit, atomic: !inherit || groupReadInherits(events)}
	ts, err := s.find()
	if err != nil {
		return nil, &Unavailable{Reason: err.Error()}
	}
	if err := s.countable(ts[0]); err != nil {
		return nil, err
	}
	want, missing := s.openable(events, ts[0])
	if len(want) == 0 {
		return missing, nil
	}
	want, more, err := fitFiles(want, len(ts), s.opts.MaxFiles)
	missing = append(missing, more...)
	if err != nil {
		return missing, err
	}
	has := func(id string) bool { _, ok := s.events[id]; return ok }
	for _, p := range plans() {
		u := &unit{plan: p.of(has)}
		if u.reset(want); len(u.layouts) > 0 {
			s.units = append(s.units, u)
		}
	}
	more, err = s.attach(s.units)
	missing = append(missing, more...)
	if err != nil {
		return missing, err
	}
	return append(missing, s.trim(want)...), nil
}

// countable tests whether the kernel can count events by the scope's cgroup at all: the answer would otherwise look like
// that of an event which is not there.
func (s *Set) countable(t target) error {
	if !t.cgroup {
		return nil
	}
	m, err := openMembers([]Event{s.events[PageFaults]}, t, s.how)
	switch toErrno(err) {
	case unix.EBADF, unix.EINVAL, unix.ENOENT:
		return &Unavailable{State: NotThere,
			Reason: "the kernel cannot count events by cgroup (built without CONFIG_CGROUP_PERF), or " + s.opts.Scope.Cgroup +
				" has no perf_event controller",
			Remedy: "count system wide or the server's processes"}
	}
	return m.close() // for another reason not to open there is a Missing
}

// unavailable makes the first reason that stands in the user's way an error.
func unavailable(missing []Missing) error {
	first := func(m Missing) bool { return m.ID == PageFaults }
	i := max(0, slices.IndexFunc(missing, first))
	if i >= len(missing) {
		return &Unavailable{Reason: "no event could be opened"}
	}
	return &Unavailable{State: missing[i].State, Reason: missing[i].Reason, Remedy: missing[i].Remedy}
}

// openable opens each event alone on one target and closes it again.
func (s *Set) openable(events []Event, t target) (ids []string, missing []Missing) {
	for _, e := range events {
		m, err := openMembers([]Event{e}, t, s.how)
		if err == nil {
			err = m.close()
		}
		if err != nil {
			missing = append(missing, Diagnose(s.facts, e, toErrno(err)))
			continue
		}
		ids = append(ids, e.ID)
	}
	return ids, missing
}

// reset makes the layouts for these events and starts again with the best one.
func (u *unit) reset(want []string) {
	u.at, u.want, u.layouts, u.alone = 0, nil, u.plan.reduced(want), false
	if len(u.layouts) > 0 {
		u.want = u.layouts[0].ids()
	}
}

// attachTries bounds how often attach starts again because a process was born meanwhile.
const attachTries = 10

// attach opens units on everything the scope has now. In a tree a child that is born between the listing and the
// attach may or may not have inherited the events, so then everything is opened again until no child is new. A tree
// that never rests is taken as it is at the last try: its newest children may be missed.
func (s *Set) attach(units []*unit) ([]Missing, error) {
	for try := 1; ; try++ {
		ts, err := s.find()
		if err != nil {
			return nil, err
		}
		var missing []Missing
		for _, u := range units {
			more, err := s.openUnit(u, ts)
			if err != nil {
				return missing, err
			}
			missing = append(missing, more...)
		}
		after, err := s.find()
		if err != nil {
			return missing, err
		}
		newborn := slices.ContainsFunc(after, func(t target) bool { return !slices.Contains(ts, t) })
		if !newborn || try == attachTries {
			return missing, nil
		}
		for _, u := range units {
			if err := u.close(); err != nil {
				return missing, err
			}
		}
	}
}

// openUnit opens the first layout from u.at on that the kernel takes. When it takes none, the event it refused is
// given up and the rest tried again.
func (s *Set) openUnit(u *unit, ts []target) ([]Missing, error) {
	var missing []Missing
	for len(u.layouts) > 0 {
		var refused *openError
		for ; u.at < len(u.layouts); u.at++ {
			err := s.openLayout(u, ts)
			if err == nil {
				return missing, nil
			}
			if !errors.As(err, &refused) {
				return missing, err
			}
		}
		m := Diagnose(s.facts, refused.event, refused.errno)
		missing = append(missing, m)
		u.reset(slices.DeleteFunc(slices.Clone(u.want), func(id string) bool { return id == m.ID }))
	}
	return missing, nil
}

// openLayout opens the groups of the layout at u.at. On an error nothing of it stays open.
func (s *Set) openLayout(u *unit, ts []target) error {
	l := u.layouts[u.at]
	h := s.how
	h.exclusive = l.exclusive
	for i, ids := range l.groups {
		name := u.plan.name
		if i > 0 {
			name = fmt.Sprintf("%s %d", name, i+1)
		}
		events := make([]Event, len(ids))
		for j, id := range ids {
			events[j] = s.events[id]
		}
		g, err := openGroup(name, events, ts, h)
		if err != nil {
			return errors.Join(err, u.close())
		}
		u.groups = append(u.groups, g)
	}
	return nil
}

func (u *unit) close() error {
	var errs []error
	for _, g := range u.groups {
		errs = append(errs, g.close())
	}
	u.groups = nil
	return errors.Join(errs...)
}

// trim forgets events of want that the layouts in use leave out and units without events, and says why.
func (s *Set) trim(want []string) []Missing {
	var missing []Missing
	for _, u := range s.units {
		var open []string
		for _, g := range u.groups {
			for _, e := range g.events {
				open = append(open, e.ID)
			}
		}
		for _, id := range u.want {
			if !slices.Contains(open, id) {
				missing = append(missing, Missing{ID: id, State: NotCounted,
					Reason: "too few free counters to count it in one group with its denominator",
					Remedy: "stop other profilers, or free a counter with sysctl kernel.nmi_watchdog=0"})
			}
		}
		u.want = open
	}
	s.units = slices.DeleteFunc(s.units, func(u *unit) bool { return len(u.groups) == 0 })
	for _, id := range want {
		if !s.has(id) {
			missing = append(missing, Missing{ID: id, State: NotCounted, Reason: alone(id)})
		}
	}
	return missing
}

// alone says why an event that can be counted is not.
func alone(id string) string {
	if id == Cycles {
		return "only counted as the denominator of walk_cycles_load, which is not counted"
	}
	return "only counted together with others of its group, one of which is not counted"
}

// once keeps the first reason of each event.
func once(missing []Missing) []Missing {
	var out []Missing
	for _, m := range missing {
		if !slices.ContainsFunc(out, func(o Missing) bool { return o.ID == m.ID }) {
			out = append(out, m)
		}
	}
	return out
}

// has says whether an event is open.
func (s *Set) has(id string) bool {
	return slices.ContainsFunc(s.Events(), func(e Event) bool { return e.ID == id })
}

// Events returns the open events with the group and the words for the scope.
func (s *Set) Events() []Event {
	var out []Event
	for _, u := range s.units {
		for _, g := range u.groups {
			for _, e := range g.events {
				e.Group, e.Scope = g.name, s.opts.Scope.String()
				out = append(out, e)
			}
		}
	}
	return out
}

// CPU returns the processor whose event table is in use.
func (s *Set) CPU() CPU { return s.cpu }

// Read reads every open event. dst gives its room to the answer; a caller that keeps two reads to compare passes two
// slices in turn. A group that cannot be read is in the list of the missing, and the others are read all the same.
// The error says that nothing could be read because the set is closed.
func (s *Set) Read(dst []Reading) ([]Reading, []Missing, error) {
	dst = dst[:0]
	if s.closed {
		return dst, nil, fmt.Errorf("reading perf events: %w", unix.EBADF)
	}
	var missing []Missing
	for _, u := range s.units {
		for _, g := range u.groups {
			var err error
			if dst, err = g.read(dst); err == nil {
				continue
			}
			for _, e := range g.events {
				missing = append(missing, Missing{ID: e.ID, State: NotCounted, Reason: err.Error()})
			}
		}
	}
	return dst, missing, nil
}

// Close gives all descriptors back. A second Close does nothing.
func (s *Set) Close() error {
	var errs []error
	for _, u := range s.units {
		errs = append(errs, u.close())
	}
	if s.dir != nil {
		errs = append(errs, s.dir.Close())
	}
	s.units, s.dir, s.closed = nil, nil, true
	return errors.Join(errs...)
}
