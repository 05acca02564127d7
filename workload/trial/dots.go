package trial

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"

	"pgtlb/probes"
	"pgtlb/workload/verdict"
)

// Dots are all runs of a comparison in one metric, in the order in which they were
// made.
type Dots struct {
	Metric string `json:"metric"`
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	// Arms are in the order of the comparison, the base first.
	Arms   []string `json:"arms"`
	Points []Dot    `json:"points"`
}

// Dot is one run.
type Dot struct {
	Run   string  `json:"run"`
	Arm   int     `json:"arm"` // index into Arms
	Value float64 `json:"value"`
	// Block joins the runs of a pair; 0 is none, also for the identical runs before
	// the first change.
	Block int `json:"block,omitempty"`
	// Experiment is the one that the block is of.
	Experiment string `json:"experiment,omitempty"`
}

// dotsOf takes the primary metric of all runs; nil where there is none.
func dotsOf(cmp *Comparison, sets []*armSet) *Dots {
	at := slices.IndexFunc(cmp.Rows, func(r Row) bool { return r.Primary })
	if at < 0 {
		return nil
	}
	row := cmp.Rows[at]
	d := &Dots{Metric: row.Metric, Title: row.Title, Unit: row.Unit}
	var runs []*Run
	arm := map[*Run]int{}
	figure := map[*Run]Figure{}
	for i, s := range sets {
		d.Arms = append(d.Arms, s.name)
		for k, f := range s.figures(row.Metric) {
			r := s.runs[k]
			runs, arm[r], figure[r] = append(runs, r), i, f
		}
	}
	for _, r := range inTime(runs) {
		f := figure[r]
		if !f.OK() {
			continue
		}
		dot := Dot{Run: probes.Clean(r.Meta.Name), Arm: arm[r], Value: f.Value}
		if r.Meta.Step != nil {
			dot.Block, dot.Experiment = r.Meta.Step.Block, probes.Clean(r.Meta.Step.Experiment)
		}
		d.Points = append(d.Points, dot)
	}
	return d
}

// The geometry of the plot of runs, which takes the whole width.
const (
	dotsWidth  = 960
	dotsHeight = 260
	dotsRight  = dotsWidth - 120
	dotsBottom = dotsHeight - 26
)

// valueAxis is an axis that does not begin at 0, because the runs' spread is what is
// to be seen.
type valueAxis struct{ lo, hi, step float64 }

func newValueAxis(values []float64) valueAxis {
	lo, hi := slices.Min(values), slices.Max(values)
	if hi == lo {
		lo, hi = lo-math.Abs(lo)/100-0.01, hi+math.Abs(hi)/100+0.01
	}
	step := niceStep((hi - lo) / 3)
	return valueAxis{math.Floor(lo/step) * step, math.Ceil(hi/step) * step, step}
}

func (s valueAxis) y(v float64) float64 {
	return dotsBottom - (v-s.lo)/(s.hi-s.lo)*(dotsBottom-plotTop)
}

// dotSVG draws every run as a dot, in the order of time, each arm in a colour and a
// shape of its own, pairs joined, with a line at the median of each arm.
func dotSVG(d Dots) template.HTML {
	if len(d.Points) == 0 {
		return ""
	}
	var values []float64
	of := make([][]float64, len(d.Arms))
	for _, p := range d.Points {
		values, of[p.Arm] = append(values, p.Value), append(of[p.Arm], p.Value)
	}
	axis := newValueAxis(values)
	x := func(i int) float64 {
		return plotLeft + 14 + float64(i)*(dotsRight-plotLeft-28)/float64(max(1, len(d.Points)-1))
	}
	var b svg
	b.printf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`,
		dotsWidth, dotsHeight, html.EscapeString(d.Title+" of all runs in the order of time"))
	for v := axis.lo; v <= axis.hi+axis.step/2; v += axis.step {
		b.printf(`<path class="grid" d="M%d %.1fH%d"/><text class="tick end" x="%d" y="%.1f">%s</text>`,
			plotLeft, axis.y(v), dotsRight, plotLeft-6, axis.y(v)+4, html.EscapeString(probes.Short(v)))
	}
	first := map[blockKey]int{}
	for i, p := range d.Points {
		k := blockKey{p.Experiment, p.Block}
		if j, ok := first[k]; ok && p.Block > 0 {
			b.printf(`<path class="pair" d="M%.1f %.1fL%.1f %.1f"/>`, x(j), axis.y(d.Points[j].Value), x(i), axis.y(p.Value))
		} else {
			first[k] = i
		}
	}
	for i, p := range d.Points {
		b.mark(p.Arm, x(i), axis.y(p.Value), p.Run+": "+probes.Number(p.Value))
	}
	b.medians(d, of, axis)
	b.printf(`<text class="tick" x="%d" y="%d">%s, first to last; the axis does not begin at 0</text>`,
		plotLeft, dotsHeight-8, probes.Plural(len(d.Points), "run"))
	return b.close()
}

// armClass is the style of an arm: the base's, the first candidate's, the others'.
func armClass(arm int) string {
	switch arm {
	case 0:
		return "base"
	case 1:
		return "current"
	}
	return fmt.Sprintf("other%d", (arm-2)%2+1)
}

// mark draws a run; its shape tells the arm where colours do not.
func (b *svg) mark(arm int, x, y float64, title string) {
	const r = 5.0
	name := html.EscapeString(title)
	switch arm {
	case 0:
		b.printf(`<circle class="dot base" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, x, y, r, name)
	case 1:
		b.printf(`<circle class="dot current" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, x, y, r, name)
	default:
		b.printf(`<rect class="dot %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, armClass(arm), x-r+0.5, y-r+0.5, 2*r-1, 2*r-1, name)
	}
}

// medians draws a line at each arm's median and names it at its end.
func (b *svg) medians(d Dots, of [][]float64, axis valueAxis) {
	var labels []label
	for arm, values := range of {
		if len(values) == 0 {
			continue
		}
		v := verdict.Center(values).Center
		b.printf(`<path class="median %s" d="M%d %.1fH%d"/>`, armClass(arm), plotLeft, axis.y(v), dotsRight)
		labels = append(labels, label{y: axis.y(v), class: armClass(arm), name: cutName(d.Arms[arm], 16), value: probes.Short(v)})
	}
	slices.SortStableFunc(labels, func(x, y label) int {
		switch {
		case x.y < y.y:
			return -1
		case x.y > y.y:
			return 1
		}
		return 0
	})
	for i := range labels {
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+labelStep)
		}
	}
	for i := len(labels) - 1; i >= 0; i-- {
		lowest := float64(dotsBottom - labelStep/2)
		if i < len(labels)-1 {
			lowest = labels[i+1].y - labelStep
		}
		labels[i].y = min(labels[i].y, lowest)
	}
	b.named(labels, dotsRight+6)
}

// cutName cuts a name.
func cutName(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
