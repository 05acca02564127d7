package trial

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// BenchmarkWatch is one tick of pgtlb watch on a real server, all but the
// drawing, with idle sessions connected: 500, or as many as PGTLB_BENCH_SESSIONS
// says. Between two ticks it waits for benchPause, so that caches are as cold as
// they are in life. It tells, for a tick: for how long probes were read (median
// and 95th percentile), the CPU time of pgtlb and of the whole server, the files
// that are open.
func BenchmarkWatch(b *testing.B) {
	n := 500
	if text := os.Getenv("PGTLB_BENCH_SESSIONS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	const perSession = 8 << 10 // kB, with room to spare
	if m, err := probes.ReadMeminfo(probes.SystemRoots()); err != nil || m.MemAvailable == nil || *m.MemAvailable < uint64(n*perSession) {
		b.Skipf("need: %d MB of available memory for %d sessions", n*perSession>>10, n)
	}
	o := labOptions(b)
	o.Settings = map[string]string{"max_connections": strconv.Itoa(n + 50)}
	cluster, err := lab.Start(b.Context(), o, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	}()
	cfg, err := pgconn.ParseConfig(cluster.DSN())
	if err != nil {
		b.Fatal(err)
	}
	var held []*pgconn.PgConn
	defer func() {
		for _, c := range held {
			_ = c.Close(context.WithoutCancel(b.Context())) // the server is stopped right after
		}
	}()
	for range n {
		c, err := pgconn.ConnectConfig(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		held = append(held, c)
		if _, err := c.Exec(b.Context(), "SELECT count(*) FROM pg_class").ReadAll(); err != nil {
			b.Fatal(err)
		}
	}
	benchWatch(b, cluster, n)
}

// benchPause is the time between two ticks.
const benchPause = 250 * time.Millisecond

func benchWatch(b *testing.B, cluster *lab.Cluster, n int) {
	store, err := OpenStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	watched, err := pgx.ParseConfig(cluster.DSN())
	if err != nil {
		b.Fatal(err)
	}
	// Ticks are those that the benchmark asks for.
	s := NewSession(Options{Mode: Watching, Store: store, Interval: probes.MaxInterval, Roots: probes.SystemRoots(), Config: watched})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	var st State
	for st.Phase != Ready {
		if st, err = s.Next(ctx); err != nil || st.Phase == Failed {
			b.Fatalf("%s: %v", st.Err, err)
		}
	}
	last := uint64(0)
	tick := func() *probes.Frame {
		if err := s.sampler.Mark(ctx); err != nil {
			b.Fatal(err)
		}
		for {
			if f := st.Last(); f != nil && f.Seq > last {
				last = f.Seq
				return f
			}
			if st, err = s.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	for range 3 {
		tick()
	}
	var reads []time.Duration
	var own time.Duration
	served := family(b, cluster.Pid())
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		time.Sleep(benchPause)
		before := probes.OwnCPU()
		b.StartTimer()
		f := tick()
		b.StopTimer()
		own += probes.OwnCPU() - before
		b.StartTimer()
		if len(f.Backends) < n {
			b.Fatalf("%d rows for %d sessions", len(f.Backends), n)
		}
		reads = append(reads, f.ProbeTime)
	}
	served = family(b, cluster.Pid()) - served
	slices.Sort(reads)
	b.ReportMetric(float64(reads[len(reads)/2].Microseconds()), "read-µs-p50")
	b.ReportMetric(float64(reads[len(reads)*95/100].Microseconds()), "read-µs-p95")
	b.ReportMetric(float64(own.Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(served.Microseconds())/float64(b.N), "server-µs/op")
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		b.ReportMetric(float64(len(files)-n), "files")
	}
}

// family is the CPU time of the whole server so far.
func family(b *testing.B, postmaster int) time.Duration {
	b.Helper()
	t, err := probes.FamilyCPU(probes.SystemRoots(), postmaster)
	if err != nil {
		b.Fatal(err)
	}
	return t
}
