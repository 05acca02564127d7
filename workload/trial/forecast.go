package trial

import (
	"fmt"

	"pgtlb/probes"
)

// forecastOf is where page tables were going at the end of the load, or of the
// run where none was driven.
func forecastOf(meta Meta, frames []probes.Frame) probes.PageTableForecast {
	from, to, _ := LoadWindow(frames)
	if from < to && frames[to-1].Marked(probes.LoadStopped) {
		to-- // its clients have gone
	}
	if from > 0 {
		from-- // it ends where the load starts: all clients are connected
	}
	return probes.ForecastPageTables(frames[from:to], &meta.Server)
}

// forecast fills in what page tables were coming to.
func (l *PageTableLevels) forecast(f probes.PageTableForecast) {
	l.Missing = map[string]string{}
	take := func(key string, v probes.Value) *float64 {
		if !v.OK() {
			l.Missing[key] = v.Missing
			return nil
		}
		return &v.V
	}
	l.Growth = take("growth_kb_per_backend_min", f.Growth)
	if l.Growth != nil {
		l.GrowthWindowS, l.GrowthBackends = f.Window.Seconds(), f.Backends
	}
	l.Ceiling = take("ceiling_backend_kb", f.Ceiling)
	l.AtMaxNow = take("at_max_connections_now_kb", f.AtMaxNow)
	l.AtMaxFull = take("at_max_connections_kb", f.AtMaxFull)
	l.Exhausted = take("exhausted_in_s", f.Exhausted)
}

// ForecastFacts says in words where page tables go, what is not known with the
// reason.
func ForecastFacts(f probes.PageTableForecast, server *probes.ServerInfo) []Fact {
	growth := orWhy(f.Growth, func(kB float64) string {
		return fmt.Sprintf("%s per backend and minute, the mean of %s over %s", signedMemory(kB), probes.Plural(f.Backends, "client backend"), Seconds(f.Window.Seconds()))
	})
	ceiling := orWhy(f.Ceiling, func(kB float64) string {
		return fmt.Sprintf("%s per client backend (computed: all of %s shared memory touched in pages of %s)",
			probes.Memory(kB), probes.Memory(float64(server.SharedMemoryKB)), probes.Memory(float64(server.HugePages.PageKB)))
	})
	atMax := orWhy(f.AtMaxNow, func(kB float64) string {
		text := fmt.Sprintf("%s with %s like those now", probes.Memory(kB), probes.Plural(server.MaxConnections, "connection"))
		if f.AtMaxFull.OK() {
			text += fmt.Sprintf(", %s at the ceiling", probes.Memory(f.AtMaxFull.V))
		}
		return text
	})
	gone := orWhy(f.Exhausted, func(s float64) string {
		return fmt.Sprintf("gone in %s if PageTables go on growing as they do", Seconds(s))
	})
	return []Fact{
		{Label: "growth", Value: growth}, {Label: "ceiling", Value: ceiling},
		{Label: "at max_connections", Value: atMax}, {Label: "available memory", Value: gone},
	}
}

func orWhy(v probes.Value, text func(float64) string) string {
	if !v.OK() {
		return "n/a: " + probes.Clean(v.Missing)
	}
	return text(v.V)
}

// signedMemory writes a growth with its sign.
func signedMemory(kB float64) string {
	if kB < 0 {
		return probes.Minus + probes.Memory(-kB)
	}
	return "+" + probes.Memory(kB)
}
