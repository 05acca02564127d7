package wire

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// heard keeps what a scanner hands over.
type heard struct{ log []string }

func (h *heard) message(typ byte, body []byte) error {
	h.log = append(h.log, string(typ)+string(body))
	return nil
}

// msg encodes a server's message.
func msg(typ byte, body string) string {
	b := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4))
	return string(b) + body
}

func TestScannerAtEveryCut(t *testing.T) {
	stream := msg('2', "") + msg('T', "columns") + msg('D', strings.Repeat("v", 300)) + msg('N', "notice") +
		msg('C', "SELECT 1\x00") + msg('Z', "I") + msg('I', "") + msg('S', "a\x00b\x00") + msg('E', "") + msg('Z', "E")
	for _, rows := range []bool{false, true} {
		want := []string{"Nnotice", "CSELECT 1\x00", "ZI", "I", "E", "ZE"}
		if rows {
			want = append([]string{"Tcolumns", "D" + strings.Repeat("v", 300)}, want...)
		}
		for size := 1; size <= len(stream); size++ {
			s, h := scanner{rows: rows}, &heard{}
			for at := 0; at < len(stream); at += size {
				if err := s.feed([]byte(stream[at:min(at+size, len(stream))]), h); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := strings.Join(h.log, "|"), strings.Join(want, "|"); got != want {
				t.Fatalf("pieces of %d, rows %v: %q, want %q", size, rows, got, want)
			}
			if s.skip != 0 || len(s.part) != 0 {
				t.Fatalf("pieces of %d: something is left: %+v", size, s)
			}
		}
	}
}

func TestScannerRefuses(t *testing.T) {
	for _, stream := range []string{
		"?\x00\x00\x00\x04", "Z\x00\x00\x00\x03", "D\xff\xff\xff\xff", "D\x7f\xff\xff\xff", "HTTP/1.1 400 Bad Request",
	} {
		if err := (&scanner{}).feed([]byte(stream), &heard{}); err == nil {
			t.Errorf("%q: no error", stream)
		}
		var s scanner
		var err error
		for i := range len(stream) {
			if err = s.feed([]byte(stream[i:i+1]), &heard{}); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%q byte by byte: no error", stream)
		}
	}
}

// FuzzScanner: however a stream is cut, the same messages come out, and the
// scanner never keeps more than it was given.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(msg('D', "abc")+msg('C', "SELECT 1\x00")+msg('Z', "I")), uint8(3), true)
	f.Add([]byte(msg('N', "abc")+"E\x00\x00\x00"), uint8(1), false)
	f.Fuzz(func(t *testing.T, stream []byte, size uint8, rows bool) {
		whole, pieces := &heard{}, &heard{}
		a, b := scanner{rows: rows}, scanner{rows: rows}
		errWhole := a.feed(stream, whole)
		var errPieces error
		for rest := stream; len(rest) > 0 && errPieces == nil; {
			n := min(len(rest), int(size)+1)
			errPieces = b.feed(rest[:n], pieces)
			rest = rest[n:]
		}
		if (errWhole == nil) != (errPieces == nil) || strings.Join(whole.log, "|") != strings.Join(pieces.log, "|") {
			t.Fatalf("whole %q %v, in pieces %q %v", whole.log, errWhole, pieces.log, errPieces)
		}
		if errWhole == nil && (a.skip != b.skip || !bytes.Equal(a.part, b.part)) {
			t.Fatalf("whole left %d %q, in pieces %d %q", a.skip, a.part, b.skip, b.part)
		}
		if len(b.part) > len(stream) {
			t.Fatalf("keeps %d of %d bytes", len(b.part), len(stream))
		}
	})
}

// FuzzBodies: no content of a message makes its reader panic.
func FuzzBodies(f *testing.F) {
	f.Add([]byte("\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x01id\x00" + strings.Repeat("\x00", fixed)))
	f.Add([]byte("SERROR\x00C22012\x00Mdivision by zero\x00P9\x00\x00"))
	f.Add([]byte("INSERT 0 5\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for i := -1; i < 4; i++ {
			if v, ok := Row(body).Value(i); ok && len(v) > len(body) {
				t.Fatalf("value %d is longer than its row", i)
			}
			if v, ok := Columns(body).Name(i); ok && len(v) > len(body) {
				t.Fatalf("name %d is longer than its message", i)
			}
		}
		var r Result
		r.completed(body)
		r.failed(body)
		if r.Err() == nil {
			t.Fatal("an ErrorResponse is no error")
		}
	})
}

func TestBodies(t *testing.T) {
	row := Row("\x00\x03\x00\x00\x00\x02ab\xff\xff\xff\xff\x00\x00\x00\x00")
	for i, want := range []string{"ab", "", ""} {
		v, ok := row.Value(i)
		if !ok || string(v) != want || (v == nil) != (i == 1) {
			t.Errorf("value %d: %q %v", i, v, ok)
		}
	}
	if _, ok := row.Value(3); ok {
		t.Error("there is a fourth value")
	}
	columns := Columns("\x00\x02id\x00" + strings.Repeat("x", fixed) + "name\x00" + strings.Repeat("y", fixed))
	for i, want := range []string{"id", "name"} {
		if v, ok := columns.Name(i); !ok || string(v) != want {
			t.Errorf("column %d: %q %v", i, v, ok)
		}
	}
	for tag, want := range map[string]int64{
		"INSERT 0 5\x00": 5, "SELECT 1200\x00": 1200, "CREATE TABLE\x00": 0, "BEGIN\x00": 0, "COPY 7\x00": 7, "": 0, "\x00": 0, "9\x00": 0,
	} {
		var r Result
		if r.completed([]byte(tag)); r.Affected != want || r.Commands != 1 {
			t.Errorf("tag %q: %d rows, %d commands", tag, r.Affected, r.Commands)
		}
	}
	var r Result
	r.failed([]byte("SERROR\x00VERROR\x00C22012\x00Mdivision by zero\x00P9\x00\x00"))
	if e := r.Err(); r.State.String() != "22012" || e.Code != "22012" || e.Message != "division by zero" || e.Position != 9 || e.Severity != "ERROR" {
		t.Errorf("%v %+v", r.State, e)
	}
}
