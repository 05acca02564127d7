package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// connectionCard says what one more connection costs.
type connectionCard struct {
	plainOverlay
	firstLine int
}

const cardWidth = 84

func (o *connectionCard) draw(c *canvas, m *Model) {
	list := cardLines(m.shown(), min(cardWidth, c.w-6))
	in := box(c, "What one more connection costs", cardWidth, len(list), "esc closes")
	first := max(0, min(o.firstLine, len(list)-in.h))
	drawParas(c, in, list, first)
	if len(list)-first > in.h {
		c.right(in.x, in.y+in.h, in.w, "more ↓", stKey)
	}
}

func (o *connectionCard) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "C", "q", "enter":
		return nil, nil
	}
	n := len(cardLines(m.shown(), min(cardWidth, m.w-6)))
	o.firstLine = scroll(o.firstLine, k, n, min(n, max(1, m.h-4)))
	return o, nil
}

// cardLines are the lines of the card in w cells.
func cardLines(st *trial.State, w int) []para {
	var rows []probes.BackendRow
	why := "no client is connected"
	if f := st.Now(); f != nil {
		rows = f.Backends
		if v := f.Get(probes.PageTableBackendsSum); !v.OK() {
			why = v.Missing
		}
	}
	server := &st.Server
	cost := probes.CostOfConnection(probes.ClientMemory(rows), why, server)
	times := fmt.Sprintf("× %d", server.MaxConnections)
	out := []para{{"Now: measured, the median of " + probes.Plural(cost.Clients, "client backend"), stTitle}}
	line := func(name, figure, more string) {
		out = append(out, para{truncate(fmt.Sprintf("  %-26s %10s  %s", name, figure, more), w), stPlain})
	}
	if !cost.Now.OK() {
		out = append(out, lines([]para{{"n/a: " + cost.Now.Missing, stDim}}, w)...)
	} else {
		line("private memory", probes.Memory(cost.Private.V), "RssAnon: its caches and work_mem")
		line("page table", probes.Memory(cost.PageTables.V), "VmPTE: for what it has touched")
		line("kernel stack, top table", probes.Memory(cost.KernelKB), "computed")
		line("together", probes.Memory(cost.Now.V), figureOr(cost.AtMax, times+" connections = "))
	}
	out = append(out, para{}, para{"With all of shared memory touched: computed, the most a connection takes", stTitle})
	if first := cost.Sizes[0]; !first.PageTables.OK() {
		out = append(out, lines([]para{{"n/a: " + first.PageTables.Missing, stDim}}, w)...)
	} else {
		out = append(out, para{truncate(fmt.Sprintf("  %-10s %12s %14s %18s", "pages", "page table", "one connection", times), w), stDim})
		for _, s := range cost.Sizes {
			text := fmt.Sprintf("  %-10s %12s %14s %18s", pageSize(s.PageKB), figureOr(s.PageTables, ""), figureOr(s.Total, ""), figureOr(s.AtMax, ""))
			style := stPlain
			if s.PageKB == server.HugePages.PageKB {
				text, style = text+"  in use", stValue
			}
			out = append(out, para{truncate(text, w), style})
		}
	}
	out = append(out, para{})
	size := "size not known"
	if server.SharedMemoryKB > 0 {
		size = probes.Memory(float64(server.SharedMemoryKB))
	}
	return append(out, lines([]para{{
		fmt.Sprintf("Shared memory (%s) is there once and not in these figures. Of the kernel's memory only the stack and the top table are; a process's files, sockets and task are not seen one by one.",
			size), stDim}}, w)...)
}

// figureOr is an amount of memory behind a word, "n/a" where there is none.
func figureOr(v probes.Value, word string) string {
	if !v.OK() {
		return "n/a"
	}
	return word + probes.Memory(v.V)
}
