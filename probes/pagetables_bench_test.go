package probes

import (
	"testing"
)

// BenchmarkForecastPageTables is a minute of a server with 1000 clients: the
// screen makes the forecast anew each time it is drawn.
func BenchmarkForecastPageTables(b *testing.B) {
	rows := make([]BackendRow, 1000)
	for i := range rows {
		rows[i] = row(i+1, RoleClient, uint64(4000+i), 3000)
	}
	frames := watched(series(61, func(i int) float64 { return 1e6 + 100*float64(i) }), 50, 1e7)
	for i := range frames {
		frames[i].Backends, frames[i].Clients = rows, ClientTables(rows)
	}
	server := &ServerInfo{SharedMemoryKB: 4 << 20, MaxConnections: 1000, HugePages: HugePages{PageKB: 4}}
	for b.Loop() {
		ForecastPageTables(frames, server)
	}
}
