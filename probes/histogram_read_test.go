package probes

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestHistogramsReadOneAfterTheOther: as the library reads them, and after one that is
// damaged as before.
func TestHistogramsReadOneAfterTheOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r HistogramReader
	for n := range 200 {
		h := NewHistogram()
		for range n * n % 700 {
			h.Record(time.Duration(rng.ExpFloat64() * float64(time.Microsecond) * float64(int64(1)<<rng.IntN(30))))
		}
		h.Record([]time.Duration{0, time.Hour, 2047 * time.Microsecond, 2048 * time.Microsecond}[n%4])
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hdrhistogram.DecodePacked(text[1 : len(text)-1])
		if err != nil {
			t.Fatal(err)
		}
		if is, was := bucketsOf(got.packed), bucketsOf(want); is != was || got.Count() != h.Count() {
			t.Fatalf("%d of %d: %s, want %s", got.Count(), h.Count(), is, was)
		}
		if again, err := json.Marshal(got); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("written again: %v\n%s\n%s", err, again, text)
		}
		damaged := bytes.Clone(text)
		damaged[1+rng.IntN(len(text)-2)] ^= 1
		if got, err := r.Read(damaged); err == nil && bucketsOf(got.packed) != bucketsOf(want) {
			t.Errorf("read from %s", damaged)
		}
		if _, err := r.Read(append(text[:len(text)/2:len(text)/2], '"')); err == nil {
			t.Errorf("read from a half of %s", text)
		}
	}
}

func bucketsOf(h *hdrhistogram.PackedHistogram) string {
	var list [][2]int64
	h.ForEachBucket(func(value, count int64) bool {
		list = append(list, [2]int64{value, count})
		return true
	})
	text, _ := json.Marshal(list) // numbers cannot fail
	return string(text)
}

// BenchmarkReadHistogram is one of 2,000 latencies, with the reader and with the
// library's function alone.
func BenchmarkReadHistogram(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := NewHistogram()
	for range 2000 {
		h.Record(time.Duration((150 + 25*rng.NormFloat64() + 40*rng.ExpFloat64()) * float64(time.Microsecond)))
	}
	text, err := json.Marshal(h)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("reader", func(b *testing.B) {
		b.ReportAllocs()
		var r HistogramReader
		for b.Loop() {
			if _, err := r.Read(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := hdrhistogram.DecodePacked(text[1 : len(text)-1]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
