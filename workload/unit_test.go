package workload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/wire"
)

// decode splits a binary COPY stream into rows of values.
func decode(t *testing.T, stream []byte) [][][]byte {
	t.Helper()
	rest, ok := bytes.CutPrefix(stream, append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...))
	if !ok {
		t.Fatal("no COPY header")
	}
	var rows [][][]byte
	for {
		n := int16(binary.BigEndian.Uint16(rest))
		if rest = rest[2:]; n == -1 {
			break
		}
		row := make([][]byte, n)
		for i := range row {
			size := binary.BigEndian.Uint32(rest)
			row[i], rest = rest[4:4+size], rest[4+size:]
		}
		rows = append(rows, row)
	}
	if len(rest) > 0 {
		t.Fatalf("%d bytes after the trailer", len(rest))
	}
	return rows
}

func readAllOf(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDataRowsDependOnSeedAndIDOnly(t *testing.T) {
	var made atomic.Int64
	whole := decode(t, readAllOf(t, dataRows(3, 1, 1500, &made)))
	if len(whole) != 1500 || made.Load() != 1500 {
		t.Fatalf("%d rows, %d counted", len(whole), made.Load())
	}
	parts := append(decode(t, readAllOf(t, dataRows(3, 1, 700, &made))), decode(t, readAllOf(t, dataRows(3, 701, 1500, &made)))...)
	for i, row := range whole {
		for c, v := range row {
			if !bytes.Equal(v, parts[i][c]) {
				t.Fatalf("row %d column %d differs when loaded in parts", i+1, c)
			}
			got := binary.BigEndian.Uint64(v)
			want := uint64(i + 1)
			if c > 0 {
				want = value(3, int64(i+1), uint64(c))
			}
			if got != want || got>>63 != 0 {
				t.Fatalf("row %d column %d is %d, want %d", i+1, c, got, want)
			}
		}
	}
	if value(3, 1, 1) == value(4, 1, 1) || value(3, 1, 1) == value(3, 2, 1) || value(3, 1, 1) == value(3, 1, 2) {
		t.Error("values repeat over seeds, ids or columns")
	}
}

// The content of definition 1 never changes: raise definition with it.
func TestDefinitionIsPinned(t *testing.T) {
	const want = "70ad257a3efd5a10"
	if got := (Dataset{Rows: 1_000_000, Seed: 1}).expected(); definition != 1 || got != want {
		t.Errorf("definition %d has fingerprint %s, want 1 and %s", definition, got, want)
	}
}

func TestCopySourceInSmallReads(t *testing.T) {
	var made atomic.Int64
	if err := iotest.TestReader(dataRows(1, 1, 600, &made), readAllOf(t, dataRows(1, 1, 600, &made))); err != nil {
		t.Error(err)
	}
	rows := decode(t, readAllOf(t, categoryRows()))
	if len(rows) != Categories || string(rows[Categories-1][1]) != "category 100000" || string(rows[0][1]) != "category 1" {
		t.Errorf("%d categories, the last %s", len(rows), rows[len(rows)-1][1])
	}
}

func TestSampleIDs(t *testing.T) {
	for _, rows := range []int64{1, 2, 3, 999, 1000, 1001, 1999, 2000, 123_456_789_012} {
		ids := Dataset{Rows: rows}.sampleIDs()
		if ids[0] != 1 || ids[len(ids)-1] != rows || !slices.IsSorted(ids) || len(ids) > samples+1 || int64(len(ids)) < min(rows, samples) {
			t.Errorf("%d rows: %d ids from %d to %d", rows, len(ids), ids[0], ids[len(ids)-1])
		}
	}
	if ids := (Dataset{}).sampleIDs(); len(ids) != 0 {
		t.Errorf("no rows: ids %v", ids)
	}
}

func TestMarkIsReadBack(t *testing.T) {
	want := mark{definition: 3, seed: -12, rows: 1_000_000, fingerprint: "00ff"}
	if got, err := parseMark(want.String()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, s := range []string{"", "a table of mine", unfinishedMark, "pgtlb dataset: definition x"} {
		if _, err := parseMark(s); err == nil {
			t.Errorf("%q is taken for a mark", s)
		}
	}
}

func TestResolve(t *testing.T) {
	s := PointSelect()
	v, err := s.Resolve(nil)
	if err != nil || v["rows"] != DefaultRows || v["data_seed"] != 1 {
		t.Errorf("%v, %v", v, err)
	}
	for _, c := range []struct {
		s    Scenario
		v    Values
		want string
	}{
		{s, Values{"rows": 0}, "rows must be at least 1"},
		{JoinAggregate(), Values{"rows": 100}, "rows must be at least 101"},
		{s, Values{"rows": 1 << 62}, "rows must be at most 1000000000000"},
		{s, Values{"row": 1}, `point-select has no parameter "row"; it has rows, data_seed`},
		{Scenario{Name: "x"}, Values{"row": 1}, `x has no parameter "row"; it has none`},
	} {
		if _, err := c.s.Resolve(c.v); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c.v, err, c.want)
		}
	}
}

func TestEveryScenarioIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range List() {
		if s.Name == "" || names[s.Name] || s.Version < 1 || s.Summary == "" || s.Shows == "" || s.Clients < 1 || s.Work == nil {
			t.Errorf("scenario %q lacks something", s.Name)
		}
		names[s.Name] = true
		if got, err := Find(s.Name); err != nil || got.Name != s.Name {
			t.Errorf("finding %s gives %s, %v", s.Name, got.Name, err)
		}
		v, err := s.Resolve(nil)
		if err != nil {
			t.Errorf("the defaults of %s: %v", s.Name, err)
		}
		if _, err := newLoading(t.Context(), Load{Scenario: s, Values: v, Clients: 1}, NewMeter("x")); err != nil {
			t.Errorf("the scripts of %s: %v", s.Name, err)
		}
	}
	if _, err := Find("point"); err == nil || !strings.Contains(err.Error(), `no scenario "point"; there are point-select, join-aggregate`) {
		t.Errorf("error %v", err)
	}
}

func TestSizeLine(t *testing.T) {
	s := DataSize{Rows: 1_000_000, TableBytes: 120 << 20, IndexBytes: 21 << 20, SharedBuffers: 2 << 30}
	if got, want := s.String(), "1,000,000 rows: 0.12 GB table + 0.02 GB index, fits shared_buffers 2 GB"; got != want {
		t.Errorf("%s", got)
	}
	s.SharedBuffers = 128 << 20
	if got, want := s.String(), "1,000,000 rows: 0.12 GB table + 0.02 GB index, does not fit shared_buffers 0.12 GB"; got != want {
		t.Errorf("%s", got)
	}
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", -1234: "-1,234", -123: "-123", 123456789: "123,456,789"} {
		if got := count(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}

// Recording goes on while the meter is read, and nothing is lost or counted twice.
func TestMeterLosesNothing(t *testing.T) {
	const threads, each = 4, 40_000
	m := NewMeter("x")
	var wg sync.WaitGroup
	for c := range threads {
		r := m.recorder(c)
		wg.Go(func() {
			for i := range each {
				r.Done(c, time.Duration(i)*time.Microsecond, 0)
				if i%100 == 0 {
					r.Failed(c, serializationFailure)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	var hists []*probes.Histogram
	var seen int64
	read := func() (transactions, failed float64) {
		b, err := m.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Readings {
			if r.Label != "x" {
				t.Fatalf("label %q", r.Label)
			}
			if r.ID == probes.Latency {
				hists = append(hists, r.Hist)
				seen += r.Hist.Count()
			}
		}
		return b.Readings[0].Value, b.Readings[1].Value
	}
	for done := false; !done; {
		select {
		case <-over:
			done = true
		default:
		}
		if n, _ := read(); int64(n) != seen {
			t.Fatalf("%v transactions, %d latencies", n, seen)
		}
	}
	n, failed := read()
	if n != threads*each || seen != threads*each || failed != threads*each/100 {
		t.Errorf("%v transactions, %d latencies, %v failed", n, seen, failed)
	}
	var sum int64
	for _, h := range hists {
		sum += h.Count() // published ones have not changed since
	}
	var res Result
	m.tally(&res)
	if sum != threads*each || res.Transactions != threads*each || res.Latency.Count() != threads*each || res.Latency.MaxMS() != 39.999 ||
		res.Failed != threads*each/100 || res.FailedBy["40001"] != res.Failed {
		t.Errorf("sum %d, result %+v", sum, res)
	}
}

func TestMeterReadsBeforeTheLoad(t *testing.T) {
	m := NewMeter("x")
	b, err := m.Read(t.Context())
	if err != nil || len(b.Readings) != 2 || b.Readings[0].Value != 0 || m.Name() != "load:x" || b.Probe != m.Name() {
		t.Errorf("%+v, %v", b, err)
	}
	known := map[string]bool{}
	for _, metric := range m.Metrics() {
		known[metric.ID] = metric.Scope != "70ad257a3efd5a10"
	}
	for _, r := range b.Readings {
		if !known[r.ID] {
			t.Errorf("reading %s is not described", r.ID)
		}
	}
}

func TestStormNeedsOneReasonInARow(t *testing.T) {
	state := func(code string) wire.State { return wire.State([]byte(code)) }
	c := &task{}
	for range 3 * stormLength {
		if e := c.storm(state("40001"), errors.New("again")); e != nil {
			t.Fatal("serialization failures end the load")
		}
	}
	for i := range 3 * stormLength {
		if e := c.storm(state([]string{"22012", "23505"}[i%2]), errors.New("no")); e != nil {
			t.Fatal("changing failures end the load")
		}
	}
	c = &task{}
	for i := 1; ; i++ {
		if e := c.storm(state("42P01"), errors.New("no")); e != nil {
			if i != stormLength {
				t.Errorf("the storm ends after %d", i)
			}
			break
		}
	}
}

func TestRunRefusesNonsense(t *testing.T) {
	r := NewRunner(NewMeter("x"))
	if _, err := r.Run(t.Context(), Load{Scenario: PointSelect()}); err == nil || !strings.Contains(err.Error(), "clients must be at least 1") {
		t.Errorf("error %v", err)
	}
	if _, err := r.Run(t.Context(), Load{Scenario: PointSelect(), Clients: 1, Values: Values{"rows": -1}}); err == nil {
		t.Error("no error for rows -1")
	}
	if err := (Dataset{}).Setup(t.Context(), nil, nil); err == nil || err.Error() != "rows must be at least 1" {
		t.Errorf("error %v", err)
	}
}

func TestInParallelWaitsAndStops(t *testing.T) {
	var calls atomic.Int64
	oops := errors.New("oops")
	err := inParallel(10_000, func(i int) error {
		calls.Add(1)
		if i == 5 {
			return oops
		}
		time.Sleep(time.Millisecond)
		return nil
	})
	if !errors.Is(err, oops) || calls.Load() > 1000 {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
	if err := inParallel(0, nil); err != nil {
		t.Error(err)
	}
}
