package perf

import (
	"encoding/binary"
	"fmt"
)

// Sizes of what read(2) returns with PERF_FORMAT_GROUP|ID|TOTAL_TIME_ENABLED|TOTAL_TIME_RUNNING
// (include/uapi/linux/perf_event.h): nr, time enabled, time running, then nr pairs of value and id.
const (
	groupHeader = 3 * 8
	groupMember = 2 * 8
	singleSize  = 4 * 8 // the same without PERF_FORMAT_GROUP: value, time enabled, time running, id
)

// parseGroup reads the answer for a group whose events have these ids and stores the count of the i-th id in
// dst[i]. It refuses an answer of another length, or with other ids.
func parseGroup(buf []byte, ids []uint64, dst []Count) error {
	if len(buf) < groupHeader {
		return fmt.Errorf("reading a group: %d bytes, want at least %d", len(buf), groupHeader)
	}
	n := binary.NativeEndian.Uint64(buf)
	if n != uint64(len(ids)) || len(buf) != groupHeader+len(ids)*groupMember || len(dst) < len(ids) {
		return fmt.Errorf("reading a group: %d events in %d bytes, want %d events", n, len(buf), len(ids))
	}
	enabled, running := binary.NativeEndian.Uint64(buf[8:]), binary.NativeEndian.Uint64(buf[16:])
	for i, want := range ids {
		value, found := memberValue(buf[groupHeader:], i, want)
		if !found {
			return fmt.Errorf("reading a group: no event with id %d", want)
		}
		dst[i] = Count{Value: value, Enabled: enabled, Running: running}
	}
	return nil
}

// memberValue looks for an id, first where the kernel puts it: in the order of opening.
func memberValue(members []byte, guess int, id uint64) (uint64, bool) {
	at := func(i int) (uint64, uint64) {
		m := members[i*groupMember:]
		return binary.NativeEndian.Uint64(m), binary.NativeEndian.Uint64(m[8:])
	}
	if v, got := at(guess); got == id {
		return v, true
	}
	for i := range len(members) / groupMember {
		if v, got := at(i); got == id {
			return v, true
		}
	}
	return 0, false
}

// parseSingle reads the answer for one event that was opened without PERF_FORMAT_GROUP.
func parseSingle(buf []byte, id uint64) (Count, error) {
	if len(buf) != singleSize {
		return Count{}, fmt.Errorf("reading an event: %d bytes, want %d", len(buf), singleSize)
	}
	if got := binary.NativeEndian.Uint64(buf[24:]); got != id {
		return Count{}, fmt.Errorf("reading an event: id %d, want %d", got, id)
	}
	return Count{
		Value:   binary.NativeEndian.Uint64(buf),
		Enabled: binary.NativeEndian.Uint64(buf[8:]),
		Running: binary.NativeEndian.Uint64(buf[16:]),
	}, nil
}
