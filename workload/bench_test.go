package workload

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkLoad compares the ways to fill test_hp_table: Dataset's binary COPY
// against INSERT … SELECT generate_series on the same server, indexes left out.
// Compare the rows/s of one run only, and only with -benchtime Nx.
func BenchmarkLoad(b *testing.B) {
	const rows = 2_000_000
	s := startServer(b, systemServer(b), nil)
	conns := s.database(b)
	conn := open(b, conns)
	if err := ensureSchema(b.Context(), conn); err != nil {
		b.Fatal(err)
	}
	d := Dataset{Rows: rows, Seed: 1}
	table := Schema + "." + dataTable + unfinished
	insert := "INSERT INTO " + table + " SELECT i"
	for range dataColumns - 1 {
		insert += ", (random() * 9e18)::bigint"
	}
	insert += fmt.Sprintf(" FROM generate_series(1, %d) i", rows)
	ways := []struct {
		name string
		fill func() error
	}{
		{"insert", func() error { return exec(b.Context(), conn.PgConn(), insert) }},
		{"copy", func() error {
			var made atomic.Int64
			return d.loadData(b.Context(), conns, &made)
		}},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := dropUnfinished(b.Context(), conn); err != nil {
					b.Fatal(err)
				}
				if err := d.createTables(b.Context(), conn); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := way.fill(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRows is the client's share of the load: making the COPY stream.
func BenchmarkRows(b *testing.B) {
	var made atomic.Int64
	src := dataRows(1, 1, int64(b.N)*10_000, &made)
	b.ReportAllocs()
	b.SetBytes(10_000 * dataRow)
	if _, err := io.Copy(io.Discard, src); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPointSelect runs one client, to see time and allocations per transaction.
func BenchmarkPointSelect(b *testing.B) {
	s := startServer(b, systemServer(b), nil)
	conns := s.database(b)
	d := Dataset{Rows: 100_000, Seed: 1}
	if err := d.Setup(b.Context(), conns, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	load := Load{Scenario: PointSelect(), Values: Values{"rows": d.Rows}, Clients: 1, Transactions: int64(b.N), Connect: conns, Started: b.ResetTimer}
	if _, err := NewRunner(NewMeter("x")).Run(b.Context(), load); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMeterRead is a tick's cost with four threads.
func BenchmarkMeterRead(b *testing.B) {
	m := NewMeter("x")
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for c := range 4 {
			for i := range 100 {
				m.recorder(c).Done(0, time.Duration(i*i)*time.Microsecond, 0)
			}
		}
		b.StartTimer()
		if _, err := m.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
