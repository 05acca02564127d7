package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"pgtlb/probes"
)

// A sample that is written as what has changed is one line of JSON:
//
//	{"delta":[base,seq,t,at,own,[batch,…],[mark,…]]}
//
// base is the Seq of the sample that it follows; seq, t and own are the growth of
// Seq, T and OwnCPU since then; at is by how much more At grew than T. Marks are
// left out where there are none.
//
// A batch is an object where it is written in full, as in a whole sample, and else
// an array that is held against the base of its probe (chain.base):
//
//	[off,took,[reading,…],[backend,…]]
//
// Its misses are those of the base, its readings are of the same metrics, labels
// and groups in the same order, and each has
//
//   - for a value one number: with a point or an exponent the value itself, without
//     the growth since the base; a whole number's growth is exact;
//   - for each perf part three: the growth of the value, that of the time enabled
//     less that of the part at the same place of the reading before, which is as a
//     rule the same, and that of the time running less that of the time enabled;
//   - for a histogram its string.
//
// The backends are made from those of the base in their order: n > 0 takes the
// next n over as they are, n < 0 leaves the next −n out, an array takes the next
// one over with changes, an object is a new one. The array is
//
//	[which,number,…,"state","wait",query]
//
// with bit i of which set for each of the eight numbers of memory and use (see
// backendNumbers) that grew, in their order, bit 8 for State, 9 for Wait and 10 for
// Query, which is a number where an earlier sample had it (see chain.texts).
const (
	changedState = 8
	changedWait  = 9
	changedQuery = 10
)

// deltaStart begins every line of this form.
const deltaStart = `{"delta":[`

// appendDelta writes the sample that follows the chain as a line without its end.
func appendDelta(out []byte, c *chain, s *probes.Sample) ([]byte, error) {
	p := c.last
	// Round takes the monotonic clock away, which does not follow the wall clock's steps.
	out = append(out, deltaStart...)
	out = strconv.AppendUint(out, p.Seq, 10)
	t := int64(s.T - p.T)
	for _, n := range []int64{int64(s.Seq - p.Seq), t, s.At.Round(0).Sub(p.At.Round(0)).Nanoseconds() - t, int64(s.OwnCPU - p.OwnCPU)} {
		out = appendNumber(out, n)
	}
	out = append(out, ",["...)
	for i := range s.Batches {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendBatch(out, c, i, &s.Batches[i]); err != nil {
			return nil, err
		}
	}
	out = append(out, ']')
	if len(s.Marks) > 0 {
		out = append(out, ',')
		var err error
		if out, err = appendJSON(out, s.Marks); err != nil {
			return nil, err
		}
	}
	return append(out, "]}"...), nil
}

func appendNumber(out []byte, n int64) []byte {
	return strconv.AppendInt(append(out, ','), n, 10)
}

func appendJSON(out []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a sample: %w", err)
	}
	return append(out, text...), nil
}

func appendBatch(out []byte, c *chain, place int, b *probes.Batch) ([]byte, error) {
	base := c.base(place, b.Probe)
	if base == nil || !slices.Equal(b.Misses, base.Misses) || !slices.EqualFunc(b.Readings, base.Readings, sameShape) {
		return appendJSON(out, b)
	}
	out = append(out, '[')
	out = strconv.AppendInt(out, int64(b.Offset), 10)
	out = appendNumber(out, int64(b.Took))
	out = append(out, ",["...)
	var err error
	var enabled []uint64 // growth of the parts of the reading before
	for i := range b.Readings {
		if i > 0 {
			out = append(out, ',')
		}
		if out, enabled, err = appendReading(out, &base.Readings[i], &b.Readings[i], enabled); err != nil {
			return nil, err
		}
	}
	out = append(out, ']')
	if len(b.Backends)+len(base.Backends) > 0 {
		out = append(out, ",["...)
		if out, err = appendBackends(out, c, base.Backends, b.Backends); err != nil {
			return nil, err
		}
		out = append(out, ']')
	}
	return append(out, ']'), nil
}

// sameShape tells whether a reading can be told from another by numbers alone.
func sameShape(a, b probes.Reading) bool {
	return a.ID == b.ID && a.Label == b.Label && a.Group == b.Group && len(a.Parts) == len(b.Parts) &&
		(a.Hist == nil) == (b.Hist == nil) && (len(a.Parts) == 0 || a.Value == b.Value)
}

// appendReading writes a reading's numbers, and returns the growth of its parts'
// enabled times for the next one.
func appendReading(out []byte, base, r *probes.Reading, enabled []uint64) ([]byte, []uint64, error) {
	if len(r.Parts) > 0 {
		next := make([]uint64, len(r.Parts))
		for i, p := range r.Parts {
			was := base.Parts[i]
			next[i] = p[1] - was[1]
			guess := uint64(0)
			if i < len(enabled) {
				guess = enabled[i]
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(p[0]-was[0]), 10)
			out = appendNumber(out, int64(next[i]-guess))
			out = appendNumber(out, int64(p[2]-was[2]-next[i]))
		}
		enabled = next
	} else {
		var err error
		if out, err = appendValue(out, base.Value, r.Value); err != nil {
			return nil, nil, fmt.Errorf("encoding %s: %w", r.ID, err)
		}
	}
	if r.Hist == nil {
		return out, enabled, nil
	}
	out, err := appendJSON(append(out, ','), r.Hist)
	return out, enabled, err
}

// exact is the number below which every whole float64 is exact.
const exact = 1 << 53

// exactWhole tells whether a float is a whole number of which differences are exact.
func exactWhole(v float64) bool {
	return v == math.Trunc(v) && math.Abs(v) < exact && (v != 0 || !math.Signbit(v))
}

// appendValue writes a value: its growth where both are whole or nothing changed,
// else itself.
func appendValue(out []byte, was, is float64) ([]byte, error) {
	switch {
	case math.IsNaN(is) || math.IsInf(is, 0):
		return nil, fmt.Errorf("%v is not a number that can be kept", is)
	case math.Float64bits(is) == math.Float64bits(was):
		return append(out, '0'), nil
	case exactWhole(is) && exactWhole(was):
		return strconv.AppendInt(out, int64(is)-int64(was), 10), nil
	case exactWhole(is):
		return strconv.AppendFloat(out, is, 'e', -1, 64), nil
	}
	at := len(out)
	out = strconv.AppendFloat(out, is, 'g', -1, 64)
	for _, ch := range out[at:] {
		if ch == '.' || ch == 'e' {
			return out, nil
		}
	}
	return strconv.AppendFloat(out[:at], is, 'e', -1, 64), nil // a large whole one, or −0
}

// backendNumbers are the places of a process's numbers, in the order of their bits.
// Both must be there.
func backendNumbers(m *probes.BackendMem, u *probes.BackendUse) [8]*uint64 {
	return [8]*uint64{&m.PageTables, &m.Hugetlb, &m.Shmem, &m.Private, &u.MinorFaults, &u.MajorFaults, &u.User, &u.Kernel}
}

// ident tells processes apart, also when a pid is used again.
type ident struct {
	pid   int
	start uint64
}

func identOf(b *probes.Backend) ident { return ident{b.Pid, b.StartTicks} }

// appendBackends writes how the list is made from that of the base.
func appendBackends(out []byte, c *chain, base, list []probes.Backend) ([]byte, error) {
	at, same, first := 0, int64(0), true
	item := func() {
		if !first {
			out = append(out, ',')
		}
		first = false
	}
	flush := func() {
		if same != 0 {
			item()
			out = strconv.AppendInt(out, same, 10)
			same = 0
		}
	}
	var places map[ident]int // made when the lists part for the first time
	for i := range list {
		b := &list[i]
		if at >= len(base) || identOf(&base[at]) != identOf(b) {
			if places == nil {
				places = make(map[ident]int, len(base))
				for j := range base {
					places[identOf(&base[j])] = j
				}
			}
			if j, ok := places[identOf(b)]; ok && j > at {
				flush()
				item()
				out = strconv.AppendInt(out, -int64(j-at), 10)
				at = j
			}
		}
		if at < len(base) && identOf(&base[at]) == identOf(b) {
			which, ok := changes(&base[at], b)
			if ok && which == 0 {
				same++
				at++
				continue
			}
			flush()
			item()
			if ok {
				out = appendChanges(out, c, &base[at], b, which)
				at++
				continue
			}
			out = append(out, "-1,"...)
			at++
		} else {
			flush()
			item()
		}
		var err error
		if out, err = appendJSON(out, b); err != nil {
			return nil, err
		}
	}
	flush()
	return out, nil
}

// changes tells what of a process has changed; ok is false where that cannot be
// told in the short form, also for what it does not know of.
func changes(was, is *probes.Backend) (which int64, ok bool) {
	a, b := *was, *is
	a.Mem, a.Use, a.State, a.Wait, a.Query = nil, nil, "", "", ""
	b.Mem, b.Use, b.State, b.Wait, b.Query = nil, nil, "", "", ""
	// Times are alike when they are written alike.
	if a.Started != b.Started && a.Started.Equal(b.Started) && a.Started.Format(timeForm) == b.Started.Format(timeForm) {
		b.Started = a.Started
	}
	if a != b || (was.Mem == nil) != (is.Mem == nil) || (was.Use == nil) != (is.Use == nil) {
		return 0, false
	}
	if was.State != is.State {
		which |= 1 << changedState
	}
	if was.Wait != is.Wait {
		which |= 1 << changedWait
	}
	if was.Query != is.Query {
		which |= 1 << changedQuery
	}
	oldMem, oldUse, mem, use := memOf(was), useOf(was), memOf(is), useOf(is)
	old, now := backendNumbers(&oldMem, &oldUse), backendNumbers(&mem, &use)
	for i := range now {
		if *old[i] != *now[i] {
			which |= 1 << i
			*old[i] = *now[i]
		}
	}
	return which, oldMem == mem && oldUse == use // else there are numbers that have no bit
}

// timeForm shows all that JSON keeps of a time.
const timeForm = "Z07:00"

// memOf and useOf are a process's numbers, zeros where there are none.
func memOf(b *probes.Backend) probes.BackendMem {
	if b.Mem == nil {
		return probes.BackendMem{}
	}
	return *b.Mem
}

func useOf(b *probes.Backend) probes.BackendUse {
	if b.Use == nil {
		return probes.BackendUse{}
	}
	return *b.Use
}

func appendChanges(out []byte, c *chain, was, is *probes.Backend, which int64) []byte {
	out = append(out, '[')
	out = strconv.AppendInt(out, which, 10)
	oldMem, oldUse, mem, use := memOf(was), useOf(was), memOf(is), useOf(is)
	old, now := backendNumbers(&oldMem, &oldUse), backendNumbers(&mem, &use)
	for i := range now {
		if which&(1<<i) != 0 {
			out = appendNumber(out, int64(*now[i]-*old[i]))
		}
	}
	if which&(1<<changedState) != 0 {
		out = appendString(append(out, ','), is.State)
	}
	if which&(1<<changedWait) != 0 {
		out = appendString(append(out, ','), is.Wait)
	}
	if which&(1<<changedQuery) != 0 {
		if n, known := c.numbers[is.Query]; known {
			out = appendNumber(out, int64(n))
		} else {
			out = appendString(append(out, ','), is.Query)
		}
	}
	return append(out, ']')
}

// appendString writes a JSON string.
func appendString(out []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // no string fails
		return append(out, `""`...)
	}
	return append(out, text...)
}
