package tui

import (
	"fmt"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// drawStarting is the first frame, before the engine has said anything.
func drawStarting(c *canvas, version string) {
	c.text(2, 1, c.w-4, "pgtlb", stBrand)
	c.text(8, 1, c.w-10, version, stDim)
	c.text(2, 3, c.w-4, "starting …", stPlain)
	c.text(1, c.h-1, c.w-2, "q quit", stDim)
}

// spinner are the pictures of a running step; ASCII has its own.
var spinner = [...]string{"◐", "◓", "◑", "◒"}

// drawPreparing shows the steps on the way to the live screen, and what went
// wrong when it did.
func drawPreparing(c *canvas, st *trial.State, turn int) {
	c.text(2, 1, c.w-4, "pgtlb", stBrand)
	title := "preparing a private PostgreSQL server"
	if st.Mode == trial.Watching {
		title = "connecting to the server"
	}
	switch {
	case st.Phase == trial.Failed && len(st.History) > 0:
		title = "the session cannot go on"
	case st.Phase == trial.Failed && st.Mode == trial.Watching:
		title = "could not connect"
	case st.Phase == trial.Failed:
		title = "could not start"
	}
	c.text(9, 1, c.w-11, truncate(title, c.w-11), stTitle)
	y := 3
	room := c.h - y - 2
	if st.Phase == trial.Failed {
		room = min(len(st.Steps), max(3, c.h/3))
	}
	steps := tailSteps(st.Steps, room)
	w := min(c.w-4, 120)
	for i, s := range steps {
		drawStep(c, rect{2, y + i, w, 1}, s, turn)
	}
	y += len(steps) + 1
	if st.Phase == trial.Failed {
		drawFailure(c, y, st)
	}
	c.text(1, c.h-1, c.w-2, "q quit", stDim)
}

// tailSteps keeps the steps that matter when there are too many: the last n,
// but from the running one on.
func tailSteps(steps []trial.Step, n int) []trial.Step {
	if len(steps) <= n {
		return steps
	}
	first := len(steps) - n
	for i, s := range steps {
		if s.State == trial.StepRunning || s.State == trial.StepFailed {
			first = min(first, max(0, i-1))
			break
		}
	}
	return steps[first : first+max(0, n)]
}

// drawStep draws mark, name, bar and detail of one step.
func drawStep(c *canvas, r rect, s trial.Step, turn int) {
	mark, st, text := "·", stDim, stDim
	switch s.State {
	case trial.StepRunning:
		mark, st, text = spinner[turn%len(spinner)], stFocus, stPlain
	case trial.StepDone:
		mark, st, text = "✓", stGood, stPlain
	case trial.StepFailed:
		mark, st, text = "✗", stBad, stBad
	}
	nameW := min(24, r.w/2)
	c.text(r.x, r.y, 1, mark, st)
	c.fit(r.x+2, r.y, nameW, clean(s.Name), text)
	x, w := r.x+2+nameW+1, r.w-nameW-3
	if s.State == trial.StepRunning && s.Total > 0 {
		// The words go before the length of the bar.
		bar := min(24, max(min(12, w/2), w-1-textWidth(stepDetail(s))))
		drawBar(c, x, r.y, bar, float64(s.Done)/float64(s.Total))
		x, w = x+bar+1, w-bar-1
	}
	c.text(x, r.y, w, truncate(stepDetail(s), w), stDim)
}

// stepDetail is how far a step is, in words.
func stepDetail(s trial.Step) string {
	detail := clean(s.Detail)
	join := func(a, b string) string {
		if a == "" || b == "" {
			return a + b
		}
		return a + " · " + b
	}
	switch {
	case s.State == trial.StepDone && s.Took > 0:
		return join(took(s.Took), detail)
	case s.State == trial.StepRunning && s.Total > 0:
		pct := fmt.Sprintf("%3.0f %%", 100*float64(s.Done)/float64(s.Total))
		if s.Unit != "" && s.Unit != "%" {
			pct += fmt.Sprintf("  %s of %s %s", probes.Short(float64(s.Done)), probes.Short(float64(s.Total)), clean(s.Unit))
		}
		return join(pct, detail)
	case s.State == trial.StepRunning && s.Done > 0:
		return join(probes.Short(float64(s.Done))+" "+clean(s.Unit), detail)
	}
	return detail
}

// took writes how long a step took.
func took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return clock(d)
}

// drawBar draws a progress bar of w cells.
func drawBar(c *canvas, x, y, w int, share float64) {
	n := int(min(1, max(0, share))*float64(w) + 0.5)
	for i := range w {
		if i < n {
			c.put(x+i, y, "━", stOne)
		} else {
			c.put(x+i, y, "─", stBorder)
		}
	}
}

// drawFailure writes the error and the end of the server's log.
func drawFailure(c *canvas, y int, st *trial.State) {
	w := c.w - 4
	for _, l := range wrap(clean(st.Err), w, 5) {
		if y < c.h-1 {
			c.text(2, y, w, l, stBad)
		}
		y++
	}
	room := c.h - 2 - y - 2
	if len(st.Log) == 0 || room < 1 {
		return
	}
	y++
	c.text(2, y, w, "server log", stTitle)
	// The last lines say most; a long one, such as a hint, is worth its room.
	var log []string
	for _, l := range st.Log {
		log = append(log, wrap(clean(l), w, 4)...)
	}
	if len(log) > room {
		log = log[len(log)-room:]
	}
	for _, l := range log {
		y++
		c.text(2, y, w, l, stDim)
	}
}

// drawChanging lays the steps of a change over the live screen.
func drawChanging(c *canvas, st *trial.State, turn int) {
	title := "Restarting with other pages"
	if st.Phase == trial.Stopping {
		title = "Stopping"
	}
	steps := tailSteps(st.Steps, c.h-6)
	in := box(c, title, 92, max(1, len(steps)), "")
	if len(steps) == 0 {
		c.text(in.x, in.y, in.w, "working …", stDim)
	}
	for i, s := range steps {
		drawStep(c, rect{in.x, in.y + i, in.w, 1}, s, turn)
	}
}
