package trial

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
)

// asJSON is what a sample says, whatever it is kept as.
func asJSON(t testing.TB, s *probes.Sample) string {
	t.Helper()
	text, err := json.Marshal(withoutQueries(s))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rerecord writes samples as a new run and reads them back. Lines says how many
// samples were written in full.
func rerecord(t testing.TB, meta Meta, samples []probes.Sample) (run *Run, full int) {
	t.Helper()
	r, err := Create(t.TempDir(), meta)
	if err != nil {
		t.Fatal(err)
	}
	for i := range samples {
		if err := r.Append(&samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(End{Reason: "finished"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			t.Errorf("a line is no JSON: %.200s", line)
		}
	}
	if run, err = Read(r.Path()); err != nil {
		t.Fatal(err)
	}
	if gaps := run.Gaps(); len(gaps) > 0 {
		t.Errorf("the run has gaps: %q", gaps)
	}
	return run, bytes.Count(text, []byte("\n"+`{"sample":`))
}

func sameSamples(t *testing.T, got, want []probes.Sample) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d samples read back, %d written", len(got), len(want))
	}
	for i := range want {
		if g, w := asJSON(t, &got[i]), asJSON(t, &want[i]); g != w {
			t.Fatalf("sample %d reads back as\n%s\nand was\n%s", i, g, w)
		}
	}
}

func TestSamplesReadBackExactly(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	s := newSynthetic(20)
	var samples []probes.Sample
	for range 150 {
		samples = append(samples, s.next())
	}
	run, full := rerecord(t, Meta{Name: "x"}, samples)
	sameSamples(t, run.Samples, samples)
	if full != 3 {
		t.Errorf("%d of %d samples are in full, want one in %d", full, len(samples), wholeEvery)
	}
}

// Recordings of real servers, made in the form of schema 1.
func TestRecordingsReadBackExactly(t *testing.T) {
	files, err := filepath.Glob("../../cmd/pgtlb/testdata/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, f := range append(files, "testdata/schema1.ndjson") {
		run, err := Read(f)
		if err != nil || run.Meta.Schema != 1 {
			t.Fatalf("%s: %v, schema %d", f, err, run.Meta.Schema)
		}
		again, _ := rerecord(t, run.Meta, run.Samples)
		sameSamples(t, again.Samples, run.Samples)
	}
}

func TestSchema1IsReadAndListed(t *testing.T) {
	run, err := Read("testdata/schema1.ndjson")
	if err != nil || len(run.Samples) != 3 || run.End == nil || len(run.Gaps()) > 0 {
		t.Fatalf("%v, %d samples, end %v, gaps %q", err, len(run.Samples), run.End, run.Gaps())
	}
	info := Info("testdata/schema1.ndjson")
	if info.Problem != "" || !info.Complete || info.Seconds < 0.1 || info.TPS < 10 || info.Scenario != "point-select" {
		t.Errorf("listed as %+v", info)
	}
}

// Values that are no small whole numbers, lists that change, and what wraps around.
func TestOddSamplesReadBackExactly(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 59, 59, 7, time.FixedZone("", 3600))
	reading := func(v float64) []probes.Reading { return []probes.Reading{{ID: probes.MemTotal, Value: v}} }
	var samples []probes.Sample
	add := func(b ...probes.Batch) {
		n := len(samples)
		samples = append(samples, probes.Sample{Seq: uint64(n * n), At: at.Add(time.Duration(n) * time.Second),
			T: time.Duration(n) * 999_999_999, OwnCPU: time.Duration(-n), Batches: append([]probes.Batch{}, b...)})
	}
	for _, v := range []float64{0, 1, 1, 0.1, 0.1, 12, 1.5e300, 1 << 53, 1<<53 + 2, -3, math.Copysign(0, -1), 0, 1e21, 100000000000000000000, math.SmallestNonzeroFloat64, 3} {
		add(probes.Batch{Probe: "a", Offset: -1, Readings: reading(v)})
	}
	add()
	add(probes.Batch{Probe: "a", Misses: []probes.Miss{{ID: "x", Reason: `its "read" is late]}`}}})
	add(probes.Batch{Probe: "b"}, probes.Batch{Probe: "a", Readings: reading(1)})
	part := func(v, e, r uint64) probes.Batch {
		return probes.Batch{Probe: "perf", Readings: []probes.Reading{{ID: probes.Cycles, Parts: []probes.Part{{v, e, r}, {1, 2, 3}}},
			{ID: probes.Instructions, Parts: []probes.Part{{v, e, r}}}}}
	}
	add(part(math.MaxUint64, 5, 3))
	add(part(0, math.MaxUint64, 0))
	add(part(7, 0, math.MaxUint64))
	backend := func(pid int, state string, kB uint64) probes.Backend {
		return probes.Backend{Pid: pid, StartTicks: 9, Role: "client", State: state, Started: at,
			Mem: &probes.BackendMem{PageTables: kB}, Use: &probes.BackendUse{User: kB}}
	}
	lists := func(b ...probes.Backend) { add(probes.Batch{Probe: "backends", Backends: b}) }
	a, b, c := backend(1, "idle", 8), backend(2, `it is ",[{`, 4), backend(3, "", 0)
	lists(a, b, c)
	lists(a, b, c)
	lists(a, c)
	lists(c, a)
	lists(b, c, a)
	add(probes.Batch{Probe: "backends", Misses: []probes.Miss{{ID: probes.Backends, Reason: "late"}}})
	blind, other := a, a
	blind.Mem, other.Role = nil, "walsender"
	lists(b, c, blind)
	lists(b, other, blind)
	lists(a, a, a)
	lists()
	lists(backend(1, "active", 0), b)
	samples[len(samples)-1].At = samples[len(samples)-1].At.In(time.FixedZone("", 7200)) // summer time begins
	lists(a)
	run, _ := rerecord(t, Meta{Name: "x"}, samples)
	sameSamples(t, run.Samples, samples)
}

func TestWhatIsNoNumberIsNotWritten(t *testing.T) {
	r, err := Create(t.TempDir(), Meta{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []float64{1, math.NaN(), 3, math.Inf(1), 5} {
		err := r.Append(&probes.Sample{Seq: uint64(i), T: time.Duration(i), Batches: []probes.Batch{{Probe: "a", Readings: []probes.Reading{{ID: "x", Value: v}}}}})
		if (err != nil) != (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("%v: %v", v, err)
		}
	}
	if err := r.Close(End{}); err != nil {
		t.Fatal(err)
	}
	run, err := Read(r.Path())
	if err != nil || len(run.Samples) != 3 || len(run.Gaps()) > 0 || run.Samples[2].Batches[0].Readings[0].Value != 5 {
		t.Errorf("%v, %+v", err, run)
	}
}

// fill sets every field that there is to something, so that one that is new and
// that the short form does not know of is seen.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*probes.Histogram]() {
			h := probes.NewHistogram()
			h.Record(time.Duration(*n) * time.Millisecond)
			v.Set(reflect.ValueOf(h))
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 5).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString("text" + strings.Repeat("x", *n%7))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("a kind of field that the test does not know: " + v.Kind().String())
	}
}

// Each field in turn changes from one sample to the next and must come through.
func TestEveryFieldComesThrough(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	var whole probes.Sample
	n := 0
	fill(reflect.ValueOf(&whole).Elem(), &n)
	for i := range whole.Batches {
		whole.Batches[i].Backends[0].Pid++
	}
	clone := func() probes.Sample { // by JSON, so that nothing is shared
		var c probes.Sample
		if err := json.Unmarshal([]byte(asJSON(t, &whole)), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	samples := []probes.Sample{clone()}
	change := func(what func(s *probes.Sample) reflect.Value) {
		fields := what(new(clone())).NumField()
		for i := range fields {
			s := clone()
			s.Seq, s.T = samples[len(samples)-1].Seq+1, samples[len(samples)-1].T+time.Second
			f := what(&s).Field(i)
			if f.Type() != reflect.TypeFor[time.Duration]() || f.Int() != int64(s.T) { // T must grow
				old := f.Interface()
				m := 1000 + len(samples)
				if fill(f, &m); f.Kind() == reflect.Bool {
					f.SetBool(!old.(bool))
				}
			}
			samples = append(samples, s, clone())
			last := &samples[len(samples)-1]
			last.Seq, last.T = s.Seq+1, s.T+time.Second
		}
	}
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(&s.Batches[0]).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(&s.Batches[0].Readings[0]).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(&s.Batches[0].Misses[0]).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(&s.Batches[0].Backends[1]).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(s.Batches[0].Backends[1].Mem).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(s.Batches[0].Backends[1].Use).Elem() })
	change(func(s *probes.Sample) reflect.Value { return reflect.ValueOf(&s.Marks[0]).Elem() })
	run, _ := rerecord(t, Meta{Name: "x"}, samples)
	sameSamples(t, run.Samples, samples)
	if got := reflect.TypeFor[probes.Sample]().NumField(); got != 6 {
		t.Errorf("a sample has %d fields; delta.go knows of 6", got)
	}
}

// FuzzDelta: no line makes the reader fail or read more than is there.
func FuzzDelta(f *testing.F) {
	s := newSynthetic(3)
	first, second := s.next(), s.next()
	third := s.next()
	third.Batches[7].Backends = third.Batches[7].Backends[1:]
	c := &chain{}
	c.add(&first, true)
	for _, next := range []*probes.Sample{&second, &third} {
		text, err := appendDelta(nil, c, next)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"delta":[1,1,1,1,1,[[0,0,[0]]],[]]}`))
	f.Add([]byte(`{"delta":[1,1,1,1,1,[{}],[{"kind":"x"}]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !bytes.HasPrefix(text, []byte(deltaStart)) {
			return
		}
		d := &deltaReader{c: c}
		got, err := readDelta(d, text)
		if err != nil {
			return
		}
		// What was read can be written and read again.
		again, err := appendDelta(nil, c, got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := readDelta(d, again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if a, b := asJSON(t, got), asJSON(t, back); a != b {
			t.Errorf("written again:\n%s\n%s", a, b)
		}
	})
}
