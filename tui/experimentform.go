package tui

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// formField is one line of the form of an experiment.
type formField struct {
	name, value string
	unit        string
	choices     []string // the only values that it can have
	meaning     string
}

// The fields of the form, in their order; the last line starts it.
const (
	fieldVary = iota
	fieldScenario
	fieldPairs
	fieldMeasure
	fieldWarmUp
	fieldSettle
	fieldOrder
	fieldDetect
	fieldMargin
	fieldStart
)

// newForm is the form with what is usual on this server.
func newForm(st *trial.State) []formField {
	vary := "synchronous_commit=on,off"
	if st.Mode == trial.InLab {
		vary = "huge_pages=4kB,2MB"
	}
	var names []string
	scenario := ""
	for _, l := range st.Loads {
		if !slices.ContainsFunc(l.Params, missing) {
			names = append(names, l.Name)
		}
	}
	if len(names) > 0 {
		scenario = names[0]
	}
	return []formField{
		{name: "vary", value: vary, meaning: "A setting and its values, the base first: huge_pages=4kB,2MB,1GB in the lab, or any other, as in shared_buffers=128MB,2GB. The same value twice is an A/A experiment: it shows what this machine does by itself."},
		{name: "scenario", value: scenario, choices: names, meaning: "The load of every run; its parameters are those of the list of scenarios (l)."},
		{name: "pairs", value: "6", meaning: "Blocks, each with a run of every value. Six are the fewest from which p can be below 0.05."},
		{name: "measure", value: "25", unit: "s", meaning: "Length of the measured part of each run."},
		{name: "warm-up", value: "5", unit: "s", meaning: "Work before the measured part; auto is until page faults settle, 2 minutes at most."},
		{name: "settle", value: "2", unit: "s", meaning: "Rest between reading the data in and connecting the clients."},
		{name: "order", value: string(experiment.ABBA), choices: []string{string(experiment.ABBA), string(experiment.Random)}, meaning: "abba turns the order around from block to block, random draws it: a machine that becomes slower must not bend one side more than the other."},
		{name: "detect", value: "3", unit: "%", meaning: "The effect on TPS that is to be found. Before the first change two identical runs tell how many pairs that takes here."},
		{name: "margin", value: "1", unit: "%", meaning: "The difference below which the values count as the same."},
		{name: "start", meaning: "Starts it."},
	}
}

// readForm makes an experiment of the form, or says what is wrong with which field.
func readForm(f []formField) (trial.ExperimentOptions, error) {
	var o trial.ExperimentOptions
	var errs []error
	number := func(i int, least, most float64) float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(f[i].value), f[i].unit)), 64)
		if err != nil || !(v >= least && v <= most) {
			errs = append(errs, fmt.Errorf("%s: write a number from %g to %g", f[i].name, least, most))
		}
		return v
	}
	seconds := func(i int, least, most float64) time.Duration {
		return time.Duration(number(i, least, most) * float64(time.Second))
	}
	factor, values, err := experiment.ParseVary(f[fieldVary].value)
	errs = append(errs, err)
	order, err := experiment.ParseOrder(f[fieldOrder].value)
	errs = append(errs, err)
	pairs := int(number(fieldPairs, 1, 100))
	o.Measure, o.Settle = seconds(fieldMeasure, 1, 3600), seconds(fieldSettle, 0, 3600)
	if f[fieldWarmUp].value == "auto" {
		o.WarmUp = trial.WarmUp{Auto: true, Most: trial.DefaultWarmUp}
	} else {
		o.WarmUp.Most = seconds(fieldWarmUp, 0, 3600)
	}
	detect, margin := number(fieldDetect, 0.1, 99), number(fieldMargin, 0.1, 99)
	// A step takes its own time, the restart and the reading in; what takes ten
	// minutes more hangs.
	const patience = 10 * time.Minute
	o.Plan = experiment.Plan{Factor: factor, Values: values, Pairs: pairs, Order: order, Seed: 1, Detect: detect / 100, Margin: margin / 100,
		Limit: o.Measure + o.WarmUp.Most + o.Settle + patience}
	o.MostPairs = experiment.AutoPairs
	return o, errors.Join(errs...)
}

// lengthText says how long an experiment takes. What restarts and reading in take is
// known only once a run was made.
func lengthText(o trial.ExperimentOptions) string {
	each := o.Settle + o.Measure
	if !o.WarmUp.Auto {
		each += o.WarmUp.Most
	}
	all := time.Duration(len(o.Plan.Steps())) * each
	return "It takes " + probes.About(all) + ", and what restarts and reading in take."
}

// planText says how many runs in which order a form makes.
func planText(p experiment.Plan) string {
	var b strings.Builder
	block := 0
	steps := p.Steps()
	for i, s := range steps {
		if s.Block != block {
			block = s.Block
			b.WriteString(" ")
		}
		if block > 4 {
			b.WriteString("…")
			break
		}
		fmt.Fprintf(&b, "%c", 'A'+steps[i].Arm)
	}
	return fmt.Sprintf("%d runs: %s", len(steps), b.String())
}

func (x *experimentScreen) takesText() bool { return x.typing }

func (x *experimentScreen) typed(_ *Model, msg tea.KeyPressMsg) {
	switch msg.String() {
	case "esc":
		x.typing = false
	case "enter":
		x.form[x.at].value, x.typing = strings.TrimSpace(x.text), false
		x.check()
	case "ctrl+u":
		x.text = ""
	default:
		x.text = edit(x.text, msg, maxValue)
	}
}

func (x *experimentScreen) paste(text string) {
	if more := clean(text); len(x.text)+len(more) <= maxValue {
		x.text += more
	}
}

// check says what is wrong with the form as it stands.
func (x *experimentScreen) check() {
	x.why = ""
	if _, err := readForm(x.form); err != nil {
		x.why = clean(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// formKey handles a key of the form.
func (x *experimentScreen) formKey(m *Model, k string) (overlay, tea.Cmd) {
	f := &x.form[x.at]
	switch k {
	case "esc", "x", "q":
		return nil, nil
	case "up", "k":
		x.at = max(0, x.at-1)
	case "down", "j", "tab":
		x.at = min(len(x.form)-1, x.at+1)
	case "home":
		x.at = 0
	case "end":
		x.at = len(x.form) - 1
	case "enter", "right", "space":
		switch {
		case x.at == fieldStart:
			return x.start(m), nil
		case len(f.choices) > 0:
			f.value = f.choices[(slices.Index(f.choices, f.value)+1)%len(f.choices)]
		default:
			x.typing, x.text = true, f.value
		}
	default:
		if m.digit(k) {
			x.why = ""
		}
	}
	return x, nil
}

// start asks the session for the experiment; what it says shows in its state.
func (x *experimentScreen) start(m *Model) overlay {
	o, err := readForm(x.form)
	if err != nil {
		x.check()
		return x
	}
	for _, l := range m.st.Loads {
		if l.Status == trial.LoadRunning || l.Status == trial.LoadStarting || l.Status == trial.LoadStopping {
			x.why = fmt.Sprintf("%s is %s: it would bend what the experiment measures; stop it first, with its key %d", clean(l.Name), l.Status, l.Key)
			return x
		}
	}
	for _, l := range m.st.Loads {
		if l.Name == x.form[fieldScenario].value {
			x.again = false
			m.engine.Do(trial.StartExperiment{Key: l.Key, Experiment: o})
			return x
		}
	}
	x.why = "there is no scenario to run here"
	return x
}

// drawForm draws the fields, and below them what the selected one means.
func (x *experimentScreen) drawForm(c *canvas, r rect, why string) {
	in := part(c, r, true, []fig{{"Experiment", stTitle, 0}, {"alternating runs of a setting's values", stDim, 1}}, nil)
	const nameW = 10
	for i, f := range x.form {
		y := in.y + i
		if y >= in.y+in.h {
			break
		}
		value, look := f.value, stValue
		if _, err := strconv.ParseFloat(f.value, 64); err == nil && f.unit != "" {
			value += " " + f.unit
		}
		if i == fieldStart {
			value, look = "▶ start it", stKey
			f.name = ""
		}
		c.text(in.x, y, nameW, f.name, stDim)
		at, room := in.x+nameW+2, in.w-nameW-2
		if i == x.at && x.typing {
			text := x.text
			for textWidth(text) > room-1 {
				_, text = split(text, 1)
			}
			used := c.text(at, y, room, text, stValue)
			c.text(at+used, y, 1, "▏", stWarn)
		} else {
			c.text(at, y, room, truncate(clean(value), room), look)
		}
		if i == x.at {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
	text := []para{{}, {x.form[x.at].meaning, stPlain}}
	if o, err := readForm(x.form); err == nil {
		text = append(text, para{}, para{planText(o.Plan) + ", each with the server restarted where a value needs it, the data read in, and the same seed. " + lengthText(o), stDim})
	}
	if why != "" {
		text = append(text, para{}, para{why, stBad})
	}
	below := rect{in.x, in.y + len(x.form), in.w, max(0, in.h-len(x.form))}
	drawParas(c, below, lines(text, in.w), 0)
}
