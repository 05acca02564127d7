package probes

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestRemainder(t *testing.T) {
	at := func(all, server float64) Value {
		p, c := pair(Batch{Probe: "x"}, Batch{Probe: "x", Readings: []Reading{{ID: PageTables, Value: all}, {ID: PageTableBackendsSum, Value: server}}})
		f := derive(p, c)
		return f.Get(PageTableOthers)
	}
	if v := at(5000, 4200); !v.OK() || v.V != 800 {
		t.Errorf("%+v, want 800 kB", v)
	}
	if v := at(4200, 4201); v.OK() || !strings.Contains(v.Missing, "another moment") {
		t.Errorf("a negative remainder is %+v", v)
	}
	p, c := pair(Batch{Probe: "x"}, Batch{Probe: "x", Readings: []Reading{{ID: PageTables, Value: 1}}})
	if f := derive(p, c); f.Get(PageTableOthers).OK() {
		t.Error("a remainder of nothing")
	}
}

func TestOtherProcessesAreNotTheServers(t *testing.T) {
	rows := []Backend{
		{Pid: 1, Role: RolePostmaster, Mem: &BackendMem{PageTables: 100}},
		{Pid: 2, Role: RoleOther, Mem: &BackendMem{PageTables: 7000}},
		{Pid: 3, Role: RoleClient, Mem: &BackendMem{PageTables: 30}},
		{Pid: 4, Role: RoleClient, Own: true, Mem: &BackendMem{PageTables: 5}},
	}
	readings, misses := backendSums(rows, nil)
	if len(misses) != 0 || readings[0].Value != 2 || readings[1].Value != 130 || readings[2].Value != 30 {
		t.Errorf("%+v, misses %+v", readings, misses)
	}
}

// watched makes frames a second apart with these levels of PageTables; the
// server's are all but others of it.
func watched(levels []float64, others, available float64) []Frame {
	out := make([]Frame, len(levels))
	for i, v := range levels {
		out[i] = Frame{T: time.Duration(i) * time.Second, Values: map[Key]Value{
			{ID: PageTables}: {V: v}, {ID: MemAvailable}: {V: available}, {ID: PageTableOthers}: {V: others}}}
	}
	return out
}

func series(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestForecastOfMemory(t *testing.T) {
	steady := func(i int) float64 { return 10_000 + 100*float64(i) }
	unknown, room := Value{Missing: "SQL only"}, Value{V: 1e9}
	for name, c := range map[string]struct {
		frames []Frame
		left   Value
		want   Value
	}{
		"steady":           {watched(series(61, steady), 50, 600_000), room, Value{V: 6000}},
		"not seen":         {watched(series(61, steady), 50, 600_000), unknown, Value{V: 6000}},
		"a ceiling":        {watched(series(61, steady), 50, 600_000), Value{V: 500_000}, Value{Missing: "at its ceiling before memory is gone"}},
		"level":            {watched(series(61, func(int) float64 { return 7 }), 50, 600_000), room, Value{Missing: "not growing"}},
		"one step":         {watched(series(61, func(i int) float64 { return float64(i / 30 * 5000) }), 50, 600_000), room, Value{Missing: "not growing steadily"}},
		"becoming slower":  {watched(series(61, func(i int) float64 { return 1e6 * (1 - math.Exp(-float64(i)/10)) }), 50, 600_000), room, Value{Missing: "not growing steadily"}},
		"shrinking":        {watched(series(61, func(i int) float64 { return 1e6 - 50*float64(i) }), 50, 600_000), room, Value{Missing: "not growing"}},
		"too short":        {watched(series(20, steady), 50, 600_000), room, Value{Missing: "needs 30 s of samples, there are 19 s"}},
		"slower than that": {watched(series(61, steady), 50, 1e12), Value{V: 1e13}, Value{Missing: "growing, but memory lasts for more than 100 min, which is too far ahead"}},
	} {
		// Before the source was opened there was no figure.
		c.frames = append([]Frame{{T: -5 * time.Second}, {T: -time.Second}}, c.frames...)
		if got := exhausted(c.frames, c.left); got.Missing != c.want.Missing || math.Abs(got.V-c.want.V) > 60 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// What was watched for longer may be said further ahead.
	slow := watched(series(3601, func(i int) float64 { return 10_000 + float64(i) }), 50, 100_000)
	if v := exhausted(slow, room); !v.OK() || math.Abs(v.V-100_000) > 1000 {
		t.Errorf("an hour of slow growth: %+v", v)
	}
	if v := exhausted(slow[len(slow)-1000:], room); v.OK() || !strings.Contains(v.Missing, "1000 min") {
		t.Errorf("ten minutes of slow growth: %+v", v)
	}
	// Another process's growth has no ceiling that is known.
	frames := watched(series(61, steady), 0, 600_000)
	for i := range frames {
		frames[i].Values[Key{ID: PageTableOthers}] = Value{V: 90 * float64(i)}
	}
	if v := exhausted(frames, Value{V: 10}); !v.OK() {
		t.Errorf("others grow: %+v", v)
	}
}

// TestForecastIsNotMadeFromNoise: neither noise around a level nor a level that
// wanders by chance may give a time in more than a few of 100 windows.
func TestForecastIsNotMadeFromNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	const windows = 2000
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		next func(level float64) float64
		most int
	}{
		"noise":  {func(float64) float64 { return 1000 * r.NormFloat64() }, windows / 100},
		"wander": {func(level float64) float64 { return level + 1000*r.NormFloat64() }, windows * 4 / 100},
		"comes and goes": {func(level float64) float64 {
			switch r.IntN(12) {
			case 0:
				return level + 500
			case 1:
				return level - 500
			}
			return level
		}, windows * 4 / 100},
	} {
		given := 0
		for range windows {
			level := 0.0
			levels := series(61, func(int) float64 { level = c.next(level); return 1e6 + level })
			if exhausted(watched(levels, 50, 1e6), Value{V: 1e9}).OK() {
				given++
			}
		}
		if given > c.most {
			t.Errorf("%s: a time in %d of %d windows", name, given, windows)
		}
		t.Logf("%s: %d of %d", name, given, windows)
	}
}

func row(pid int, role string, tables, private uint64) BackendRow {
	return BackendRow{Backend: Backend{Pid: pid, StartTicks: uint64(pid), Role: role, Mem: &BackendMem{PageTables: tables, Private: private}}}
}

func atTime(t time.Duration, rows ...BackendRow) Frame {
	return Frame{T: t, Backends: rows, Clients: ClientTables(rows)}
}

func TestForecastOfBackends(t *testing.T) {
	server := &ServerInfo{Version: "17.2", SharedMemoryKB: 4 << 20, MaxConnections: 200, HugePages: HugePages{PageKB: 4}}
	rows := func(grown uint64) []BackendRow {
		return []BackendRow{row(1, RolePostmaster, 300, 1000), row(2, RoleClient, 1000+grown, 4096), row(3, RoleClient, 2000+3*grown, 4096),
			row(4, RoleClient, 4000, 8192), {Backend: Backend{Pid: 9, Role: RoleClient, Own: true, Mem: &BackendMem{PageTables: 9e6}}}}
	}
	later := append(rows(60), row(5, RoleClient, 8000, 4096)) // came later
	frames := []Frame{atTime(0, rows(0)...), atTime(30*time.Second, later...)}
	// Only the newest frame keeps all rows.
	frames[0].Backends = nil
	f := ForecastPageTables(frames, server)
	if f.Backends != 3 || f.Window != 30*time.Second || !near(f.Growth.V, 2*(60.0+180+0)/3) {
		t.Errorf("growth %+v of %d over %v", f.Growth, f.Backends, f.Window)
	}
	each := PageTableCeilingKB(4<<20, 4, 4096)
	if !near(f.Ceiling.V, each) {
		t.Errorf("ceiling %+v, want %v", f.Ceiling, each)
	}
	if want := 300 + 200*(2180+4000)/2.0; !near(f.AtMaxNow.V, want) {
		t.Errorf("at max_connections %+v, want %v", f.AtMaxNow, want)
	}
	if want := PageTableCeilingKB(4<<20, 4, 1000) + 200*each; !near(f.AtMaxFull.V, want) {
		t.Errorf("at most %+v, want %v", f.AtMaxFull, want)
	}
	if f.Left.V <= 0 || f.Exhausted.OK() {
		t.Errorf("left %+v, exhausted %+v", f.Left, f.Exhausted)
	}
	// Of the first half of the window there are too few clients that are still there.
	earlier := atTime(-20*time.Second, row(2, RoleClient, 500, 4096))
	if g := ForecastPageTables(append([]Frame{earlier, {T: -10 * time.Second}}, frames...), server); g.Window != 30*time.Second || g.Growth.V != f.Growth.V {
		t.Errorf("%+v over %v", g.Growth, g.Window)
	}
	frames[1].T = 5 * time.Second
	if g := ForecastPageTables(frames, server); g.Growth.OK() || !strings.Contains(g.Growth.Missing, "10 s") {
		t.Errorf("after 5 s: %+v", g.Growth)
	}
}

func TestForecastSaysWhyNot(t *testing.T) {
	has := func(v Value, word string) {
		t.Helper()
		if v.OK() || !strings.Contains(v.Missing, word) {
			t.Errorf("%+v does not say %q", v, word)
		}
	}
	f := ForecastPageTables(nil, &ServerInfo{})
	has(f.Growth, "yet")
	has(f.Exhausted, "yet")
	old := &ServerInfo{Version: "13.22", VersionNum: 130022, MaxConnections: 100, HugePages: HugePages{PageKB: 4}}
	frames := []Frame{atTime(0, row(1, RoleClient, 10, 10)), atTime(40*time.Second, row(7, RoleClient, 10, 10))}
	f = ForecastPageTables(frames, old)
	has(f.Growth, "there are 0 s")
	has(f.Ceiling, "13.22")
	has(f.AtMaxFull, "13.22")
	if !f.AtMaxNow.OK() || f.AtMaxNow.V != 1000 {
		t.Errorf("%+v", f.AtMaxNow)
	}
	sqlOnly := []Frame{{Values: map[Key]Value{{ID: PageTables}: {V: 1}}, Backends: []BackendRow{{Backend: Backend{Pid: 1, Role: RoleClient}}},
		Misses: []Miss{{ID: PageTableBackendsSum, Reason: "SQL only: elsewhere"}}}}
	f = ForecastPageTables(sqlOnly, &ServerInfo{Version: "17.2", SharedMemoryKB: 1 << 20, HugePages: HugePages{PageKB: 4}})
	has(f.Left, "SQL only")
	has(f.AtMaxNow, "SQL only")
	f = ForecastPageTables([]Frame{atTime(0, row(1, RolePostmaster, 10, 10))}, &ServerInfo{Version: "17.2", SharedMemoryKB: 1 << 20, HugePages: HugePages{PageKB: 4}})
	has(f.Ceiling, "no client")
	if !f.Left.OK() {
		t.Errorf("left %+v", f.Left)
	}
}
