package perf

import (
	"encoding/binary"
	"testing"
)

func words(ws ...uint64) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func TestParseGroupFollowsIds(t *testing.T) {
	out := make([]Count, 2)
	if err := parseGroup(words(2, 100, 50, 7, 31, 9, 30), []uint64{30, 31}, out); err != nil {
		t.Fatal(err)
	}
	if out[0] != (Count{9, 100, 50}) || out[1] != (Count{7, 100, 50}) {
		t.Errorf("counts %v", out)
	}
}

func TestParseGroupRefuses(t *testing.T) {
	ids := []uint64{30, 31}
	good := words(2, 100, 50, 7, 30, 9, 31)
	for name, buf := range map[string][]byte{
		"nothing":          nil,
		"end of file":      {},
		"cut header":       good[:20],
		"cut member":       good[:len(good)-1],
		"one byte more":    append(append([]byte{}, good...), 0),
		"fewer events":     words(1, 100, 50, 7, 30),
		"wrong number":     words(3, 100, 50, 7, 30, 9, 31),
		"huge number":      words(1<<63, 100, 50, 7, 30, 9, 31),
		"id of a stranger": words(2, 100, 50, 7, 30, 9, 99),
	} {
		if err := parseGroup(buf, ids, make([]Count, 2)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestParseSingle(t *testing.T) {
	c, err := parseSingle(words(5, 100, 50, 30), 30)
	if err != nil || c != (Count{5, 100, 50}) {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := parseSingle(words(5, 100, 50, 30), 31); err == nil {
		t.Error("another id was accepted")
	}
	if _, err := parseSingle(words(5, 100, 50), 30); err == nil {
		t.Error("a short answer was accepted")
	}
}

func FuzzParseGroup(f *testing.F) {
	f.Add(words(2, 100, 50, 7, 30, 9, 31), 2)
	f.Add(words(1, 100, 50, 7, 30), 1)
	f.Add(words(1<<61, 0, 0), 0)
	f.Fuzz(func(t *testing.T, buf []byte, n int) {
		ids := make([]uint64, min(max(n, 0), 8))
		for i := range ids {
			ids[i] = 30 + uint64(i)
		}
		out := make([]Count, len(ids))
		if parseGroup(buf, ids, out) != nil {
			return
		}
		if len(buf) != groupHeader+groupMember*len(ids) {
			t.Fatalf("%d bytes accepted for %d events", len(buf), len(ids))
		}
		for _, c := range out {
			if c.Enabled != binary.NativeEndian.Uint64(buf[8:]) || c.Running != binary.NativeEndian.Uint64(buf[16:]) {
				t.Fatalf("times %v are not those of the group", c)
			}
		}
	})
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-3,8\n")
	f.Add("7-1")
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := parseCPUList(s)
		if err != nil {
			return
		}
		for _, c := range cpus {
			if c < 0 || c >= maxCPUs {
				t.Fatalf("CPU %d from %q", c, s)
			}
		}
	})
}

func TestParseCPUList(t *testing.T) {
	for in, want := range map[string]int{"0": 1, "0-3\n": 4, "0,2-3,8": 4} {
		got, err := parseCPUList(in)
		if err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "a", "3-1", "-1", "0-99999", "0,"} {
		if got, err := parseCPUList(in); err == nil {
			t.Errorf("%q: accepted as %v", in, got)
		}
	}
}
