package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// baselines chooses one of the stored runs as the baseline.
type baselines struct {
	plainOverlay
	runs   []trial.RunInfo
	err    error
	loaded bool
	at     int
}

func (b *baselines) take(msg runsMsg) {
	b.runs, b.err, b.loaded = msg.runs, msg.err, true
}

func (b *baselines) draw(c *canvas, m *Model) {
	in := box(c, "Choose a baseline", 104, max(6, min(c.h-6, len(b.runs)+1)), "↑ ↓ select   enter takes it   esc closes")
	switch {
	case b.err != nil:
		drawParas(c, in, lines([]para{{"The stored runs cannot be read: " + b.err.Error(), stBad}}, in.w), 0)
		return
	case !b.loaded:
		c.text(in.x, in.y, in.w, "reading the stored runs …", stDim)
		return
	case len(b.runs) == 0:
		drawParas(c, in, lines([]para{{"There is no stored run yet. Start a scenario, and b takes it as the baseline.", stPlain}}, in.w), 0)
		return
	}
	cols := runColumns(in.w)
	x := in.x
	for _, col := range cols {
		c.text(x, in.y, col.w, col.title, stDim)
		x += col.w + 2
	}
	room := in.h - 1
	first := min(max(0, b.at-room/2), max(0, len(b.runs)-room))
	for i := 0; i < room && first+i < len(b.runs); i++ {
		y, x := in.y+1+i, in.x
		for _, col := range cols {
			text := truncate(clean(col.text(&b.runs[first+i])), col.w)
			if col.right {
				c.right(x, y, col.w, text, stPlain)
			} else {
				c.text(x, y, col.w, text, stPlain)
			}
			x += col.w + 2
		}
		if first+i == b.at {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
}

// runColumn is one column of the list of runs.
type runColumn struct {
	title string
	w     int
	right bool
	text  func(*trial.RunInfo) string
}

// runColumns are those that fit in w cells; the name takes what is left.
func runColumns(w int) []runColumn {
	all := []runColumn{
		{"RUN", 24, false, func(r *trial.RunInfo) string {
			if r.Baseline {
				return "● " + r.Name
			}
			return r.Name
		}},
		{"WHEN", 12, false, func(r *trial.RunInfo) string { return r.Created.Format("02 Jan 15:04") }},
		{"PAGES", 5, false, func(r *trial.RunInfo) string { return orElse(r.Pages, "-") }},
		{"LENGTH", 6, true, func(r *trial.RunInfo) string {
			if r.Problem != "" {
				return "-"
			}
			return fmt.Sprintf("%.0f s", r.Seconds)
		}},
		{"TPS", 7, true, func(r *trial.RunInfo) string {
			if r.TPS == 0 {
				return "-"
			}
			return probes.Short(r.TPS)
		}},
		{"SCENARIO", 18, false, func(r *trial.RunInfo) string {
			switch {
			case r.Problem != "":
				return "cannot be read: " + r.Problem
			case !r.Complete:
				return r.Scenario + " (interrupted)"
			}
			return r.Scenario
		}},
	}
	for len(all) > 1 {
		sum := 0
		for _, c := range all {
			sum += c.w + 2
		}
		if rest := w - sum + 2; rest >= 0 {
			all[0].w += min(rest, 20)
			return all
		}
		all = all[:len(all)-1]
	}
	all[0].w = w
	return all
}

func (b *baselines) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "q", "B":
		return nil, nil
	case "up", "k":
		b.at = max(0, b.at-1)
	case "down", "j":
		b.at = max(0, min(len(b.runs)-1, b.at+1))
	case "enter":
		if b.at < len(b.runs) && b.runs[b.at].Problem == "" {
			m.engine.Do(trial.ChooseBaseline{Name: b.runs[b.at].Name})
			return nil, nil
		}
	}
	return b, nil
}
