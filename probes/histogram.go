package probes

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are kept in whole microseconds from 1 µs to 1 h with three
// significant digits, so that everything below 2 ms is exact.
const (
	histMin    = 1
	histMax    = int64(time.Hour / time.Microsecond)
	histDigits = 3
)

// Histogram holds latencies. One that has been published in a Reading is not
// changed any more.
type Histogram struct {
	h *hdrhistogram.Histogram
	// packed stands in for h in what was read back from a file: a recorded hour has
	// 3,600 histograms, and h takes 190 kB whatever is in it.
	packed *hdrhistogram.PackedHistogram
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(histMin, histMax, histDigits)}
}

// figures is what both forms of a histogram answer.
type figures interface {
	TotalCount() int64
	Mean() float64
	StdDev() float64
	Min() int64
	Max() int64
	ValueAtPercentile(percentile float64) int64
}

func (h *Histogram) figures() figures {
	if h.packed != nil {
		return h.packed
	}
	return h.h
}

// unpack makes one that was read back ready for changes.
func (h *Histogram) unpack() {
	if h.packed != nil {
		h.h = hdrhistogram.New(histMin, histMax, histDigits)
		h.packed.MergeInto(h.h)
		h.packed = nil
	}
}

// Record adds one latency. Below 1 µs counts as 1 µs, above 1 h as 1 h.
func (h *Histogram) Record(d time.Duration) {
	us := (int64(d) + 500) / 1000
	us = max(histMin, min(us, histMax))
	h.unpack()
	// The value is inside the range, the only thing that can fail.
	_ = h.h.RecordValue(us)
}

// Add merges other into h.
func (h *Histogram) Add(other *Histogram) {
	if other == nil {
		return
	}
	h.unpack()
	if other.packed != nil {
		other.packed.MergeInto(h.h)
	} else {
		h.h.Merge(other.h)
	}
}

// Reset forgets everything recorded.
func (h *Histogram) Reset() {
	h.unpack()
	h.h.Reset()
}

// Count is the number of latencies recorded.
func (h *Histogram) Count() int64 { return h.figures().TotalCount() }

// MeanMS, StddevMS, MinMS and MaxMS are in milliseconds.
func (h *Histogram) MeanMS() float64   { return h.figures().Mean() / 1000 }
func (h *Histogram) StddevMS() float64 { return h.figures().StdDev() / 1000 }
func (h *Histogram) MinMS() float64    { return float64(h.figures().Min()) / 1000 }
func (h *Histogram) MaxMS() float64    { return float64(h.figures().Max()) / 1000 }

// QuantileMS returns the latency in milliseconds that a share q (0 … 1) of the
// recorded latencies does not exceed.
func (h *Histogram) QuantileMS(q float64) float64 {
	return float64(h.figures().ValueAtPercentile(q*100)) / 1000
}

// AtMost counts the latencies of at most d, within the resolution of the
// histogram (one in a thousand).
func (h *Histogram) AtMost(d time.Duration) int64 {
	limit := int64(d / time.Microsecond)
	var n int64
	if h.packed != nil {
		h.packed.ForEachBucket(func(value, count int64) bool {
			if value > limit {
				return false
			}
			n += count
			return true
		})
		return n
	}
	for _, bar := range h.h.Distribution() {
		if bar.From > limit {
			break
		}
		n += bar.Count
	}
	return n
}

// MarshalJSON writes the HdrHistogram V2 compressed form as a base64 string.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	var b []byte
	var err error
	if h.packed != nil {
		b, err = h.packed.Encode()
	} else {
		b, err = h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding histogram: %w", err)
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	read, err := new(HistogramReader).Read(data)
	if err != nil {
		return err
	}
	*h = *read
	return nil
}
