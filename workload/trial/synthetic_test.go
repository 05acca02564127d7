package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pgtlb/probes"
)

// synthetic makes the samples of a busy server, one a second: every metric that a
// probe reads, perf parts of two CPUs, and processes of which three in ten do
// something in each second.
type synthetic struct {
	rng      *rand.Rand
	n        int
	sums     map[string]float64
	parts    map[string][]probes.Part
	backends []probes.Backend
	base     time.Time
	t        time.Duration
	at       time.Time
	pid      int
}

func newSynthetic(backends int) *synthetic {
	s := &synthetic{rng: rand.New(rand.NewPCG(1, 2)), sums: map[string]float64{}, parts: map[string][]probes.Part{},
		base: time.Date(2026, 11, 30, 13, 45, 12, 123456789, time.UTC), pid: 40_000}
	s.at = s.base
	for range backends {
		s.backends = append(s.backends, s.backend())
	}
	return s
}

func (s *synthetic) backend() probes.Backend {
	s.pid += 1 + s.rng.IntN(5)
	return probes.Backend{Pid: s.pid, StartTicks: uint64(9_000_000 + s.n*100), Role: "client", State: "idle", Database: "shop",
		User: "app", App: "PostgreSQL JDBC Driver", Wait: "Client:ClientRead", Started: s.base.Add(time.Duration(s.n) * time.Second),
		Mem: &probes.BackendMem{PageTables: 900, Shmem: 200_000, Private: 5_000}, Use: &probes.BackendUse{MinorFaults: 4_000, User: 100, Kernel: 30}}
}

// of makes the readings of a probe: counters grow, whole ones by whole numbers.
func (s *synthetic) of(rate float64, ids ...string) []probes.Reading {
	var out []probes.Reading
	for _, id := range ids {
		s.sums[id] += float64(int(rate * (0.8 + 0.4*s.rng.Float64())))
		out = append(out, probes.Reading{ID: id, Value: s.sums[id]})
	}
	return out
}

func (s *synthetic) perf(group string, rate float64, ids ...string) []probes.Reading {
	var out []probes.Reading
	var spent [2]uint64
	for i := range spent {
		spent[i] = uint64(1e9 + s.rng.NormFloat64()*2e5)
	}
	for _, id := range ids {
		now := make([]probes.Part, 2)
		if old := s.parts[id]; old != nil {
			copy(now, old)
		}
		for i := range now {
			now[i][0] += uint64(rate * (0.9 + 0.2*s.rng.Float64()))
			now[i][1] += spent[i]
			now[i][2] += spent[i]
		}
		s.parts[id] = now
		out = append(out, probes.Reading{ID: id, Parts: now, Group: group})
	}
	return out
}

// cpu are the seconds of /proc/stat, in hundredths.
func (s *synthetic) cpu() []probes.Reading {
	var out []probes.Reading
	for _, id := range []string{probes.CPUUser, probes.CPUKernel, probes.CPUIdle, probes.CPUSteal} {
		s.sums[id] += float64(s.rng.IntN(120))
		out = append(out, probes.Reading{ID: id, Value: s.sums[id] / 100})
	}
	return append(out, probes.Reading{ID: probes.RunQueue, Value: float64(s.rng.IntN(12))})
}

func (s *synthetic) processes() []probes.Backend {
	states := []string{"active", "idle", "idle in transaction"}
	waits := []string{"Client:ClientRead", "", "LWLock:WALWrite", "IO:DataFileRead", "IO:WalSync"}
	list := append([]probes.Backend(nil), s.backends...)
	for i := range list {
		b := &list[i]
		if s.rng.Float64() >= 0.3 {
			continue
		}
		mem, use := *b.Mem, *b.Use
		mem.PageTables += uint64(4 * s.rng.IntN(3))
		mem.Shmem += uint64(s.rng.IntN(3000))
		mem.Private = mem.Private + uint64(s.rng.IntN(400)) - uint64(s.rng.IntN(400))%mem.Private
		use.MinorFaults += uint64(s.rng.IntN(900))
		use.User += uint64(s.rng.IntN(40))
		use.Kernel += uint64(s.rng.IntN(20))
		b.Mem, b.Use = &mem, &use
		b.State, b.Wait = states[s.rng.IntN(len(states))], waits[s.rng.IntN(len(waits))]
	}
	if s.n%20 == 19 { // sessions come and go
		i := s.rng.IntN(len(list))
		list = append(list[:i:i], list[i+1:]...)
		list = append(list, s.backend())
	}
	s.backends = list
	return list
}

func (s *synthetic) latency() *probes.Histogram {
	h := probes.NewHistogram()
	for range 2_000 {
		h.Record(time.Duration((150 + 25*s.rng.NormFloat64() + 40*s.rng.ExpFloat64()) * float64(time.Microsecond)))
	}
	return h
}

func (s *synthetic) next() probes.Sample {
	batch := func(name string, readings ...[]probes.Reading) probes.Batch {
		b := probes.Batch{Probe: name, Offset: time.Duration(s.rng.IntN(20_000)), Took: time.Duration(30_000 + s.rng.IntN(2_000_000))}
		for _, r := range readings {
			b.Readings = append(b.Readings, r...)
		}
		return b
	}
	out := probes.Sample{Seq: uint64(s.n + 1), At: s.at, T: s.t, OwnCPU: time.Duration(s.n) * 4 * time.Millisecond}
	var pools []probes.Reading
	for _, size := range []string{"2048kB", "1048576kB"} {
		for _, id := range []string{probes.PoolTotal, probes.PoolFree, probes.PoolReserved, probes.PoolSurplus} {
			pools = append(pools, probes.Reading{ID: id, Label: size, Value: 128})
		}
	}
	backends := batch("backends", s.of(3, probes.Backends, probes.PageTableBackendsSum, probes.PageTableMaxBackend))
	backends.Backends = s.processes()
	load := batch("load:point-select", s.of(54_000, probes.Transactions), s.of(0, probes.Failed))
	for i := range load.Readings {
		load.Readings[i].Label = "point-select"
	}
	load.Readings = append(load.Readings, probes.Reading{ID: probes.Latency, Label: "point-select", Hist: s.latency()})
	out.Batches = []probes.Batch{
		batch("perf", s.perf("software", 20_000, probes.PageFaults, probes.PageFaultsMinor, probes.PageFaultsMajor, probes.ContextSwitches),
			s.perf("tlb", 2e9, probes.Cycles, probes.DTLBLoads, probes.DTLBLoadMisses, probes.WalkCyclesLoad),
			s.perf("cycles", 2e9, probes.CyclesUser, probes.CyclesKernel, probes.Instructions, probes.WalkCyclesStore)),
		batch("meminfo", s.of(400, probes.PageTables, probes.SecPageTables, probes.MemAvailable, probes.AnonHuge), s.of(0, probes.MemTotal, probes.ShmemHuge)),
		batch("vmstat", s.of(3, probes.THPFaultAlloc, probes.CompactStall)),
		batch("hugepages", pools, s.of(0, probes.HugetlbUsed)),
		batch("interrupts", s.of(50, probes.TLBShootdowns)),
		batch("cpu", s.cpu()),
		batch("psi", s.of(300_000, probes.PSICPU, probes.PSIMemory, probes.PSIIO)),
		backends,
		batch("database", s.of(54_000, probes.Commits, probes.BlksHit, probes.TupReturned, probes.TupFetched),
			s.of(40, probes.Rollbacks, probes.BlksRead, probes.TempFiles, probes.TempBytes, probes.TupInserted, probes.TupUpdated, probes.TupDeleted, probes.Catalog)),
		batch("statements", s.of(54_000, probes.StmtCalls, probes.StmtExecMS)),
		load,
	}
	out.Batches[1].Misses = []probes.Miss{{ID: probes.ServerLatencyMean, Reason: "pg_stat_statements is not loaded", Remedy: "CREATE EXTENSION pg_stat_statements"}}
	if s.n == 0 {
		out.Marks = []probes.Mark{{Kind: probes.LoadStarted, Label: "point-select"}}
	}
	step := time.Second + time.Duration(s.rng.NormFloat64()*100_000)
	s.n++
	s.t += step
	s.at = s.at.Add(step + time.Duration(s.rng.IntN(2000)))
	return out
}

// recordSynthetic writes a run of so many samples and returns its file.
func recordSynthetic(dir string, samples, backends int) (string, error) {
	meta := publishedMeta("4kB", "off")
	meta.Name = fmt.Sprintf("synthetic-%d", samples)
	r, err := Create(dir, meta)
	if err != nil {
		return "", err
	}
	s := newSynthetic(backends)
	for range samples {
		sample := s.next()
		if err := r.Append(&sample); err != nil {
			return "", err
		}
	}
	return r.Path(), r.Close(End{At: s.at, Reason: "finished"})
}
