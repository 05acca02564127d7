package tui

import (
	"pgtlb/workload/trial"
)

// hint is one key with its word on the key line.
type hint struct {
	key, word string
	drop      int // the higher, the earlier it goes
}

// hasRun tells whether baseline, comparison and report have something to work
// on, now or as soon as a scenario is started.
func hasRun(st *trial.State) bool {
	return st.Mode != trial.Watching || st.Run != nil || st.Baseline != nil || len(st.Loads) > 0
}

// hints are the keys that do something now.
func (m *Model) hints(st *trial.State) []hint {
	switch {
	case m.table.typing:
		return []hint{{"type", "to filter", 1}, {"enter", "keep", 0}, {"esc", "clear", 0}}
	case m.zoomed && m.focus == paneCount:
		return []hint{{"esc", "back", 0}, {"enter", "exact memory", 1}, {"p", "Pss of all", 1}, {"s", "sort", 2}, {"/", "filter", 2}, {"tab", "next", 3}, {"?", "help", 1}, {"q", "quit", 0}}
	case m.zoomed:
		return []hint{{"esc", "back", 0}, {"tab", "next", 1}, {"c", "compare", 2}, {"v", "values", 3}, {"?", "help", 1}, {"q", "quit", 0}}
	}
	var out []hint
	if st.Mode == trial.Replaying {
		out = append(out, hint{"space", "pause", 1}, hint{"←→", "seek", 1})
	} else {
		if len(st.Loads) > 0 && st.Phase != trial.Lost {
			out = append(out, hint{"1-9", "scenario", 1}, hint{"l", "list", 2})
		}
		if hasRun(st) {
			out = append(out, hint{"b", "baseline", 3}, hint{"B", "choose", 7})
		}
	}
	if hasRun(st) {
		out = append(out, hint{"c", "compare", 2})
	}
	out = append(out, hint{"v", "values", 5})
	if st.Mode == trial.InLab && st.Phase != trial.Lost {
		out = append(out, hint{"h", "pages", 2})
	}
	if len(st.Loads) > 0 && st.Mode != trial.Replaying && st.Phase != trial.Lost {
		out = append(out, hint{"x", "experiment", 4})
	}
	if hasRun(st) {
		out = append(out, hint{"e", "report", 4})
	}
	if st.Mode != trial.Replaying {
		out = append(out, hint{"d", "doctor", 5})
	}
	out = append(out, hint{"C", "cost", 7}, hint{"enter", "zoom", 6}, hint{"s", "sort", 9}, hint{"/", "filter", 9})
	if st.Mode != trial.Replaying {
		freeze := "freeze"
		if m.frozen != nil {
			freeze = "go on"
		}
		out = append(out, hint{"space", freeze, 8})
	}
	return append(out, hint{"?", "help", 0}, hint{"q", "quit", 0})
}

// drawKeys writes the key line.
func (m *Model) drawKeys(c *canvas, y int, st *trial.State) {
	drawHints(c, y, m.hints(st))
}

// drawHints writes keys with their words into a line; those that do not fit are
// left out by priority.
func drawHints(c *canvas, y int, list []hint) {
	for width(list) > c.w-2 && len(list) > 1 {
		worst := 0
		for i, h := range list {
			if h.drop >= list[worst].drop {
				worst = i
			}
		}
		list = append(list[:worst:worst], list[worst+1:]...)
	}
	x := 1
	for _, h := range list {
		x += c.text(x, y, c.w-x, h.key, stKey)
		x += 1 + c.text(x+1, y, max(0, c.w-x-1), h.word, stDim)
		x += 2
	}
}

func width(list []hint) int {
	w := -2
	for _, h := range list {
		w += textWidth(h.key) + 1 + textWidth(h.word) + 2
	}
	return w
}
