package calibrate

import (
	"pgtlb/probes"
)

// Report is what calibrating found, and what --json prints. A figure that could
// not be measured is null; Unavailable says why.
type Report struct {
	// Verdict says in sentences how far to trust figures of this machine.
	Verdict []string    `json:"verdict"`
	Machine probes.Host `json:"machine"`
	Server  string      `json:"server_version"`
	// Pgbench is empty where the part with it did not run.
	Pgbench string `json:"pgbench_version"`
	Rows    int64  `json:"rows"`
	Pages   string `json:"pages"` // page size of shared memory asked for: "4kB"
	// Rounds and Seconds are what was asked for: a part that was cut short has
	// fewer rounds.
	Rounds  int `json:"rounds"`
	Seconds int `json:"seconds"` // of each run
	// Driver has an element for each number of clients and mode; AA and Probes
	// are null where they did not run.
	Driver      []Against     `json:"driver"`
	AA          *Identical    `json:"aa"`
	Probes      *Watching     `json:"probes"`
	Warnings    []string      `json:"warnings"`
	Unavailable []probes.Miss `json:"unavailable"`
	Interrupted bool          `json:"interrupted"`
}

// Setting is how the clients of a part run.
type Setting struct {
	Clients int    `json:"clients"`
	Threads int    `json:"threads"`
	Mode    string `json:"mode"` // simple, extended or prepared
}

// Measured is one run.
type Measured struct {
	TPS float64 `json:"tps"` // connecting left out
	// CPU is the client's CPU time in µs per transaction. Of pgtlb's driver it is
	// all that the process used while the clients ran, Go's runtime included; of
	// pgbench what its process used, less what one with -t 1 uses, which is
	// starting and connecting.
	CPU *float64 `json:"cpu_us_per_txn"`
}

// Around is what else the machine did during a round. The percentages are of
// the time of all CPUs.
type Around struct {
	LoadAvg *float64 `json:"load_avg"` // of one minute, at the end of the round
	Steal   *float64 `json:"steal_pct"`
	// Other is the CPU time that neither pgtlb, nor the server, nor pgbench used.
	Other *float64 `json:"other_cpu_pct"`
}

// Sums are the runs of one side.
type Sums struct {
	TPS *Spread `json:"tps"`
	CPU *Spread `json:"cpu_us_per_txn"`
}

// sums adds up one side.
func sums[T any](list []T, run func(T) Measured) Sums {
	return Sums{
		TPS: spreadOf(present(list, func(x T) *float64 { v := run(x).TPS; return &v })),
		CPU: spreadOf(present(list, func(x T) *float64 { return run(x).CPU })),
	}
}

// Against is the driver against pgbench. The ratios are of pairs, ours over
// pgbench's.
type Against struct {
	Setting
	Pairs    []DriverPair `json:"pairs"`
	Ours     Sums         `json:"ours"`
	Pgbench  Sums         `json:"pgbench"`
	TPSRatio *Spread      `json:"tps_ratio"`
	CPURatio *Spread      `json:"cpu_ratio"`
}

// DriverPair is one round: a run of each, one right after the other.
type DriverPair struct {
	OursFirst bool     `json:"ours_first"`
	Ours      Measured `json:"ours"`
	Pgbench   Measured `json:"pgbench"`
	Around
}

func (p DriverPair) tpsRatio() *float64 { return quotient(&p.Ours.TPS, &p.Pgbench.TPS) }
func (p DriverPair) cpuRatio() *float64 { return quotient(p.Ours.CPU, p.Pgbench.CPU) }

func (a *Against) sum() {
	a.Ours = sums(a.Pairs, func(p DriverPair) Measured { return p.Ours })
	a.Pgbench = sums(a.Pairs, func(p DriverPair) Measured { return p.Pgbench })
	a.TPSRatio = spreadOf(present(a.Pairs, DriverPair.tpsRatio))
	a.CPURatio = spreadOf(present(a.Pairs, DriverPair.cpuRatio))
}

// Identical is an A/A comparison: the same run again and again.
type Identical struct {
	Setting
	Runs []IdenticalRun `json:"runs"`
	Sums
	// SpreadPct is (most − least) / median of TPS, the noise floor: a smaller
	// difference between two runs says nothing. CVPct is the coefficient of
	// variation. Both are null for one run.
	SpreadPct *float64 `json:"spread_pct"`
	CVPct     *float64 `json:"cv_pct"`
}

// IdenticalRun is one round of an A/A comparison.
type IdenticalRun struct {
	Measured
	Around
}

func (a *Identical) sum() {
	a.Sums = sums(a.Runs, func(r IdenticalRun) Measured { return r.Measured })
	a.SpreadPct, a.CVPct = nil, nil
	if len(a.Runs) < 2 {
		return
	}
	a.SpreadPct = a.TPS.rangePct()
	a.CVPct = variationPct(present(a.Runs, func(r IdenticalRun) *float64 { return &r.TPS }))
}

// Watching compares runs that a session samples, once a second as the screen
// does, with runs without one.
type Watching struct {
	Setting
	Pairs     []WatchPair `json:"pairs"`
	Watched   Sums        `json:"watched"`
	Unwatched Sums        `json:"unwatched"`
	TPSRatio  *Spread     `json:"tps_ratio"` // of pairs, watched over unwatched
	CostPct   *Spread     `json:"cost_pct"`  // of TPS, by pair; below 0 where the watched run was faster
	// OwnCPU is what the probes cost pgtlb itself, by pair, in percent of one
	// CPU. What they cost the server is in CostPct alone.
	OwnCPU *Spread `json:"own_cpu_pct"`
}

// WatchPair is one round: a run with a session and one without.
type WatchPair struct {
	WatchedFirst bool       `json:"watched_first"`
	Watched      WatchedRun `json:"watched"`
	Unwatched    WatchedRun `json:"unwatched"`
	Around
}

// WatchedRun is a run with what pgtlb used beside the threads that drive clients.
type WatchedRun struct {
	Measured
	Samples int `json:"samples"` // taken while the clients ran
	// Aside is the CPU time of the process less that of the driver's threads, in
	// percent of one CPU.
	Aside *float64 `json:"aside_cpu_pct"`
}

func (p WatchPair) tpsRatio() *float64 { return quotient(&p.Watched.TPS, &p.Unwatched.TPS) }

func (p WatchPair) costPct() *float64 {
	r := p.tpsRatio()
	if r == nil {
		return nil
	}
	c := 100 * (1 - *r)
	return &c
}

func (p WatchPair) ownCPU() *float64 {
	if p.Watched.Aside == nil || p.Unwatched.Aside == nil {
		return nil
	}
	d := *p.Watched.Aside - *p.Unwatched.Aside
	return &d
}

func (w *Watching) sum() {
	w.Watched = sums(w.Pairs, func(p WatchPair) Measured { return p.Watched.Measured })
	w.Unwatched = sums(w.Pairs, func(p WatchPair) Measured { return p.Unwatched.Measured })
	w.TPSRatio = spreadOf(present(w.Pairs, WatchPair.tpsRatio))
	w.CostPct = spreadOf(present(w.Pairs, WatchPair.costPct))
	w.OwnCPU = spreadOf(present(w.Pairs, WatchPair.ownCPU))
}

// sum computes everything that is computed from the rounds.
func (r *Report) sum() {
	for i := range r.Driver {
		r.Driver[i].sum()
	}
	if r.AA != nil {
		r.AA.sum()
	}
	if r.Probes != nil {
		r.Probes.sum()
	}
	r.warn()
	r.lack()
	r.Verdict = r.sentences()
}
