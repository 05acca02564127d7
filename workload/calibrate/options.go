package calibrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/lab"
	"pgtlb/workload/script"
	"pgtlb/workload/wire"
)

// Part is one of the things that are found out.
type Part string

// The parts, in the order in which they run.
const (
	Driver Part = "driver" // the driver against pgbench
	AA     Part = "aa"     // identical runs
	Probes Part = "probes" // with and without the probes
)

// ParsePart reads the name of a part.
func ParsePart(s string) (Part, error) {
	if p := Part(s); slices.Contains([]Part{Driver, AA, Probes}, p) {
		return p, nil
	}
	return "", fmt.Errorf("there is no part %q; there are driver, aa and probes", s)
}

// Options say what is run. All but Only, Scope and Roots are required.
type Options struct {
	Lab lab.Options
	// Load is what runs are made of: its scenario with values, seed and
	// duration, whole seconds of it. Clients, Mode and Threads are those of the
	// lists below.
	Load workload.Load
	// Clients and Modes are all combined against pgbench; the other parts use the
	// first of each.
	Clients []int
	Modes   []script.Mode
	// Threads drive the clients, of pgtlb's driver as of pgbench, at most one
	// each; 0 is what pgtlb takes by itself.
	Threads int
	Rounds  int
	Only    Part // empty for all
	Scope   probes.PerfScope
	Roots   probes.Roots
	// Say takes a line of progress.
	Say func(line string)
}

func (o *Options) wants(p Part) bool { return o.Only == "" || o.Only == p }

// setting is the client's side of a run.
func (o *Options) setting(clients int, mode script.Mode) Setting {
	threads := min(o.Threads, clients)
	if threads == 0 {
		threads = wire.DefaultThreads(clients)
	}
	return Setting{Clients: clients, Threads: threads, Mode: mode.String()}
}

// runs is how many measured runs there are, with or without pgbench.
func (o *Options) runs(pgbench bool) int {
	n := 0
	if o.wants(Driver) && pgbench {
		n += 2 * len(o.Clients) * len(o.Modes)
	}
	if o.wants(AA) {
		n++
	}
	if o.wants(Probes) {
		n += 2
	}
	return n * o.Rounds
}

// schedule knows how long the rest takes.
type schedule struct {
	left, done int // runs
	began      time.Time
	each       time.Duration // of a run, until one is done
}

// rest is the time that the runs left will take, at the pace so far.
func (s schedule) rest(now time.Time) time.Duration {
	each := s.each
	if s.done > 0 {
		each = now.Sub(s.began) / time.Duration(s.done)
	}
	return time.Duration(s.left) * each
}

// ran counts runs that are done.
func (s *schedule) ran(n int) { s.left, s.done = s.left-n, s.done+n }

// join writes a list of words.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
