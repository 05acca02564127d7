package trial

import (
	"os"
	"runtime"
	"testing"
	"time"
)

const hour = 3600

// TestHourOfAHundredBackendsIsSmall records a tenth of it, with as many samples in full
// among the others as in the whole.
func TestHourOfAHundredBackendsIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	const samples = 6 * wholeEvery
	path, err := recordSynthetic(t.TempDir(), samples, 100)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	const most = 20_000_000
	whole := st.Size() * hour / samples
	t.Logf("an hour of 100 backends: %.1f MB", float64(whole)/1e6)
	if whole > most {
		t.Errorf("an hour takes %d bytes, at most %d are wanted", whole, most)
	}
	run, err := Read(path)
	if err != nil || len(run.Samples) != samples || len(run.Gaps()) > 0 {
		t.Fatalf("%d samples, %v, %q", len(run.Samples), err, run.Gaps())
	}
}

// BenchmarkReadHour reads an hour at 1 Hz of 100 backends; "held-MB" is what the
// run then takes of memory.
func BenchmarkReadHour(b *testing.B) { benchmarkHour(b, Read) }

// BenchmarkCutHour cuts such a run as it is read; "held-MB" is what the pieces then
// take of memory.
func BenchmarkCutHour(b *testing.B) {
	benchmarkHour(b, func(path string) (*Run, error) {
		run, err := readCut(path, hours(time.UTC))
		if err == nil && len(run.cutting.pieces) == 0 {
			b.Fatal("no pieces")
		}
		return run, err
	})
}

// benchmarkHour measures a way to read an hour's run, and what it holds then.
func benchmarkHour(b *testing.B, read func(path string) (*Run, error)) {
	path, err := recordSynthetic(b.TempDir(), hour, 100)
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var run *Run
	b.ReportAllocs()
	for b.Loop() {
		if run, err = read(path); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "held-MB")
	runtime.KeepAlive(run)
}

// BenchmarkListHour reads what a list shows of such a run.
func BenchmarkListHour(b *testing.B) {
	path, err := recordSynthetic(b.TempDir(), hour, 100)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if info := Info(path); info.Seconds < hour-10 {
			b.Fatalf("%+v", info)
		}
	}
}

// BenchmarkAppend writes one sample of 100 backends: what a tick costs.
func BenchmarkAppend(b *testing.B) {
	r, err := Create(b.TempDir(), publishedMeta("4kB", "off"))
	if err != nil {
		b.Fatal(err)
	}
	s := newSynthetic(100)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		sample := s.next()
		b.StartTimer()
		if err := r.Append(&sample); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(End{}); err != nil {
		b.Fatal(err)
	}
}
