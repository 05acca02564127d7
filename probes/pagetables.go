package probes

import (
	"cmp"
	"fmt"
	"sort"
	"time"
)

// remainder makes what is left of PageTables without the server's.
func (m *maker) remainder() {
	f := m.frame
	all, okAll := f.Values[Key{PageTables, ""}]
	server, okServer := f.Values[Key{PageTableBackendsSum, ""}]
	if !okAll || !okServer {
		return // the misses of these say why
	}
	v := Value{V: all.V - server.V}
	if v.V < 0 {
		// Also where processes share tables, as with huge pages: VmPTE counts them
		// for each of them, PageTables once.
		v = Value{Missing: "the server's page tables, read at another moment, add up to more than PageTables"}
	}
	f.Values[Key{PageTableOthers, ""}] = v
}

// PageTableForecast is where the page tables of a server and the machine go, by
// the newest frames. Sizes are in kB.
type PageTableForecast struct {
	// Window is the measured time that the growth is from: the last minute, or
	// less where the clients have not been there that long.
	Window time.Duration
	// Backends is how many client backends were there for the whole window.
	Backends int
	// Growth of one of those, the mean, in kB per minute.
	Growth Value
	// Ceiling is the most that the page table of one client backend takes,
	// computed: all shared memory touched, and private memory as the median of
	// the client backends has now.
	Ceiling Value
	// Left is how much the page tables of the processes that are there now can
	// still grow until each has reached its ceiling.
	Left Value
	// AtMaxNow is what the server's page tables take with max_connections client
	// backends like the median one now; AtMaxFull with all of them at their ceiling.
	AtMaxNow, AtMaxFull Value
	// Exhausted is in how many seconds MemAvailable is gone if PageTables go on
	// growing as they do. It is missing, with the reason, unless they grow
	// steadily and reach no ceiling before.
	Exhausted Value
}

// The rule of the forecast. A window is cut into parts of equal length, and the
// median level of each part counts: one process that comes or goes makes a step
// in one place, noise goes up and down. Growth is steady where every part is
// above the one before, none by less than a quarter of the mean rise. Levels that
// only wander pass in 1 of 32 cases by their direction alone, and in fewer by
// their evenness.
const (
	forecastWindow  = time.Minute
	forecastLeast   = 30 * time.Second // for the time that is left
	growthLeast     = 10 * time.Second // for the growth of backends
	forecastParts   = 6
	forecastEven    = 0.25
	forecastHorizon = 30 * 24 * time.Hour
)

// ForecastPageTables looks at the last minute of the frames, oldest first.
func ForecastPageTables(frames []Frame, server *ServerInfo) PageTableForecast {
	frames = lastMinute(frames)
	if len(frames) == 0 {
		why := Value{Missing: "nothing is measured yet"}
		return PageTableForecast{Growth: why, Ceiling: why, Left: why, AtMaxNow: why, AtMaxFull: why, Exhausted: why}
	}
	var f PageTableForecast
	f.grown(frames)
	f.size(&frames[len(frames)-1], server)
	f.Exhausted = exhausted(frames, f.Left)
	return f
}

// lastMinute are the frames of the last minute; the newest is one whose
// processes could be read, if there is one.
func lastMinute(frames []Frame) []Frame {
	to := len(frames)
	for to > 0 && len(frames[to-1].Backends) == 0 && !frames[to-1].Get(PageTables).OK() {
		to--
	}
	from := to
	for from > 0 && frames[to-1].T-frames[from-1].T <= forecastWindow {
		from--
	}
	return frames[from:to]
}

// grown takes the growth of client backends over the longest part of the frames,
// up to the newest, that at least half of the present ones were there for.
func (f *PageTableForecast) grown(frames []Frame) {
	last := &frames[len(frames)-1]
	var before []*Frame // those whose processes were read
	for i := range frames {
		if len(frames[i].Backends) > 0 {
			before = append(before, &frames[i])
		}
	}
	now := map[ident]uint64{}
	for i := range last.Backends {
		if b := &last.Backends[i]; b.client() {
			now[ident{b.Pid, b.StartTicks}] = b.Mem.PageTables
		}
	}
	if len(now) == 0 {
		f.Growth.Missing = cmp.Or(last.Get(PageTableBackendsSum).Missing, "no client is connected")
		return
	}
	// A backend that is there now is in every frame since it began, so that later
	// frames have more of them, and the newest all.
	i := sort.Search(len(before), func(i int) bool {
		_, n := clientGrowth(before[i], now)
		return 2*n >= len(now)
	})
	f.Window = last.T - before[i].T
	if f.Window < growthLeast {
		f.Growth.Missing = fmt.Sprintf("needs %d s of samples with the same clients, there are %.0f s", int(growthLeast.Seconds()), f.Window.Seconds())
		return
	}
	sum, n := clientGrowth(before[i], now)
	f.Backends = n
	f.Growth = Value{V: sum / float64(n) / f.Window.Minutes()}
}

// clientGrowth is by how much the page tables of backends, in kB, grew together
// since a frame that has them, and how many it has.
func clientGrowth(since *Frame, now map[ident]uint64) (kB float64, n int) {
	for i := range since.Backends {
		b := &since.Backends[i]
		if b.Mem == nil {
			continue
		}
		if is, there := now[ident{b.Pid, b.StartTicks}]; there {
			kB += float64(is) - float64(b.Mem.PageTables)
			n++
		}
	}
	return kB, n
}

// client tells whether a row is a client backend of the server with figures.
func (b *Backend) client() bool { return b.Role == RoleClient && b.Counts() && b.Mem != nil }

// size computes ceilings and totals from the newest frame.
func (f *PageTableForecast) size(last *Frame, server *ServerInfo) {
	var tables, private []float64
	others, othersFull, left := 0.0, 0.0, 0.0
	ceiling := func(privateKB uint64) float64 {
		return PageTableCeilingKB(server.SharedMemoryKB, server.HugePages.PageKB, privateKB)
	}
	for i := range last.Backends {
		b := &last.Backends[i]
		if !b.Counts() || b.Mem == nil {
			continue
		}
		left += max(0, ceiling(b.Mem.Private)-float64(b.Mem.PageTables))
		if b.client() {
			tables, private = append(tables, float64(b.Mem.PageTables)), append(private, float64(b.Mem.Private))
			continue
		}
		others += float64(b.Mem.PageTables)
		othersFull += max(float64(b.Mem.PageTables), ceiling(b.Mem.Private))
	}
	each, median := 0.0, 0.0
	noProcess, noClient, noCeiling, noMax := "", "", "", ""
	if len(tables) > 0 {
		each, median = ceiling(uint64(Median(private))), Median(tables)
	} else {
		noClient = "no client is connected"
	}
	if others == 0 && len(tables) == 0 {
		noProcess = cmp.Or(last.Get(PageTableBackendsSum).Missing, "no process of the server was read")
	}
	if noCeiling = unknownShared(server); noCeiling == "" && server.HugePages.PageKB == 0 {
		noCeiling = "the size of its pages is not known: " + server.HugePages.Proof
	}
	if server.MaxConnections == 0 {
		noMax = "max_connections is not known"
	}
	most := float64(server.MaxConnections)
	f.Left = Value{V: left, Missing: cmp.Or(noProcess, noCeiling)}
	f.Ceiling = Value{V: each, Missing: cmp.Or(noProcess, noCeiling, noClient)}
	f.AtMaxNow = Value{V: others + most*median, Missing: cmp.Or(noProcess, noClient, noMax)}
	f.AtMaxFull = Value{V: othersFull + most*each, Missing: cmp.Or(noProcess, noCeiling, noClient, noMax)}
}

// unknownShared is why the size of the shared memory is not known; empty where it
// is.
func unknownShared(server *ServerInfo) string {
	switch {
	case server.SharedMemoryKB > 0:
		return ""
	case server.VersionNum >= 150000:
		return "the server does not tell the size of its shared memory"
	}
	return "the size of the shared memory is not known: shared_memory_size needs PostgreSQL 15, this is " + server.Version
}

// exhausted is when the available memory is gone.
func exhausted(frames []Frame, left Value) Value {
	slope, why := steadyGrowth(frames, PageTables)
	if why != "" {
		return Value{Missing: why}
	}
	available := frames[len(frames)-1].Get(MemAvailable)
	if !available.OK() {
		return Value{Missing: available.Missing}
	}
	// What the server can still add is bounded; what other processes add is not.
	if _, others := steadyGrowth(frames, PageTableOthers); others != "" && left.OK() && left.V < available.V {
		return Value{Missing: "at its ceiling before memory is gone"}
	}
	v := Value{V: available.V / slope}
	if v.V > forecastHorizon.Seconds() {
		return Value{Missing: fmt.Sprintf("growing too slowly: memory lasts for more than %d days", int(forecastHorizon.Hours()/24))}
	}
	return v
}

// steadyGrowth is the growth of a gauge in kB per second, or why there is none
// that one may count on.
func steadyGrowth(frames []Frame, id string) (float64, string) {
	var at []time.Duration
	var level []float64
	why := "not measured"
	for i := range frames {
		v := frames[i].Get(id)
		if !v.OK() {
			why = v.Missing
			continue
		}
		at, level = append(at, frames[i].T), append(level, v.V)
	}
	if len(at) == 0 {
		return 0, why
	}
	window := at[len(at)-1] - at[0]
	if window < forecastLeast {
		return 0, fmt.Sprintf("needs %d s of samples, there are %.0f s", int(forecastLeast.Seconds()), window.Seconds())
	}
	parts := make([][]float64, forecastParts)
	for i := range at {
		part := min(forecastParts-1, int(forecastParts*(at[i]-at[0])/window))
		parts[part] = append(parts[part], level[i])
	}
	levels := make([]float64, forecastParts)
	for i, p := range parts {
		if len(p) < 2 {
			return 0, "too few samples"
		}
		levels[i] = Median(p)
	}
	mean := (levels[forecastParts-1] - levels[0]) / (forecastParts - 1)
	if mean <= 0 {
		return 0, "not growing"
	}
	for i := 1; i < forecastParts; i++ {
		if levels[i]-levels[i-1] < forecastEven*mean {
			return 0, "not growing steadily"
		}
	}
	return mean / (window.Seconds() / forecastParts), ""
}
