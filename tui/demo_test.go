package tui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// epoch is the time at which the states of the tests begin.
var epoch = time.Date(2026, 3, 14, 14, 2, 0, 0, time.UTC)

// demo builds states with made-up but plausible figures.
type demo struct {
	seconds int
	pmu     bool
	loads   int // how many scenarios run
	huge    bool
	compare bool
	mode    trial.Mode
}

func (d demo) state() trial.State {
	history := d.frames(d.seconds, d.huge, 7)
	st := trial.State{
		Seq: 100, At: epoch.Add(time.Duration(d.seconds) * time.Second), Mode: orMode(d.mode), Phase: trial.Ready,
		Host: probes.Host{Hostname: "db1", OS: "Debian GNU/Linux 12", Kernel: "6.18.2-amd64", CPUs: 8, MemTotalKB: 32 << 20,
			THP: map[string]string{"enabled": "madvise"}, Pools: []probes.Pool{{PageKB: 2048}}},
		Server: probes.ServerInfo{Version: "17.6", Where: "socket /run/postgresql:5432", Database: "postgres",
			Started: epoch.Add(-12 * 24 * time.Hour), SharedBuffersKB: 4 << 20, SharedMemoryKB: 4<<20 + 146<<10,
			HugePages: probes.HugePages{Requested: "try", InUse: "off", PageKB: 4, Proof: "smaps KernelPageSize", Needed: 2109, Short: 44}},
		Pages: "4kB", Interval: time.Second, History: history,
		Counting: probes.CountingScope{Scope: "system wide"},
		Dataset:  &trial.Dataset{Rows: 6_000_000, TableBytes: 681 << 20, IndexBytes: 129 << 20, FitsSharedBuffer: true},
		Loads:    demoLoads(d.loads, time.Duration(d.seconds-6)*time.Second),
	}
	if d.huge {
		st.Pages, st.Server.HugePages = "2MB", probes.HugePages{Requested: "on", InUse: "on", PageKB: 2048, Proof: "smaps KernelPageSize"}
	}
	if !d.pmu {
		for _, id := range []string{probes.DTLBMissPct, probes.DTLBLoadMisses, probes.DTLBLoads, probes.CyclesUser, probes.CyclesKernel} {
			st.Unavailable = append(st.Unavailable, probes.Miss{ID: id, State: probes.NotThere, Reason: "this machine shows no hardware performance counters (perf_event_open says ENOENT for cycles)",
				Remedy: "use another host, or have the virtual PMU enabled for this guest"})
		}
	}
	if d.loads > 0 {
		st.Run = &trial.RunState{Name: "point-select-4kB-1402", Label: "point-select, 8 clients, 4kB", Active: true,
			From: 6, Start: 6 * time.Second, Summary: summary(history[6:], d.pmu)}
	}
	if d.compare {
		base := demo{seconds: d.seconds + 20, pmu: d.pmu, loads: d.loads, huge: true}.frames(d.seconds+20, true, 11)
		st.Compare = true
		st.Baseline = &trial.BaselineState{Name: "point-select-2MB-1355", Label: "point-select, 8 clients, 2MB", Taken: epoch,
			Frames: base[6:], Start: 6 * time.Second, Summary: summary(base[6:d.seconds], d.pmu)}
	}
	return st
}

func orMode(m trial.Mode) trial.Mode {
	if m == "" {
		return trial.InLab
	}
	return m
}

// frames makes n seconds of samples; the load starts at the sixth.
func (d demo) frames(n int, huge bool, seed uint64) []probes.Frame {
	rnd := rand.New(rand.NewPCG(seed, 1))
	noise := func(v, share float64) float64 { return v * (1 + share*(rnd.Float64()*2-1)) }
	out := make([]probes.Frame, 0, n)
	for i := 1; i <= n; i++ {
		f := probes.Frame{Seq: uint64(i), At: epoch.Add(time.Duration(i) * time.Second), T: time.Duration(i) * time.Second,
			Elapsed: time.Second, Values: map[probes.Key]probes.Value{}, ProbeTime: 3 * time.Millisecond, OwnCPUPct: noise(14, 0.1)}
		set := func(id string, v float64) { f.Values[probes.Key{ID: id}] = probes.Value{V: v, Delta: v} }
		t := float64(i - 6)
		gain, faults, grow := 1.0, 22000*math.Exp(-t/25)+300, 424000*(1-math.Exp(-t/15))
		if huge {
			gain, faults, grow = 1.08, 12*math.Exp(-t/5)+1, 2900.0
		}
		if d.loads > 0 && i > 6 {
			tps := noise(54300*gain*(1+0.03*math.Sin(t/9)), 0.015)
			set(probes.TPS, tps)
			set(probes.ServerTPS, tps+12)
			set(probes.LatencyMean, noise(0.147/gain, 0.02))
			set(probes.LatencyP50, noise(0.138/gain, 0.02))
			set(probes.LatencyP95, noise(0.21/gain, 0.04))
			set(probes.LatencyP99, noise(0.38/gain, 0.08))
			set(probes.Failed, 0)
			for l := range d.loads {
				name := demoLoads(0, 0)[l].Name
				share := []float64{0.8, 0.15, 0.04, 0.007, 0.003}[l]
				if d.loads == 1 {
					share = 1
				}
				f.Values[probes.Key{ID: probes.TPS, Label: name}] = probes.Value{V: tps * share}
				f.Values[probes.Key{ID: probes.LatencyP99, Label: name}] = probes.Value{V: []float64{0.38, 1.24, 2.9, 740, 31}[l]}
			}
		} else {
			set(probes.ServerTPS, noise(14, 0.3))
			faults, grow = noise(120, 0.5), 18000
		}
		set(probes.PageFaultsMinor, noise(faults, 0.08))
		set(probes.PageFaultsMajor, 0)
		set(probes.PageFaults, noise(faults, 0.08))
		set(probes.ServerPageFaults, noise(0.8*faults, 0.08))
		set(probes.PageTableMaxBackend, grow/80)
		set(probes.ContextSwitches, noise(98000, 0.1))
		set(probes.TLBShootdowns, noise(6, 0.9))
		set(probes.CPUUser, noise(4.9, 0.04))
		set(probes.CPUKernel, noise(2.2/gain/gain, 0.06))
		set(probes.CPUIdle, 0.8)
		set(probes.MemAvailable, 21<<20)
		if d.pmu {
			set(probes.DTLBMissPct, noise(2.73-(gain-1)*3, 0.02))
			set(probes.WalkCyclesPct, noise(11.6/gain, 0.03))
			set(probes.CyclesUser, noise(16.3e9, 0.03))
			set(probes.CyclesKernel, noise(7.2e9/gain, 0.05))
			f.Values[probes.Key{ID: probes.DTLBLoads}] = probes.Value{V: noise(2.7e9, 0.02), RunningPct: 78}
		}
		if walks := f.Get(probes.WalkCyclesPct); walks.OK() {
			set(probes.WalkCeilingPct, 1.3*walks.V)
		}
		if done := f.Get(f.Transacted()); done.OK() {
			for _, d := range []struct {
				id, counter string
				factor      float64
			}{{probes.ServerPageFaultsPerTxn, probes.ServerPageFaults, 1}, {probes.PageFaultsPerTxn, probes.PageFaults, 1},
				{probes.CyclesUserPerTxn, probes.CyclesUser, 1}, {probes.CyclesKernelPerTxn, probes.CyclesKernel, 1},
				{probes.CPUUserPerTxn, probes.CPUUser, 1e6}, {probes.CPUKernelPerTxn, probes.CPUKernel, 1e6}} {
				if c := f.Get(d.counter); c.OK() {
					set(d.id, d.factor*c.V/done.V)
				}
			}
		}
		for label, p := range map[string][3]float64{"2048kB": {2148, 2148, 0}, "1048576kB": {0, 0, 0}} {
			free, reserved := p[1], p[2]
			if huge && p[0] > 0 {
				free, reserved = 1544, 310
			}
			f.Values[probes.Key{ID: probes.PoolTotal, Label: label}] = probes.Value{V: p[0]}
			f.Values[probes.Key{ID: probes.PoolFree, Label: label}] = probes.Value{V: free}
			f.Values[probes.Key{ID: probes.PoolReserved, Label: label}] = probes.Value{V: reserved}
		}
		f.Backends = d.backends(i, grow, rnd)
		sum := 0.0
		for _, b := range f.Backends {
			if !b.Own {
				sum += float64(b.Mem.PageTables)
			}
		}
		set(probes.PageTableBackendsSum, sum)
		set(probes.PageTables, sum+21000)
		out = append(out, f)
	}
	// A missed second and a value that is not there: both are gaps.
	if n > 40 {
		out[n-25].Values[probes.Key{ID: probes.TPS}] = probes.Value{Missing: "not read in time"}
	}
	return out
}

func (d demo) backends(i int, grow float64, rnd *rand.Rand) []probes.BackendRow {
	var rows []probes.BackendRow
	add := func(pid int, role, state, wait, query string, pte, shared, private uint64, user, kernel, faults float64) {
		rows = append(rows, probes.BackendRow{
			Backend: probes.Backend{Pid: pid, Role: role, State: state, Wait: wait, Query: query, Database: "bench", User: "postgres", App: "pgtlb load",
				Started: epoch.Add(-time.Duration(pid%977) * time.Second),
				Mem:     &probes.BackendMem{PageTables: pte, Shmem: shared, Private: private}},
			Rates: &probes.BackendRates{PageTables: grow / 8000, MinorFaults: faults, UserPct: user, KernelPct: kernel}})
	}
	for c := range 8 * max(1, d.loads) {
		state, wait := "active", ""
		if c%3 == 2 {
			wait = "Client:ClientRead"
			state = "idle"
		}
		pte := uint64(grow/80) + uint64(c*37)
		add(41377+c, "client", state, wait, "SELECT * FROM test_hp_table WHERE id = $1", pte, pte*270, 3100+uint64(c*40), 55+float64(c), 22+float64(c%4), 270+rnd.Float64()*40)
	}
	add(40012, "checkpointer", "", "Activity:CheckpointerMain", "", 612, 91000, 2100, 0, 0, 0)
	add(40013, "bgwriter", "", "Activity:BgwriterHibernate", "", 140, 4200, 1900, 0, 0, 0)
	add(40015, "walwriter", "", "Activity:WalWriterMain", "", 128, 9800, 1800, 0, 0, 0)
	add(40016, "autovacuum", "", "Activity:AutovacuumMain", "", 132, 6100, 2300, 0, 0, 0)
	rows = append(rows, probes.BackendRow{Backend: probes.Backend{Pid: 41300, Role: "client", State: "active", Own: true, Query: "SELECT …", App: "pgtlb",
		Mem: &probes.BackendMem{PageTables: 180, Shmem: 9100, Private: 2900}}})
	_ = i
	return rows
}

// summary is what a run comes to: means over its frames.
func summary(frames []probes.Frame, pmu bool) *trial.Summary {
	s := &trial.Summary{Seconds: float64(len(frames)), Figures: map[probes.Key]trial.Figure{}}
	for _, m := range probes.Catalogue() {
		sum, n, last := 0.0, 0, 0.0
		for i := range frames {
			if v := frames[i].Get(m.ID); v.OK() {
				sum, n, last = sum+v.V, n+1, v.V
			}
		}
		if n == 0 {
			continue
		}
		f := trial.Figure{Value: sum / float64(n), Total: sum}
		if m.Unit == "kB" {
			f.Value = last
		}
		s.Figures[probes.Key{ID: m.ID}] = f
	}
	return s
}

// preparing is a lab on its way.
func preparing() trial.State {
	return trial.State{At: epoch, Mode: trial.InLab, Phase: trial.Preparing, Steps: []trial.Step{
		{Name: "find PostgreSQL", Detail: "15.18 in /usr/lib/postgresql/15/bin", State: trial.StepDone, Took: 40 * time.Millisecond},
		{Name: "initdb", State: trial.StepDone, Took: 1900 * time.Millisecond},
		{Name: "start server", Detail: "shared_buffers 2 GB, huge_pages=off", State: trial.StepDone, Took: 300 * time.Millisecond},
		{Name: "load rows", Detail: "binary COPY on 2 connections", Done: 640_000, Total: 1_000_000, Unit: "rows", State: trial.StepRunning},
		{Name: "build index", State: trial.StepPending},
		{Name: "analyze", State: trial.StepPending},
		{Name: "prewarm", State: trial.StepPending},
	}}
}

// failed is a lab that could not start.
func failed() trial.State {
	st := preparing()
	st.Phase = trial.Failed
	st.Steps = st.Steps[:3]
	st.Steps[2].State = trial.StepFailed
	st.Err = "the server did not start: it needs 1,098 huge pages of 2 MB and the pool has 512; start with --reserve, or with --pages 4kB"
	for i := range 3 {
		st.Log = append(st.Log, fmt.Sprintf("2026-03-14 14:02:0%d UTC [4711] LOG:  starting PostgreSQL 15.18", i))
	}
	st.Log = append(st.Log, "2026-03-14 14:02:03 UTC [4711] FATAL:  could not map anonymous shared memory: Cannot allocate memory",
		"2026-03-14 14:02:03 UTC [4711] HINT:  This error usually means that PostgreSQL's request for a shared memory segment exceeded available memory, swap space, or huge pages.")
	return st
}
