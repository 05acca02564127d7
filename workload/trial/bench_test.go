package trial

import (
	"fmt"
	"testing"
	"time"

	"pgtlb/probes"
)

// sessionsSample is a sample of a server with n sessions, a tenth of which work.
func sessionsSample(seq uint64, n int, began time.Time) probes.Sample {
	rows := make([]probes.Backend, n)
	for i := range rows {
		turns := uint64(0)
		if i%10 == 0 {
			turns = seq
		}
		rows[i] = probes.Backend{Pid: 1000 + i, StartTicks: uint64(50_000 + i), Role: probes.RoleClient, State: "idle",
			Database: "shop", User: "web", App: fmt.Sprintf("worker %d", i), Wait: "Client:ClientRead",
			Query:   "SELECT abalance FROM pgbench_accounts WHERE aid = $1 AND bid = $2 ORDER BY filler",
			Started: began.Add(time.Duration(i) * 17 * time.Millisecond),
			Mem:     &probes.BackendMem{PageTables: 300 + turns, Shmem: 61_000 + 40*turns, Private: 3_100},
			Use:     &probes.BackendUse{MinorFaults: 9_000 + 12*turns, User: 40 + turns, Kernel: 11},
		}
	}
	b := probes.Batch{Probe: "backends", Took: 5 * time.Millisecond, Backends: rows}
	for id, v := range map[string]float64{probes.Backends: float64(n), probes.PageTableBackendsSum: float64(300 * n)} {
		b.Readings = append(b.Readings, probes.Reading{ID: id, Value: v})
	}
	host := probes.Batch{Probe: "host"}
	for i, m := range probes.Catalogue() {
		if m.ID != probes.Backends && m.Kind != probes.Distribution {
			host.Readings = append(host.Readings, probes.Reading{ID: m.ID, Value: float64(uint64(i) * seq)})
		}
	}
	return probes.Sample{Seq: seq, At: began, T: time.Duration(seq) * time.Second, Batches: []probes.Batch{host, b}}
}

// BenchmarkTick is what becomes of one sample after it is read, for 1,000 and 100
// sessions: the line in the run's file, the frame, the state for the screen with
// twenty minutes of history.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{1000, 100} {
		b.Run(fmt.Sprintf("sessions=%d/record", n), func(b *testing.B) {
			rec, err := Create(b.TempDir(), Meta{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = rec.Close(End{}) }()
			s := sessionsSample(1, n, time.Now())
			b.ReportAllocs()
			for b.Loop() {
				if err := rec.Append(&s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rec.size)/float64(b.N)/1000, "kB/tick")
		})
		b.Run(fmt.Sprintf("sessions=%d/derive", n), func(b *testing.B) {
			var d probes.Deriver
			began := time.Now()
			samples := []probes.Sample{sessionsSample(1, n, began), sessionsSample(2, n, began)}
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				s := &samples[i%2]
				s.T = time.Duration(i) * time.Second
				d.Next(s)
			}
		})
		b.Run(fmt.Sprintf("sessions=%d/state", n), func(b *testing.B) {
			var d probes.Deriver
			began := time.Now()
			a, c := sessionsSample(1, n, began), sessionsSample(2, n, began)
			d.Next(&a)
			f := d.Next(&c)
			var tl timeline
			for range 1200 {
				tl.add(f)
			}
			mail := newMailbox()
			b.ReportAllocs()
			for b.Loop() {
				var st State
				tl.add(f)
				tl.fill(&st)
				mail.put(st)
			}
		})
	}
}
