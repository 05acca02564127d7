package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// help explains the keys and the words.
type help struct {
	plainOverlay
	firstLine int
}

const helpWidth = 92

func (h *help) draw(c *canvas, m *Model) {
	in := box(c, "Help", helpWidth, c.h, "↑ ↓ scroll   esc closes")
	list := h.lines(m, in.w)
	h2 := min(h.firstLine, max(0, len(list)-in.h))
	drawParas(c, in, list, h2)
	if rest := len(list) - h2 - in.h; rest > 0 {
		c.right(in.x, in.y+in.h, in.w, "more ↓", stKey)
	}
}

func (h *help) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "?", "q", "enter":
		return nil, nil
	}
	w := min(helpWidth, m.w-6)
	h.firstLine = scroll(h.firstLine, k, len(h.lines(m, w)), max(1, m.h-8))
	return h, nil
}

// helpKeys are the keys with what they do.
func helpKeys(st *trial.State) [][2]string {
	keys := [][2]string{}
	mode := trial.Watching
	if st != nil {
		mode = st.Mode
	}
	if mode == trial.Replaying {
		keys = append(keys, [2]string{"space", "pause and play the replay"}, [2]string{"← →", "step back and forward; shift for ten samples"},
			[2]string{"B", "choose a stored run as the baseline"})
	} else {
		if st != nil && len(st.Loads) > 0 {
			keys = append(keys,
				[2]string{"1 … 9", "start or stop one of the first nine scenarios; several can run at once"},
				[2]string{"l", "all scenarios: what they show, their scripts and parameters, each one's TPS, p99 and Apdex. There: enter starts and stops, e goes to the parameters, enter changes one, esc goes back"})
			keys = append(keys, [2]string{"x", "an experiment: alternating runs of a setting's values, with a verdict. It goes on while the live screen is shown; x shows it again"})
		}
		keys = append(keys, [2]string{"b  B", "take the current or last run as the baseline; choose a stored one"})
	}
	keys = append(keys, [2]string{"c  v", "lay the baseline under the lines; table of all values"},
		[2]string{"C", "what one more connection costs, now and at most, in each page size"})
	if mode != trial.Replaying {
		keys = append(keys, [2]string{"d", "the doctor: what stands in the way of huge pages and of being measured, the commands that change it, and the page bill. There: ↑ ↓ select, pgdn reads on, r looks again, esc goes back"})
	}
	if mode == trial.InLab {
		keys = append(keys, [2]string{"h", "page mode: 4 kB, 2 MB or 1 GB pages, with a restart of the lab server"})
	}
	keys = append(keys, [2]string{"e", "export the report of the current or last run"},
		[2]string{"tab, arrows", "move between the panes; in the table, between the processes"},
		[2]string{"enter", "zoom the pane or the table; esc goes back. The zoomed page tables say where they go and who holds the huge pages. In the zoomed table enter reads the exact memory of the selected process and p that of all, slowly, one after the other; esc stops it"},
		[2]string{"s  /", "sort the table; filter it"})
	if mode != trial.Replaying {
		keys = append(keys, [2]string{"space", "freeze the view; measuring goes on"},
			[2]string{"+  -", "shorter or longer time between samples"})
	}
	return append(keys, [2]string{"q", "quit"})
}

// ownCPU says what the figure in the first line is.
const ownCPU = "CPU time of pgtlb itself, in percent of one CPU: 100 % is one CPU in use all the time. While a scenario runs, the load driver is in it."

// ceilingText is the assumption behind "of at most".
const ceilingText = "What the page tables of the server's present processes come to once each has touched all of shared memory: 8 bytes for every page of it, in tables of 4 kB, so that 40 GB in 4 kB pages take 80 MB of each process, and less than 1 MB in huge pages; and besides 128 kB for code and libraries and 2 kB for each MB of private memory. It is a computation, not a limit; PostgreSQL before 15 does not say how large its shared memory is, then there is none."

func (h *help) lines(m *Model, w int) []para {
	out := []para{{"Keys", stTitle}}
	for _, k := range helpKeys(m.shown()) {
		text := k[0]
		for textWidth(text) < 13 {
			text += " "
		}
		rest := wrap(k[1], max(10, w-15), 5)
		for i, l := range rest {
			if i > 0 {
				text = "             "
			}
			out = append(out, para{"  " + text + l, stPlain})
		}
	}
	out = append(out, para{}, para{"Lines", stTitle})
	out = append(out, lines([]para{
		{"A solid line is measured now; the dotted line is the baseline, aligned at the start of the load. A gap is a time for which there is no figure.", stPlain},
		{"run is the mean since the load started, base the baseline's over the same length. One pair of runs has no known spread: a small difference between them proves nothing.", stPlain},
	}, w)...)
	out = append(out, para{}, para{"Words", stTitle})
	out = append(out, lines([]para{
		{"own CPU (%)", stValue}, {ownCPU, stPlain},
		{"page tables: of at most", stValue}, {ceilingText, stPlain},
		{"Apdex", stValue}, {"Share of the transactions of a load's run that took at most T, plus half the share of those up to 4 T; failed ones count as too slow. From 0.94 Excellent, 0.85 Good, 0.70 Fair, 0.50 Poor, below Unacceptable. T is the load's parameter apdex_t.", stPlain},
	}, w)...)
	for _, metric := range probes.Catalogue() {
		head := metric.Title
		if metric.Unit != "" {
			head += " (" + metric.Unit + ")"
		}
		out = append(out, lines([]para{{head, stValue}, {metric.Meaning, stPlain}, {"from " + metric.Source, stDim}}, w)...)
	}
	return out
}
