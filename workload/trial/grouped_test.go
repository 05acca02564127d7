package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine may have none

	"pgtlb/probes"
)

// ticking makes a recording sample by sample: a server that commits so many
// transactions per second as the hour says.
type ticking struct {
	from  time.Time
	every time.Duration
	n     int
	tps   func(at time.Time) int // of the interval that ends then
	skip  func(at time.Time) bool
	marks map[int]probes.MarkKind
	clock func(at time.Time) time.Time // what the wall clock shows
}

func (k ticking) run(name string) *Run {
	meta := publishedMeta("4kB", "off")
	meta.Name, meta.Kind, meta.Loads, meta.Created, meta.Interval = name, "watch", nil, k.from, k.every
	r := &Run{Meta: meta, End: &End{Reason: "finished"}}
	commits := 0
	for i := range k.n {
		at := k.from.Add(time.Duration(i) * k.every)
		if i > 0 {
			commits += k.tps(at) * int(k.every/time.Second)
		}
		if k.skip != nil && k.skip(at) {
			continue
		}
		s := probes.Sample{Seq: uint64(i), T: time.Duration(i) * k.every, At: at, Batches: []probes.Batch{
			{Probe: "database", Readings: []probes.Reading{{ID: probes.Commits, Value: float64(commits)}, {ID: probes.Rollbacks}}},
			{Probe: "meminfo", Readings: []probes.Reading{{ID: probes.MemAvailable, Value: float64(1000 * k.tps(at))}}},
		}}
		if k.clock != nil {
			s.At = k.clock(at)
		}
		if kind, ok := k.marks[i]; ok {
			s.Marks = []probes.Mark{{Kind: kind, Label: "point-select"}}
		}
		r.Samples = append(r.Samples, s)
	}
	return r
}

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	where, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// cutRun cuts a run that is held.
func cutRun(r *Run, by clockwork) cutting { return cut(slices.Values(Frames(r)), by) }

// lengths are the seconds of each piece by its key.
func lengths(pieces []piece) map[string]float64 {
	out := map[string]float64{}
	for _, p := range pieces {
		out[p.key] += p.summary.Seconds
	}
	return out
}

// A week and twenty minutes, from a Monday 13:50 to the next Monday 14:10. Each hour of
// the day has seven pieces, of which the figures are known.
func TestWeekIsCutIntoHours(t *testing.T) {
	where := place(t, "Europe/Berlin")
	from := time.Date(2026, 11, 23, 13, 50, 7, 0, where)
	tps := func(at time.Time) int { return 100 + 10*at.In(where).Hour() + int(at.In(where).Weekday()) }
	run := ticking{from: from.UTC(), every: 30 * time.Second, n: 2*60*(7*24) + 2*20, tps: tps}.run("week")
	g, err := grouped([]*Run{run}, new(hours(where)))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Arms) != 24 {
		t.Fatalf("groups %q", armNames(g.Arms))
	}
	for hour, arm := range g.Arms {
		if arm.Name != fmt.Sprintf("%02d:00", hour) || len(arm.Runs) != 7 {
			t.Fatalf("group %d is %s with %d pieces", hour, arm.Name, len(arm.Runs))
		}
		for _, r := range arm.Runs {
			at := r.Meta.Created.In(where)
			f := ArmOf(r).Summary
			if want := float64(100 + 10*hour + int(at.Weekday())); at.Hour() != hour || math.Abs(f.Get(probes.ServerTPS).Value-want) > 1e-9 || f.Get(probes.MemAvailable).Value != 1000*want {
				t.Errorf("%s has %v TPS, %v available, want %v", r.Meta.Name, f.Get(probes.ServerTPS), f.Get(probes.MemAvailable), want)
			}
			// The interval across the hour is in no piece.
			if f.Seconds != 3570 {
				t.Errorf("%s covers %v s", r.Meta.Name, f.Seconds)
			}
		}
	}
	if first := g.Arms[14].Runs[0].Meta.Name; first != "week Mon 2026-11-23 14:00" {
		t.Errorf("the first piece is called %s", first)
	}
	text := strings.Join(g.Warnings, "\n")
	for _, want := range []string{"the clock cut 1 recording into pieces", "no independent runs", "left out, since less than 15 min 0 s of the hour was recorded: week Mon 2026-11-23 13:00 (9 min 30 s), week Mon 2026-11-30 14:00 (9 min 30 s)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "only a part") {
		t.Errorf("whole hours count as parts:\n%s", text)
	}
	c, err := g.Compare(CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Primary && r.CandName == "14:00" })
	if row := c.Rows[at]; row.N != 7 || *row.Base.Center != 103 || *row.Cand.Center != 243 {
		t.Errorf("14:00 against 00:00: %+v", row)
	}
	if c.Warnings[0] != g.Warnings[0] || c.Arms[0].Runs != 7 {
		t.Errorf("warnings %q, arms %+v", c.Warnings, c.Arms[0])
	}

	days, err := grouped([]*Run{run}, new(weekdays(where)))
	if err != nil || !slices.Equal(armNames(days.Arms), []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}) {
		t.Fatalf("days %q, %v", armNames(days.Arms), err)
	}
	monday := days.Arms[0].Runs // its two pieces have ten and fourteen hours
	if len(monday) != 1 || monday[0].Meta.Name != "week Mon 2026-11-30" {
		t.Errorf("Monday has %d pieces", len(monday))
	}
	text = strings.Join(days.Warnings, "\n")
	if !strings.Contains(text, "less than 12 h 0 min of the day was recorded: week Mon 2026-11-23 (10 h 9 min)") || !strings.Contains(text, "only a part of their day: week Mon 2026-11-30 (14 h 9 min)") {
		t.Errorf("warnings of days:\n%s", text)
	}
}

// Where clocks are put back an hour comes twice, and where they are put forward one is
// not there.
func TestChangeOfClocks(t *testing.T) {
	where := place(t, "Europe/Berlin")
	one := func(time.Time) int { return 1 }
	for _, c := range []struct {
		from    time.Time
		hours   int
		seconds map[string]float64 // the change of clocks is on a Sunday
		day     float64
	}{
		{time.Date(2026, 10, 25, 0, 0, 0, 0, where), 25, map[string]float64{"01": 3600, "02": 7200, "03": 3600, "23": 3600}, 25 * 3600},
		{time.Date(2026, 3, 29, 0, 0, 0, 0, where), 23, map[string]float64{"01": 3600, "02": 0, "03": 3600, "23": 3600}, 23 * 3600},
	} {
		run := ticking{from: c.from.Add(-30 * time.Second), every: 30 * time.Second, n: c.hours*120 + 1, tps: one}.run("sunday")
		got := cutRun(run, hours(where))
		all := lengths(append(got.pieces, got.short...))
		for hour, want := range c.seconds {
			// Each hour but the first lacks its first interval.
			if s := all["Sun "+c.from.Format("2006-01-02")+" "+hour+":00"]; math.Abs(s-want) > 30 {
				t.Errorf("%s: the hour %s has %v s, want %v", c.from.Format(time.DateOnly), hour, s, want)
			}
		}
		if n := len(slices.DeleteFunc(slices.Clone(got.pieces), func(p piece) bool { return p.group != "02:00" })); n > 1 {
			t.Errorf("02:00 has %d pieces on one day", n)
		}
		days := lengths(cutRun(run, weekdays(where)).pieces)
		if len(days) != 1 || math.Abs(days["Sun "+c.from.Format("2006-01-02")]-c.day) > 60 {
			t.Errorf("days %v, want one of %v s", days, c.day)
		}
	}
}

func TestGapsAreInNoPiece(t *testing.T) {
	from := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	between := func(at time.Time, a, b string) bool { s := at.Format("15:04:05"); return s > a && s < b }
	run := ticking{from: from, every: 10 * time.Second, n: 6*360 + 1, tps: func(at time.Time) int { return at.Hour() },
		skip: func(at time.Time) bool {
			return between(at, "11:20:00", "11:50:00") || between(at, "12:30:00", "14:10:00")
		}}.run("holes")
	c := cutRun(run, hours(time.UTC))
	want := map[string]float64{"Mon 2026-11-30 10:00": 3590, "Mon 2026-11-30 11:00": 20*60 + 600 - 10, "Mon 2026-11-30 12:00": 30 * 60, "Mon 2026-11-30 14:00": 50*60 - 10, "Mon 2026-11-30 15:00": 3590}
	got := lengths(c.pieces)
	for k, s := range got {
		if math.Abs(s-want[k]) > 10 {
			t.Errorf("%s has %v s, want %v", k, s, want[k])
		}
	}
	if len(got) != len(want) || c.gaps != 130*time.Minute {
		t.Errorf("pieces %v, gaps %v", slices.Sorted(maps.Keys(got)), c.gaps)
	}
	for _, p := range c.pieces {
		if f := p.summary.Get(probes.ServerTPS); math.Abs(f.Value-float64(p.order)) > 1e-9 {
			t.Errorf("%s has %v TPS", p.key, f)
		}
	}
	g, err := grouped([]*Run{run}, new(hours(time.UTC)))
	if text := strings.Join(g.Warnings, "\n"); err != nil || !strings.Contains(text, "only a part of their hour: holes Mon 2026-11-30 11:00 (29 min 50 s)") ||
		!strings.Contains(text, "2 h 10 min between samples that are more than 2 min 0 s apart are in no piece: holes") {
		t.Errorf("%v, warnings:\n%s", err, text)
	}
}

// A clock that was wrong and is set back does not make an hour count twice.
func TestClockThatIsSetBack(t *testing.T) {
	from := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	run := ticking{from: from, every: 10 * time.Second, n: 4*360 + 1, tps: func(time.Time) int { return 1 },
		clock: func(at time.Time) time.Time {
			if at.Hour() > 12 || at.Hour() == 12 && at.Minute() >= 10 { // then it is 11:10 again
				return at.Add(-time.Hour)
			}
			return at
		}}.run("back")
	c := cutRun(run, hours(time.UTC))
	var keys []string
	for _, p := range c.pieces {
		keys = append(keys, p.group)
	}
	if !slices.Equal(keys, []string{"10:00", "11:00", "12:00"}) || c.back != 50*time.Minute || c.pieces[1].summary.Seconds > 3600 || c.gaps != 0 {
		t.Errorf("pieces %q, the second of %v s, set back %v", keys, c.pieces[1].summary.Seconds, c.back)
	}
	g, err := grouped([]*Run{run}, new(hours(time.UTC)))
	if text := strings.Join(g.Warnings, "\n"); err != nil || !strings.Contains(text, "50 min 0 s after the clock had been set back are in no piece: back") {
		t.Errorf("%v, warnings:\n%s", err, text)
	}
}

// Pieces are cut out of the load's window only.
func TestPiecesAreOfTheLoad(t *testing.T) {
	from := time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)
	at := func(h, m int) int { return ((h-13)*60 + m) * 6 }
	run := ticking{from: from, every: 10 * time.Second, n: 5 * 360, tps: func(at time.Time) int { return at.Hour() },
		marks: map[int]probes.MarkKind{at(13, 20): probes.LoadStarted, at(13, 30): probes.LoadWarmed, at(16, 40): probes.LoadStopped}}.run("load")
	got := lengths(cutRun(run, hours(time.UTC)).pieces)
	for key, want := range map[string]float64{"13:00": 1800, "14:00": 3600, "15:00": 3600, "16:00": 2400} {
		if s := got["Mon 2026-11-30 "+key]; math.Abs(s-want) > 10 {
			t.Errorf("%s has %v s, want %v", key, s, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("pieces %v", got)
	}
}

// A run that lies in one hour is one piece, with the figures that it has as a whole.
func TestRunWithinAnHourIsOnePiece(t *testing.T) {
	noStop, warm := published4kB(), published2MB()
	noStop.noStop = true
	for name, run := range map[string]*Run{"4kB": published4kB().run(), "2MB": warm.run(), "no end": noStop.run(), "watch": asking(false).run(),
		"no load": builder{meta: publishedMeta("4kB", "off"), seconds: 10, counters: map[string]float64{probes.Commits: 5, probes.Rollbacks: 1}, gauges: map[string]func(int) float64{probes.PageTables: grow(1, 90)}}.run()} {
		c := cutRun(run, hours(time.UTC))
		if len(c.pieces) != 1 || c.pieces[0].group != "13:00" {
			t.Fatalf("%s: %d pieces", name, len(c.pieces))
		}
		want := Summarize(Frames(run))
		if got := c.pieces[0].summary; got.Seconds != want.Seconds || !maps.Equal(got.Figures, want.Figures) {
			t.Errorf("%s: figures\n%v\nand as a whole\n%v", name, got.Figures, want.Figures)
		}
	}
	_, err := grouped([]*Run{published4kB().run()}, new(hours(time.UTC)))
	if err == nil || !strings.Contains(err.Error(), "all that was recorded is of 13:00") || !strings.Contains(err.Error(), "record -T 86400") {
		t.Errorf("a short recording: %v", err)
	}
	// Twenty minutes across an hour: neither side is long enough.
	across := ticking{from: time.Date(2026, 11, 30, 13, 50, 0, 0, time.UTC), every: time.Second, n: 1200, tps: func(time.Time) int { return 1 }}.run("across")
	_, err = grouped([]*Run{across}, new(hours(time.UTC)))
	if err == nil || !strings.Contains(err.Error(), "nothing is left to compare: left out, since less than 15 min 0 s of the hour was recorded: across Mon 2026-11-30 13:00 (9 min 59 s)") {
		t.Errorf("a recording with two short pieces: %v", err)
	}
}

// What is cut as it is read gives what is cut of a run that is held.
func TestRunsAreCutAsTheyAreRead(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	held := ticking{from: time.Date(2026, 11, 30, 10, 0, 5, 0, time.UTC), every: 10 * time.Second, n: 3 * 360, tps: func(at time.Time) int { return at.Hour() + at.Minute() }}.run("read")
	rec, err := Create(dir, held.Meta)
	if err != nil {
		t.Fatal(err)
	}
	for i := range held.Samples {
		if err := rec.Append(&held.Samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(*held.End); err != nil {
		t.Fatal(err)
	}
	read, err := s.Grouped([]string{"read"}, ByHour, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	want, err := grouped([]*Run{held}, new(hours(time.UTC)))
	if err != nil || !slices.Equal(armNames(read.Arms), armNames(want.Arms)) || !slices.Equal(read.Warnings, want.Warnings) {
		t.Fatalf("%v: %q and %q, %q and %q", err, armNames(read.Arms), armNames(want.Arms), read.Warnings, want.Warnings)
	}
	for i, a := range read.Arms {
		got, was := ArmOf(a.Runs[0]), ArmOf(want.Arms[i].Runs[0])
		if !maps.Equal(got.Summary.Figures, was.Summary.Figures) || len(a.Runs[0].Samples) > 0 {
			t.Errorf("%s: %v, held %v", a.Name, got.Summary.Figures, was.Summary.Figures)
		}
	}
	if _, err := s.Grouped([]string{"read"}, "moon", time.UTC); err == nil {
		t.Error("groups by the moon")
	}
}

// A minute across the hour is of the side that has more of it.
func TestShortRunAcrossAnHourCounts(t *testing.T) {
	run := ticking{from: time.Date(2026, 11, 30, 13, 59, 40, 0, time.UTC), every: time.Second, n: 61, tps: func(time.Time) int { return 1 }}.run("cron")
	c := cutRun(run, hours(time.UTC))
	if len(c.pieces) != 1 || len(c.short) != 1 || c.pieces[0].group != "14:00" || math.Abs(c.pieces[0].summary.Seconds-40) > 1.5 {
		t.Errorf("pieces %+v, short %+v", c.pieces, c.short)
	}
}

// A recording that begins under a load that stops, before another is started.
func TestLoadThatStopsBeforeOneStarts(t *testing.T) {
	from := time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)
	marks := map[int]probes.MarkKind{10: probes.LoadStopped, 20: probes.LoadStarted, 50: probes.LoadStopped}
	frames := Frames(ticking{from: from, every: time.Second, n: 61, tps: func(time.Time) int { return 1 }, marks: marks}.run("two"))
	from1, to, ok := LoadWindow(frames)
	if got := summarize(frames, from1, to).Seconds; !ok || got != 30 {
		t.Errorf("frames %d to %d, %v: %v s, want 30", from1, to, ok, got)
	}
	c := cut(slices.Values(frames), hours(time.UTC))
	if len(c.pieces) != 1 || c.pieces[0].summary.Seconds != 30 {
		t.Errorf("pieces %+v", c.pieces)
	}
	delete(marks, 20)
	delete(marks, 50)
	frames = Frames(ticking{from: from, every: time.Second, n: 61, tps: func(time.Time) int { return 1 }, marks: marks}.run("one"))
	if _, to, ok := LoadWindow(frames); ok || summarize(frames, 0, to).Seconds != cut(slices.Values(frames), hours(time.UTC)).pieces[0].summary.Seconds {
		t.Errorf("up to %d, %v", to, ok)
	}
}

// A run entered by hand is of the hour in which it was measured, not of that in which
// it was typed in.
func TestRunsByHandAreOfTheirHour(t *testing.T) {
	form := func(created string) *Run {
		r, err := ParseByHand([]byte(`{"name": "a` + created[11:13] + `", "scenario": "x", "clients": 1, "load_s": 1, "metrics": {"tps": 1}, "created": "` + created + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	undated, err := ParseByHand([]byte(`{"name": "undated", "scenario": "x", "clients": 1, "load_s": 1, "metrics": {"tps": 1}}`))
	if err != nil {
		t.Fatal(err)
	}
	g, err := grouped([]*Run{form("2025-03-01T12:30:00Z"), form("2025-03-01T03:30:00Z"), undated}, new(hours(time.UTC)))
	if err != nil || !slices.Equal(armNames(g.Arms), []string{"03:00", "12:00"}) || !strings.Contains(strings.Join(g.Warnings, "\n"), "nobody entered when they were measured (created): undated") {
		t.Errorf("%v, %q, %v", armNames(g.Arms), g.Warnings, err)
	}
}
