//go:build linux

package wire

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"pgtlb/workload/lab"
)

const (
	// compareRows is so few that page tables are filled soon: what that costs each new
	// backend is no driver's doing.
	compareRows = 100_000
	compareTime = 3 * time.Second
	compareSQL  = "SELECT * FROM pgtlb.test_hp_table WHERE id = "
)

// BenchmarkAgainstPgbench runs this package and the installed pgbench on the same
// server in turn, ABBA. Only the ratios mean anything: use -benchtime 8x for
// eight pairs of each.
func BenchmarkAgainstPgbench(b *testing.B) {
	c := needServer(b)
	execAll(b, c.DSN(), fmt.Sprintf(`CREATE SCHEMA pgtlb;
		CREATE UNLOGGED TABLE pgtlb.test_hp_table AS SELECT g AS id, hashint8extended(g, 1) AS col1, hashint8extended(g, 2) AS col2,
			hashint8extended(g, 3) AS col3, hashint8extended(g, 4) AS col4, hashint8extended(g, 5) AS col5, hashint8extended(g, 6) AS col6,
			hashint8extended(g, 7) AS col7, hashint8extended(g, 8) AS col8, hashint8extended(g, 9) AS col9 FROM generate_series(1::bigint, %d) g;
		CREATE UNIQUE INDEX ON pgtlb.test_hp_table (id)`, compareRows))
	execAll(b, c.DSN(), "VACUUM ANALYZE pgtlb.test_hp_table")
	execAll(b, c.DSN(), "CHECKPOINT")
	script := filepath.Join(b.TempDir(), "select.sql")
	text := fmt.Sprintf("\\set id random(1, %d)\n%s:id;\n", compareRows, compareSQL)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, mode := range []string{"prepared", "extended", "simple"} {
		for _, clients := range []int{8, 80} {
			b.Run(fmt.Sprintf("%s/c%d", mode, clients), func(b *testing.B) { compare(b, c, script, mode, clients) })
		}
	}
}

// figures are what one run measured.
type figures struct{ tps, cpu float64 } // CPU in µs per transaction

func compare(b *testing.B, c *lab.Cluster, script, mode string, clients int) {
	ours := func() figures { return runOurs(b, c, mode, clients) }
	theirs := func() figures { return runPgbench(b, c, script, mode, clients) }
	var tps, cpu []float64
	for i := 0; b.Loop(); i++ {
		var o, p figures
		if i%2 == 0 {
			o = ours()
			p = theirs()
		} else {
			p = theirs()
			o = ours()
		}
		tps, cpu = append(tps, o.tps/p.tps), append(cpu, o.cpu/p.cpu)
		load, _ := os.ReadFile("/proc/loadavg")
		b.Logf("ours %.0f %.2f us, pgbench %.0f %.2f us, ratios %.3f %.3f, load %.4s", o.tps, o.cpu, p.tps, p.cpu, o.tps/p.tps, o.cpu/p.cpu, load)
	}
	slices.Sort(tps)
	slices.Sort(cpu)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(tps), "tps-ratio")
	b.ReportMetric(tps[0], "tps-least")
	b.ReportMetric(tps[len(tps)-1], "tps-most")
	b.ReportMetric(median(cpu), "cpu-ratio")
	b.ReportMetric(cpu[0], "cpu-least")
	b.ReportMetric(cpu[len(cpu)-1], "cpu-most")
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func runOurs(b *testing.B, c *lab.Cluster, mode string, clients int) figures {
	b.Helper()
	conns := direct.adopt(b, c.DSN(), clients, func(pc *pgconn.PgConn) {
		if mode == "prepared" {
			if _, err := pc.Prepare(b.Context(), statement, compareSQL+"$1;", nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	given := make([]Client, clients)
	for i := range given {
		rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
		given[i] = Client{conns[i], &selectTask{mode: mode, sql: compareSQL, next: func() (int64, bool) { return 1 + rng.Int64N(compareRows), true }}}
	}
	before := processCPU()
	s, err := Run(b.Context(), Options{
		Clients: given, Duration: compareTime,
		Recorder: func(int) Recorder { return NewTally() },
	})
	if err != nil {
		b.Fatal(err)
	}
	used := processCPU() - before
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return figures{float64(s.Transactions) / s.Elapsed.Seconds(), float64(used.Microseconds()) / float64(s.Transactions)}
}

var (
	tpsLine   = regexp.MustCompile(`tps = ([0-9.]+) \(without`)
	countLine = regexp.MustCompile(`actually processed: ([0-9]+)`)
)

func runPgbench(b *testing.B, c *lab.Cluster, script, mode string, clients int) figures {
	b.Helper()
	seconds := strconv.Itoa(int(compareTime / time.Second))
	once, _, _ := pgbench(b, c, "-n", "-M", mode, "-f", script, "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(8, clients)), "-t", "1")
	all, tps, n := pgbench(b, c, "-n", "-M", mode, "-f", script, "-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(8, clients)), "-T", seconds)
	// Starting and connecting are no part of a transaction.
	return figures{tps, float64((all - once).Microseconds()) / n}
}

func pgbench(b *testing.B, c *lab.Cluster, args ...string) (cpu time.Duration, tps, transactions float64) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), filepath.Join(c.Server().Bindir, "pgbench"), append(args, c.DSN())...)
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	number := func(re *regexp.Regexp) float64 {
		m := re.FindSubmatch(out)
		if m == nil { // a loaded machine: -T includes the time to connect
			b.Fatalf("no %s in\n%s", re, out)
		}
		f, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), number(tpsLine), number(countLine)
}

// processCPU is what the whole process has used, the runtime's own threads too.
func processCPU() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
