package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// experimentScreen plans an experiment, shows how it goes and how it ended.
type experimentScreen struct {
	plainOverlay
	form   []formField
	at     int // the selected field
	typing bool
	text   string // of the field that is being typed
	why    string // what is wrong with the form
	again  bool   // a new one is being planned after one that is over
	ending bool   // the key that ends it was pressed once
	line   int    // first step shown, counted from the end
}

func newExperimentScreen(st *trial.State) *experimentScreen {
	return &experimentScreen{form: newForm(st)}
}

// refused tells whether an experiment ended before its first run: then there is
// nothing to show but why, and the form to mend it.
func refused(e *trial.ExperimentState) bool {
	return e.Over && e.Err != "" && len(e.Progress.Made) == 0
}

// current is the experiment to show; nil where one is to be planned.
func (x *experimentScreen) current(m *Model) *trial.ExperimentState {
	e := m.st.Experiment
	if e == nil || x.again && e.Over || refused(e) {
		return nil
	}
	return e
}

func (x *experimentScreen) draw(c *canvas, m *Model) {
	l := arrange(c.w, c.h, len(m.notices.lines(c.w, c.h)), 0, warned(m.shown()))
	body := rect{0, l.header, c.w, l.notes - l.header}
	c.fill(body, " ", stPlain)
	c.fill(rect{0, l.keys, c.w, 1}, " ", stPlain)
	e := x.current(m)
	drawHints(c, l.keys, x.hints(e))
	if e == nil {
		why := x.why
		if last := m.st.Experiment; why == "" && last != nil && refused(last) {
			why = clean(last.Err)
		}
		x.drawForm(c, body, why)
		return
	}
	x.drawRunning(c, body, e, m.st.At)
	if e.Gate != nil {
		drawGate(c, e.Gate, e.Progress.Plan)
	}
}

func (x *experimentScreen) hints(e *trial.ExperimentState) []hint {
	switch {
	case x.typing:
		return []hint{{"type", "the value", 1}, {"enter", "take it", 0}, {"esc", "leave it", 0}}
	case e == nil:
		return []hint{{"↑↓", "select", 1}, {"enter", "change, start", 0}, {"esc", "close", 0}}
	case e.Gate != nil:
		return []hint{{"enter", "as planned", 0}, {"m", "the suggested number", 0}, {"n", "end it", 0}}
	case e.Over && e.Result != nil:
		return []hint{{"enter", "result", 0}, {"↑↓", "scroll", 2}, {"n", "new one", 1}, {"esc", "close", 0}}
	case e.Over:
		return []hint{{"↑↓", "scroll", 2}, {"n", "new one", 0}, {"esc", "close", 0}}
	case x.ending:
		return []hint{{"s", "end it now", 0}, {"esc", "go on", 0}}
	}
	return []hint{{"↑↓", "scroll", 2}, {"s", "end it", 1}, {"esc", "back to the live screen, it goes on", 0}}
}

func (x *experimentScreen) key(m *Model, k string) (overlay, tea.Cmd) {
	e := x.current(m)
	if e == nil {
		return x.formKey(m, k)
	}
	switch {
	case e.Gate != nil:
		return x.gateKey(m, e, k), nil
	case k == "s" && !e.Over:
		if x.ending {
			m.engine.Do(trial.StopExperiment{})
		}
		x.ending = !x.ending
	case k == "esc" && x.ending:
		x.ending = false
	case k == "esc" || k == "x" || k == "q":
		return nil, nil
	case k == "enter" && e.Result != nil:
		return newResult(e.Result), nil
	case k == "n" && e.Over:
		x.again = true
	case k == "up" || k == "k":
		x.line = min(max(0, len(e.Progress.Made)-1), x.line+1)
	case k == "down" || k == "j":
		x.line = max(0, x.line-1)
	}
	return x, nil
}

// gateKey answers how many pairs are to be made.
func (x *experimentScreen) gateKey(m *Model, e *trial.ExperimentState, k string) overlay {
	switch k {
	case "enter", "y":
		m.engine.Do(trial.AnswerGate{Pairs: e.Gate.Planned})
	case "m":
		if n := enough(e.Gate); n > 0 {
			m.engine.Do(trial.AnswerGate{Pairs: n})
		}
	case "n":
		m.engine.Do(trial.AnswerGate{})
	case "esc", "x", "q":
		return nil // it waits
	}
	return x
}

// enough is how many pairs the wished effect takes, as far as so many are made without
// a person naming the number; 0 where it is not known.
func enough(g *experiment.Gate) int {
	if g.Hidden { // no number is
		return 0
	}
	return min(g.Pairs, max(g.Planned, experiment.AutoPairs))
}

// drawGate says what the identical runs tell about the plan.
func drawGate(c *canvas, g *experiment.Gate, p experiment.Plan) {
	const w = 72
	width := min(w, c.w-6)
	var text []para
	add := func(s string, st style) { text = append(text, para{s, st}) }
	add(fmt.Sprintf("%d identical runs with %s = %s are %s %% apart. The noise floor at the end, of six, is then likely near %s %%: a smaller difference will be no result.",
		len(g.Identical), clean(p.Factor), clean(p.Values[0]), probes.Number(100*g.Spread), probes.Number(100*g.Floor)), stValue)
	add("", stPlain)
	effect := probes.Number(100*g.Detect) + " %"
	switch {
	case g.Pairs == 0:
		add("They do not tell how many pairs an effect of "+effect+" takes.", stPlain)
	case g.Hidden:
		add(fmt.Sprintf("An effect of %s is likely too small for that: no number of pairs makes it a result then. End what else runs on this machine, measure longer, or look for a larger effect.", effect), stWarn)
	case g.Pairs > g.Planned:
		add(fmt.Sprintf("To find an effect of %s takes about %d pairs, %d are planned: %s more.", effect, g.Pairs, g.Planned, probes.About(time.Duration(g.Pairs-g.Planned)*g.Block)), stWarn)
	default:
		add(fmt.Sprintf("To find an effect of %s takes about %d pairs; %d are planned.", effect, g.Pairs, g.Planned), stGood)
	}
	switch {
	case g.Pairs == 0 || g.Hidden:
	case g.Cautious == 0:
		add(fmt.Sprintf("%d runs tell little about the spread: if they lie close by chance, no number of pairs makes it a result.", len(g.Identical)), stDim)
	default:
		add(fmt.Sprintf("%d runs tell little about the spread: to be safe make %d pairs.", len(g.Identical), g.Cautious), stDim)
	}
	add("", stPlain)
	add(fmt.Sprintf("enter  %d pairs, as planned", g.Planned), stKey)
	if n := enough(g); n > 0 && n != g.Planned {
		most := ""
		if n < g.Pairs {
			most = ", the most that this key makes"
		}
		add(fmt.Sprintf("m      %d pairs%s", n, most), stKey)
	}
	add("n      end it here; what was made is kept", stKey)
	list := lines(text, width)
	in := box(c, "Before the first change", w, len(list), "")
	drawParas(c, in, list, 0)
}

// armMarks tell arms apart without colour.
func armMark(arm int) (string, style) {
	marks := []string{"●", "○", "◆", "◇", "■", "□"}
	styles := []style{stOne, stThree, stTwo}
	return marks[arm%len(marks)], styles[arm%len(styles)]
}

// drawRunning draws where an experiment stands: what is made, and each run's figure
// as a dot in the order of the runs.
func (x *experimentScreen) drawRunning(c *canvas, r rect, e *trial.ExperimentState, now time.Time) {
	p := &e.Progress
	left := []fig{{"Experiment", stTitle, 0}, {clean(p.Plan.Name), stDim, 1}}
	var right []fig
	if !e.Over && p.Left > 0 {
		right = []fig{{probes.About(p.Left) + " left", stValue, 0}}
	}
	in := part(c, r, true, left, right)
	head := lines(x.headParas(e, now), in.w)
	head = head[:min(len(head), max(2, in.h/2))]
	drawParas(c, rect{in.x, in.y, in.w, len(head)}, head, 0)
	body := rect{in.x, in.y + len(head) + 1, in.w, max(0, in.h-len(head)-1)}
	if body.h < 2 {
		return
	}
	drawMade(c, body, p, x.line)
}

// headParas say what is varied and what goes on, or how it ended.
func (x *experimentScreen) headParas(e *trial.ExperimentState, now time.Time) []para {
	p := &e.Progress
	var arms []string
	for i, a := range p.Plan.Arms() {
		sign, _ := armMark(i)
		arms = append(arms, sign+" "+a)
	}
	out := []para{{clean(p.Plan.Factor) + ":  " + clean(strings.Join(arms, "   ")), stValue}}
	good, bad := 0, 0
	for _, m := range p.Made {
		if m.State == experiment.Done {
			good++
		} else {
			bad++
		}
	}
	count := fmt.Sprintf("%d of %d runs made", good, p.Of)
	if bad > 0 {
		count += fmt.Sprintf(", %d failed", bad)
	}
	switch {
	case e.Checking:
		out = append(out, para{"Looking at values, pools and rights before anything is changed …", stDim})
	case e.Err != "":
		out = append(out, para{count + ". It ended before its time: " + e.Err, stBad})
	case e.Over && e.Interrupted:
		out = append(out, para{count + ". It was ended; pgtlb experiment --resume " + p.Plan.Name + " goes on.", stWarn})
	case e.Over && e.Result != nil:
		out = append(out, para{count + ". " + e.Result.Sentence, verdictStyle(e.Result.Verdict)})
		if e.WithRepeats != nil {
			out = append(out, para{"With the steps that were repeated out of order: " + e.WithRepeats.Sentence, stDim})
		}
	case e.Over && !eachArm(p):
		out = append(out, para{count + ". Nothing can be compared yet: there is not a run of each value.", stWarn})
	case e.Over:
		out = append(out, para{count + ". pgtlb compare " + p.Plan.Name + " prints the result, pgtlb report " + p.Plan.Name + " writes the report.", stGood})
	default:
		step := fmt.Sprintf("%s; now run %d, %s, for %s", count, p.Step.Position, p.Plan.Arms()[p.Step.Arm], clock(now.Sub(p.Since)))
		if p.Step.Block > 0 {
			step = fmt.Sprintf("%s; now run %d, block %d of %d, %s, for %s", count, p.Step.Position, p.Step.Block, p.Plan.Pairs, p.Plan.Arms()[p.Step.Arm], clock(now.Sub(p.Since)))
		}
		out = append(out, para{step + ": " + orElse(e.Detail, p.Phase), stPlain})
	}
	if x.ending {
		out = append(out, para{"s again ends it: the run under way is lost, those made are kept.", stWarn})
	}
	return out
}

// eachArm tells whether there is a run of each value.
func eachArm(p *experiment.Progress) bool {
	arms := map[int]bool{}
	for _, m := range p.Made {
		if m.State == experiment.Done && m.Run != "" && !m.Step.Repeat {
			arms[m.Step.Arm] = true
		}
	}
	return len(arms) == len(p.Plan.Values)
}

// drawMade lists the runs, the latest at the bottom, each with its TPS as a dot
// between the least and the most of all.
func drawMade(c *canvas, r rect, p *experiment.Progress, back int) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, m := range p.Made {
		if m.Primary > 0 {
			least, most = min(least, m.Primary), max(most, m.Primary)
		}
	}
	const runW, blockW, armW, tpsW, tookW = 3, 5, 14, 8, 6
	dots := rect{r.x + runW + blockW + armW + tpsW + tookW + 9, r.y, 0, r.h}
	dots.w = r.x + r.w - dots.x
	place(c, r.x, r.y, runW, "RUN", stDim, true)
	place(c, r.x+runW+1, r.y, blockW, "BLOCK", stDim, true)
	place(c, r.x+runW+blockW+3, r.y, armW, "VALUE", stDim, false)
	place(c, r.x+runW+blockW+armW+4, r.y, tpsW, "TPS", stDim, true)
	place(c, r.x+runW+blockW+armW+tpsW+5, r.y, tookW, "TOOK", stDim, true)
	if dots.w > 24 && most >= least {
		low, high := probes.Number(least), probes.Number(most)
		c.text(dots.x, r.y, dots.w, low, stDim)
		c.right(dots.x, r.y, dots.w, high, stDim)
	}
	room := r.h - 1
	last := max(0, len(p.Made)-back)
	first := max(0, last-room)
	for i, m := range p.Made[first:last] {
		y := r.y + 1 + i
		sign, look := armMark(m.Step.Arm)
		block := "A/A"
		if m.Step.Block > 0 {
			block = fmt.Sprint(m.Step.Block)
		}
		c.right(r.x, y, runW, fmt.Sprint(m.Step.Position), stDim)
		c.right(r.x+runW+1, y, blockW, block, stDim)
		c.text(r.x+runW+blockW+3, y, armW, truncate(sign+" "+clean(p.Plan.Values[m.Step.Arm]), armW), look)
		c.right(r.x+runW+blockW+armW+tpsW+5, y, tookW, clock(m.Ended.Sub(m.Started)), stDim)
		at := r.x + runW + blockW + armW + 4
		if m.State != experiment.Done {
			c.text(at+tpsW+tookW+3, y, max(0, r.x+r.w-at-tpsW-tookW-3), truncate(string(m.State)+": "+clean(m.Why), max(0, r.x+r.w-at-tpsW-tookW-3)), stBad)
			continue
		}
		c.right(at, y, tpsW, probes.Number(m.Primary), stValue)
		if m.Step.Repeat {
			sign += " repeated"
		}
		if dots.w > 8 && m.Primary > 0 {
			x := 0
			if most > least {
				x = int(math.Round((m.Primary - least) / (most - least) * float64(dots.w-1)))
			}
			c.text(dots.x+min(x, dots.w-textWidth(sign)), y, dots.w, sign, look)
		}
	}
}
