package trial

import (
	"math"
	"time"

	"pgtlb/probes"
)

// builder makes a run by hand: constant rates, so that what comes out is known.
type builder struct {
	meta     Meta
	seconds  int
	tps      float64 // per second; 0 for a run without a load
	latency  time.Duration
	counters map[string]float64 // growth per second
	gauges   map[string]func(second int) float64
	faults   func(second int) float64 // minor faults per second, instead of a constant
	backends func(second int) []probes.Backend
	misses   []probes.Miss
	noStop   bool
}

// lead is how many samples come before the load starts.
const lead = 2

func (b builder) samples() []probes.Sample {
	var out []probes.Sample
	sums := map[string]float64{}
	n := lead + b.seconds + 1
	for i := range n {
		second := i - lead // 0 at the start of the load
		s := probes.Sample{
			Seq: uint64(i), T: time.Duration(i) * time.Second,
			At:     time.Date(2026, 11, 30, 13, 45, 12, 0, time.UTC).Add(time.Duration(i) * time.Second),
			OwnCPU: time.Duration(i) * 3 * time.Millisecond,
		}
		host := probes.Batch{Probe: "host", Took: 2 * time.Millisecond, Misses: b.misses}
		for _, m := range probes.Catalogue() { // in a fixed order
			rate, ok := b.counters[m.ID]
			if ok {
				if i > 0 {
					sums[m.ID] += rate
				}
				host.Readings = append(host.Readings, probes.Reading{ID: m.ID, Value: sums[m.ID], Group: "A"})
			}
			if level := b.gauges[m.ID]; level != nil {
				host.Readings = append(host.Readings, probes.Reading{ID: m.ID, Value: level(second)})
			}
		}
		if b.faults != nil {
			sums[probes.PageFaultsMinor] += b.faults(second)
			host.Readings = append(host.Readings, probes.Reading{ID: probes.PageFaultsMinor, Value: sums[probes.PageFaultsMinor]})
		}
		s.Batches = append(s.Batches, host)
		if b.backends != nil {
			backends := b.backends(second)
			if b.faults != nil {
				spread(sums[probes.PageFaultsMinor], backends)
			}
			s.Batches = append(s.Batches, probes.Batch{Probe: "backends", Backends: backends})
		}
		if b.tps > 0 && second >= 0 {
			s.Batches = append(s.Batches, b.meter(second))
			if second == 0 {
				s.Marks = []probes.Mark{{Kind: probes.LoadStarted, Label: "point-select"}}
			}
			if second == b.seconds && !b.noStop {
				s.Marks = []probes.Mark{{Kind: probes.LoadStopped, Label: "point-select"}}
			}
		}
		out = append(out, s)
	}
	return out
}

// spread gives each client backend the faults of the machine in equal parts.
func spread(faults float64, backends []probes.Backend) {
	for i := range backends {
		if backends[i].Role == clientRole {
			backends[i].Use = &probes.BackendUse{MinorFaults: uint64(faults) / uint64(len(backends))}
		}
	}
}

func (b builder) meter(second int) probes.Batch {
	done := math.Round(b.tps * float64(second))
	batch := probes.Batch{Probe: "load", Readings: []probes.Reading{
		{ID: probes.Transactions, Label: "point-select", Value: done},
		{ID: probes.Failed, Label: "point-select", Value: 0},
	}}
	if second > 0 {
		h := probes.NewHistogram()
		for range 100 {
			h.Record(b.latency)
		}
		batch.Readings = append(batch.Readings, probes.Reading{ID: probes.Latency, Label: "point-select", Hist: h})
	}
	return batch
}

func (b builder) run() *Run {
	r := &Run{Meta: b.meta, Samples: b.samples()}
	r.End = &End{At: r.Samples[len(r.Samples)-1].At, Reason: "finished"}
	return r
}

func level(v float64) func(int) float64 { return func(int) float64 { return v } }

// grow reaches a full size within ten seconds from the start of the load.
func grow(from, to float64) func(int) float64 {
	return func(second int) float64 {
		return from + (to-from)*min(1, max(0, float64(second)/10))
	}
}

// clients makes n client backends that each have a page table of kB, and a
// secret in their query.
func clients(n int, kB func(int) float64) func(int) []probes.Backend {
	return func(second int) []probes.Backend {
		out := []probes.Backend{{Pid: 100, StartTicks: 1, Role: "checkpointer", Mem: &probes.BackendMem{PageTables: 300}}}
		if second < 0 {
			return out
		}
		for i := range n {
			out = append(out, probes.Backend{
				Pid: 200 + i, StartTicks: 2, Role: "client", State: "active",
				Query: "ALTER ROLE app PASSWORD 'hunter2'",
				Mem:   &probes.BackendMem{PageTables: uint64(kB(second)) + uint64(4*i), Shmem: 1400000, Private: 3100},
				// Use is not readable: the published counters are the machine's only.
			})
		}
		return out
	}
}

// published4kB and published2MB are the published pair of runs with eight
// clients: the counters are of 25 seconds.
func published4kB() builder {
	return builder{
		meta: publishedMeta("4kB", "off"), seconds: 25, tps: 54263, latency: 147 * time.Microsecond,
		counters: map[string]float64{
			probes.PageFaults: 1397551. / 25, probes.DTLBLoads: 67.08e9 / 25, probes.DTLBLoadMisses: 67.08e9 / 25 * 0.0273,
			probes.CyclesKernel: 180.46e9 / 25, probes.CyclesUser: 407.13e9 / 25,
			probes.TLBShootdowns: 2, probes.ContextSwitches: 110000,
		},
		gauges: map[string]func(int) float64{
			probes.PageTables: grow(40_000, 434_176), probes.PageTableMaxBackend: grow(400, 5_268),
			probes.HugetlbUsed: level(0), probes.MemAvailable: level(60 << 20),
		},
		backends: clients(8, grow(372, 5_240)),
	}
}

func published2MB() builder {
	b := published4kB()
	b.meta = publishedMeta("2MB", "on")
	b.tps, b.latency = 58564, 137*time.Microsecond
	b.counters = map[string]float64{
		probes.PageFaults: 1044. / 25, probes.DTLBLoads: 69.36e9 / 25, probes.DTLBLoadMisses: 69.36e9 / 25 * 0.0249,
		probes.CyclesKernel: 163.42e9 / 25, probes.CyclesUser: 422.89e9 / 25,
		probes.TLBShootdowns: 2, probes.ContextSwitches: 118000,
	}
	b.gauges = map[string]func(int) float64{
		probes.PageTables: grow(2_900, 2_970), probes.PageTableMaxBackend: grow(120, 128),
		probes.HugetlbUsed: level(42_000_000), probes.MemAvailable: level(60 << 20),
	}
	b.backends = clients(8, grow(92, 100))
	return b
}

// measured are metrics whose source and scope were known when they were opened.
func measured() []probes.Metric {
	faults, tables := probes.MustLookup(probes.PageFaults), probes.MustLookup(probes.PageTables)
	faults.Scope = "system wide"
	return []probes.Metric{faults, tables}
}

func publishedMeta(pages, hugePages string) Meta {
	kB := map[string]int{"4kB": 4, "2MB": 2048}[pages]
	inUse := map[string]string{"4kB": "off", "2MB": "on"}[pages]
	return Meta{
		Schema: plainSchema, Name: "20261130-134512-point-select-" + pages, Kind: "load", Pages: pages,
		Created: time.Date(2026, 11, 30, 13, 45, 12, 0, time.UTC), Program: "pgtlb 0.1", Interval: time.Second,
		Host: probes.Host{
			Hostname: "db1", OS: "Debian GNU/Linux 12", Kernel: "6.18.0-amd64", Arch: "amd64",
			CPUModel: "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz", CPUs: 8, MemTotalKB: 96 << 20, Virtual: "kvm",
			THP:   map[string]string{"enabled": "madvise", "defrag": "madvise", "shmem_enabled": "never"},
			Pools: []probes.Pool{{PageKB: 2048, Total: 21_000, Free: 500, Reserved: 120}},
		},
		Server: probes.ServerInfo{
			Version: "17.6", VersionNum: 170006, Where: "socket /run/postgresql:5432", Database: "bench", User: "postgres", SharedMemoryKB: 42_467_328,
			SharedBuffersKB: 40 << 20, MaxConnections: 100,
			Settings: []probes.Setting{
				{Name: "huge_pages", Value: hugePages, Source: "configuration file"},
				{Name: "shared_buffers", Value: "40GB", Source: "configuration file"},
			},
			HugePages: probes.HugePages{Requested: hugePages, InUse: inUse, PageKB: kB, Proof: "huge_pages_status"},
		},
		Loads:   []LoadMeta{{Scenario: "point-select", Version: 1, Clients: 8, Seed: 1, DurationS: 25}},
		Dataset: &Dataset{Rows: 180_000_000, TableBytes: 21_000_000_000, IndexBytes: 4_000_000_000, Seed: 1, FitsSharedBuffer: true},
		Metrics: measured(),
		Unavailable: []probes.Miss{{ID: probes.WalkCyclesPct, Reason: "this CPU's page-walk event is not known",
			Remedy: "run on a CPU with a page-walk event"}},
		Command: "pgtlb bench point-select -c 8 -T 25",
	}
}
