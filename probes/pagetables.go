package probes

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
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
	ClientGrowth
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

// GrowthWindow is the time that the growth of backends is taken over.
const GrowthWindow = time.Minute

// ClientGrowth is how fast the page tables of client backends grow.
type ClientGrowth struct {
	// Window is the measured time that the growth is from: the last minute, or
	// less where the clients have not been there that long.
	Window time.Duration
	// Backends is how many client backends were there for the whole window.
	Backends int
	// Growth of one of those, the mean, in kB per minute.
	Growth Value
}

// The rule of the forecast. A window is cut into parts of equal length, and the
// median level of each part counts: one process that comes or goes makes a step
// in one place, noise goes up and down. Growth is steady where every part is
// above the one before, none by less than a quarter of the mean rise. Levels that
// only wander pass in 1 of 32 cases by their direction alone, and in fewer by
// their evenness. A forecast reaches a hundred times as far as the window: the
// windows are tried from the shortest on.
const (
	growthLeast   = 10 * time.Second // for the growth of backends
	forecastLeast = 30 * time.Second // of the first window
	forecastParts = 6
	forecastEven  = 0.25
	forecastReach = 100
)

// forecastWindows are how far back growth is looked at.
var forecastWindows = [...]time.Duration{time.Minute, 10 * time.Minute, time.Hour}

// ForecastPageTables looks at the frames, oldest first, an hour back at most.
func ForecastPageTables(frames []Frame, server *ServerInfo) PageTableForecast {
	if len(frames) == 0 {
		why := Value{Missing: "nothing is measured yet"}
		return PageTableForecast{ClientGrowth: ClientGrowth{Growth: why}, Ceiling: why, Left: why, AtMaxNow: why, AtMaxFull: why, Exhausted: why}
	}
	f := PageTableForecast{ClientGrowth: GrowthOfClients(frames)}
	f.size(newestRows(frames), server)
	f.Exhausted = exhausted(frames, f.Left)
	return f
}

// newestRows is the newest frame with processes, else the newest.
func newestRows(frames []Frame) *Frame {
	for i := len(frames) - 1; i >= 0; i-- {
		if len(frames[i].Backends) > 0 {
			return &frames[i]
		}
	}
	return &frames[len(frames)-1]
}

// ClientTable is the page table of one client backend.
type ClientTable struct {
	ident
	kb uint64
}

// ClientTables are the page tables of the client backends among the rows.
func ClientTables(rows []BackendRow) []ClientTable {
	var out []ClientTable
	for i := range rows {
		if b := &rows[i].Backend; b.client() {
			out = append(out, ClientTable{ident{b.Pid, b.StartTicks}, b.Mem.PageTables})
		}
	}
	return out
}

// GrowthOfClients takes the growth of client backends over the longest part of
// the last minute that at least half of the present ones were there for.
func GrowthOfClients(frames []Frame) ClientGrowth {
	var read []*Frame // those whose client backends were read, newest first
	for i := len(frames) - 1; i >= 0; i-- {
		if len(frames[i].Clients) == 0 {
			continue
		}
		if len(read) > 0 && read[0].T-frames[i].T > GrowthWindow {
			break
		}
		read = append(read, &frames[i])
	}
	if len(read) == 0 {
		last := &frames[len(frames)-1]
		return ClientGrowth{Growth: Value{Missing: cmp.Or(last.Get(PageTableBackendsSum).Missing, "no client is connected")}}
	}
	now := map[ident]uint64{}
	for _, c := range read[0].Clients {
		now[c.ident] = c.kb
	}
	// A backend that is there now is in every frame since it began, so that an
	// older frame has no more of them than a newer one, and the newest has all.
	i := sort.Search(len(read), func(i int) bool {
		_, n := grown(read[i], now)
		return 2*n < len(now)
	}) - 1
	g := ClientGrowth{Window: read[0].T - read[i].T}
	if g.Window < growthLeast {
		g.Growth.Missing = fmt.Sprintf("needs %d s of samples with the same clients, there are %.0f s", int(growthLeast.Seconds()), g.Window.Seconds())
		return g
	}
	sum, n := grown(read[i], now)
	g.Backends = n
	g.Growth.V = sum / float64(n) / g.Window.Minutes()
	return g
}

// grown is by how much the page tables of backends, in kB, grew together since a
// frame that has them, and how many it has.
func grown(since *Frame, now map[ident]uint64) (kB float64, n int) {
	for _, c := range since.Clients {
		if is, there := now[c.ident]; there {
			kB += float64(is) - float64(c.kb)
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
	available := latest(frames, MemAvailable)
	first := ""
	for i, window := range forecastWindows {
		within, why := lastOf(frames, window, i == 0)
		slope := 0.0
		if why == "" {
			slope, why = steadyGrowth(within, PageTables)
		}
		switch {
		case why != "":
		case !available.OK():
			why = available.Missing
		case bounded(within, left, available.V):
			why = "at its ceiling before memory is gone"
		case available.V/slope > forecastReach*window.Seconds():
			why = fmt.Sprintf("growing, but memory lasts for more than %.0f min, which is too far ahead", forecastReach*window.Minutes())
		default:
			return Value{V: available.V / slope}
		}
		if i == 0 || strings.HasPrefix(why, "growing") {
			first = why
		}
	}
	return Value{Missing: first}
}

// bounded tells whether only the server's page tables grow and what they can
// still grow by fits into the memory there is; what others add has no bound that
// is known.
func bounded(frames []Frame, left Value, availableKB float64) bool {
	_, others := steadyGrowth(frames, PageTableOthers)
	return others != "" && left.OK() && left.V < availableKB
}

// latest is the newest figure that there is of a gauge.
func latest(frames []Frame, id string) Value {
	for i := len(frames) - 1; i > 0; i-- {
		if v := frames[i].Get(id); v.OK() {
			return v
		}
	}
	return frames[0].Get(id)
}

// lastOf are the frames of the last window that have PageTables, or why there are
// not enough: the shortest window need not be full.
func lastOf(frames []Frame, window time.Duration, shortest bool) ([]Frame, string) {
	to := len(frames)
	for to > 0 && !frames[to-1].Get(PageTables).OK() {
		to--
	}
	from := to
	for from > 0 && frames[to-1].T-frames[from-1].T <= window && frames[from-1].Get(PageTables).Missing != reasonUnmeasured {
		from--
	}
	if from == to {
		return nil, frames[len(frames)-1].Get(PageTables).Missing
	}
	there, least := frames[to-1].T-frames[from].T, window*95/100
	if shortest {
		least = forecastLeast
	}
	if there < least {
		return nil, fmt.Sprintf("needs %.0f s of samples, there are %.0f s", least.Seconds(), there.Seconds())
	}
	return frames[from:to], ""
}

// steadyGrowth is the growth of a gauge in kB per second, or why there is none
// that one may count on.
func steadyGrowth(frames []Frame, id string) (float64, string) {
	start, window := frames[0].T, frames[len(frames)-1].T-frames[0].T
	parts := make([][]float64, forecastParts)
	for i := range frames {
		if v := frames[i].Get(id); v.OK() {
			part := min(forecastParts-1, int(forecastParts*(frames[i].T-start)/window))
			parts[part] = append(parts[part], v.V)
		}
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
