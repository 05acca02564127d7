package probes

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// HistogramReader reads histograms that MarshalJSON wrote, one after the other with
// one inflater: a recorded hour has 3,600 of them, and a new inflater takes 40 kB
// each time. Its zero value is ready. It is for one goroutine at a time.
type HistogramReader struct {
	packed   []byte
	source   bytes.Reader
	inflater io.ReadCloser // a zlib.Resetter too; nil before the first
	counts   []byte
}

// The compressed V2 form of HdrHistogram: a cookie and a length, both of four bytes,
// then what zlib made of a head of 40 bytes and the counts.
const (
	packedHead = 8
	plainHead  = 40
	// cookieBits of the cookies differ between versions of the form.
	cookieBits = 0xf0
	// halfBuckets is the number of counts in each step of resolution: with three
	// digits 2,048 values are told apart in the first, the upper half in the others.
	halfBuckets = 1024
	// mostCounts are those of the range up to histMax, mostBytes what they take as
	// they are written: nine bytes each at most.
	mostCounts = 23 * halfBuckets
	mostBytes  = 9 * mostCounts
)

// errNoHistogram is told of all that MarshalJSON did not write: which byte it is helps
// nobody.
var errNoHistogram = errors.New("not what a histogram is written as")

// Read reads one.
func (r *HistogramReader) Read(data []byte) (*Histogram, error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	counts, err := r.inflate(text)
	if err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	h := &Histogram{packed: hdrhistogram.NewPacked(histMin, histMax, histDigits)}
	if err := recordCounts(h.packed, counts); err != nil {
		return nil, fmt.Errorf("decoding histogram: %w", err)
	}
	return h, nil
}

// inflate returns the counts as they are written. They are valid until the next call.
func (r *HistogramReader) inflate(text string) ([]byte, error) {
	var err error
	if r.packed, err = base64.StdEncoding.AppendDecode(r.packed[:0], []byte(text)); err != nil {
		return nil, err
	}
	if len(r.packed) < packedHead || int32(binary.BigEndian.Uint32(r.packed))&^cookieBits != hdrhistogram.V2CompressedEncodingCookieBase {
		return nil, errNoHistogram
	}
	length := binary.BigEndian.Uint32(r.packed[4:])
	if uint64(length) > uint64(len(r.packed)-packedHead) {
		return nil, errNoHistogram
	}
	r.source.Reset(r.packed[packedHead : packedHead+int(length)])
	if again, ok := r.inflater.(zlib.Resetter); ok {
		err = again.Reset(&r.source, nil)
	} else {
		r.inflater, err = zlib.NewReader(&r.source)
	}
	if err != nil {
		return nil, err
	}
	var head [plainHead]byte
	if _, err := io.ReadFull(r.inflater, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[4:])
	if int32(binary.BigEndian.Uint32(head[:]))&^cookieBits != hdrhistogram.V2EncodingCookieBase || n > mostBytes ||
		binary.BigEndian.Uint32(head[12:]) != histDigits || binary.BigEndian.Uint64(head[16:]) != histMin || binary.BigEndian.Uint64(head[24:]) != uint64(histMax) {
		return nil, errNoHistogram
	}
	r.counts = slices.Grow(r.counts[:0], int(n))[:n]
	if _, err := io.ReadFull(r.inflater, r.counts); err != nil {
		return nil, err
	}
	// Nothing may follow; to see that is to have the checksum compared.
	if _, err := io.ReadFull(r.inflater, head[:1]); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errNoHistogram, err)
	}
	return r.counts, nil
}

// recordCounts records what is written as counts: of each value in turn its number, or
// below 0 how many values in a row have none.
func recordCounts(h *hdrhistogram.PackedHistogram, counts []byte) error {
	at := int64(0)
	for len(counts) > 0 {
		n, size := zigzag(counts)
		if size == 0 {
			return errNoHistogram
		}
		counts = counts[size:]
		if n < 0 {
			if n < -mostCounts {
				return errNoHistogram
			}
			at -= n
			continue
		}
		if at >= mostCounts {
			return errNoHistogram
		}
		if err := h.RecordValues(valueAt(at), n); err != nil {
			return err
		}
		at++
	}
	return nil
}

// zigzag reads a number of seven bits in a byte, the lowest first, and eight in the
// ninth; the lowest bit of all is the sign. size is 0 where the bytes end before it.
func zigzag(b []byte) (n int64, size int) {
	var u uint64
	for i, ch := range b {
		if i == 8 || ch < 0x80 {
			u |= uint64(ch) << (7 * i)
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		u |= uint64(ch&0x7f) << (7 * i)
	}
	return 0, 0
}

// valueAt is the value in microseconds whose count has a place.
func valueAt(place int64) int64 {
	step, in := place/halfBuckets, place%halfBuckets
	if step <= 1 {
		return place
	}
	return (in + halfBuckets) << (step - 1)
}
