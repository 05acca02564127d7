package trial

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/script"
)

// Names of the parameters that every load has.
const (
	paramClients  = "clients"
	paramThreads  = "threads"
	paramProtocol = "protocol"
	paramRate     = "rate"
	paramDuration = "duration"
	paramApdex    = "apdex_t"
	paramScript   = "script" // of a custom load only
)

// param is a parameter with what setting it does: set takes a value that is
// neither empty nor outside of Min and Max, or says what is wrong with it.
type param struct {
	ParamState
	set func(value string) error
}

// card is what a screen shows of a load at rest. It is made anew only when
// something in it has changed.
type card struct {
	params         []ParamState
	script         string
	maxConnections int
	fresh          bool
}

func (l *load) describe(maxConnections int) *card {
	if c := &l.card; c.fresh && c.maxConnections == maxConnections {
		return c
	}
	l.card = card{script: scriptText(&l.what), maxConnections: maxConnections, fresh: true}
	for _, p := range l.parameters(maxConnections) {
		l.card.params = append(l.card.params, p.ParamState)
	}
	return &l.card
}

// parameters are the scenario's own, then those that every load has.
func (l *load) parameters(maxConnections int) []param {
	var list []param
	if l.isCustom() {
		list = append(list, param{ParamState: ParamState{Name: paramScript, Value: l.files, Text: true, Meaning: "file with a script in pgbench's " +
			"language, read when it is entered; several stand one after the other, each with its weight behind @: a.sql@9 b.sql"}})
	}
	values, err := l.what.Scenario.Resolve(l.what.Values)
	if err != nil {
		values = l.what.Values
	}
	for _, p := range l.what.Scenario.Params {
		list = append(list, l.ownParam(p, values[p.Name]))
	}
	return append(list, l.generalParams(maxConnections)...)
}

// ownParam is a parameter of the scenario.
func (l *load) ownParam(p workload.Param, value int64) param {
	begun, given := l.first.Values[p.Name]
	if !given {
		begun = p.Default
	}
	st := ParamState{Name: p.Name, Value: whole(value), Default: whole(begun), Meaning: p.Meaning}
	if p.Min != math.MinInt64 {
		st.Min = whole(p.Min)
	}
	if p.Max != math.MaxInt64 {
		st.Max = whole(p.Max)
	}
	return param{st, func(value string) error {
		n, err := wholeNumber(p.Name, value)
		if err != nil {
			return err
		}
		next := workload.Values{p.Name: n}
		for name, v := range l.what.Values {
			if name != p.Name {
				next[name] = v
			}
		}
		full, err := l.what.Scenario.Resolve(next)
		if err != nil {
			return err
		}
		if _, err := l.what.Scenario.Work(full); err != nil {
			return err
		}
		l.what.Values = next
		return nil
	}}
}

// generalParams are those that every load has.
func (l *load) generalParams(maxConnections int) []param {
	mode := l.mode()
	modes := []string{script.Simple.String(), script.Extended.String(), script.Prepared.String()}
	return []param{
		l.count(paramClients, &l.what.Clients, l.first.Clients, 1, clientLimit(maxConnections),
			"connections that run transactions at the same time (-c)"),
		l.count(paramThreads, &l.what.Threads, l.first.Threads, 0, maxThreads,
			"OS threads that drive the clients (-j); 0 is half of the CPUs"),
		{ParamState{Name: paramProtocol, Value: mode(l.what.Mode), Default: mode(l.first.Mode), Text: true, Choices: modes,
			Meaning: "how statements are sent (-M)"}, func(value string) error {
			m, err := script.ParseMode(value)
			if err != nil {
				return fmt.Errorf("%s must be one of %s", paramProtocol, strings.Join(modes, ", "))
			}
			l.what.Mode = &m
			return nil
		}},
		{ParamState{Name: paramRate, Value: plainNumber(l.what.Rate), Default: plainNumber(l.first.Rate), Min: "0",
			Meaning: "transactions that begin in a second, all clients together (-R); 0 is as many as they can"}, func(value string) (err error) {
			l.what.Rate, err = number(paramRate, value, 0, maxRate)
			return err
		}},
		l.timeParam(paramDuration, &l.what.Duration, l.first.Duration, time.Second, 0,
			"seconds until it stops by itself (-T); 0 is until it is stopped"),
		l.timeParam(paramApdex, &l.apdexT, DefaultApdexT, time.Millisecond, 0.001,
			"milliseconds within which a transaction satisfies; the Apdex counts up to four times that as half"),
	}
}

// Limits of what can be typed, far above what makes sense, so that a slip of the
// finger is told and not obeyed.
const (
	maxThreads = 1024
	maxRate    = 1e9
	maxUnits   = 1e9 // of a duration
)

// connectionsLeft is what a load leaves of max_connections: the default of
// superuser_reserved_connections, and pgtlb's own sessions. workload.Room counts exactly,
// when the load starts.
const connectionsLeft = 3 + workload.OwnSessions

// clientLimit is how many clients a load can have; 0 where it is not known.
func clientLimit(maxConnections int) int {
	if maxConnections == 0 {
		return 0
	}
	return max(1, maxConnections-connectionsLeft)
}

// mode gives the name of a protocol mode, the work's own where none is chosen.
func (l *load) mode() func(*script.Mode) string {
	own := script.Simple
	if values, err := l.what.Scenario.Resolve(l.what.Values); err == nil {
		if work, err := l.what.Scenario.Work(values); err == nil {
			own = work.Mode
		}
	}
	return func(chosen *script.Mode) string {
		if chosen != nil {
			return chosen.String()
		}
		return own.String()
	}
}

// count is a parameter that is a whole number; a high of 0 is no limit.
func (l *load) count(name string, at *int, first, low, high int, meaning string) param {
	st := ParamState{Name: name, Value: strconv.Itoa(*at), Default: strconv.Itoa(first), Min: strconv.Itoa(low), Meaning: meaning}
	if high > 0 {
		st.Max = strconv.Itoa(high)
	}
	return param{st, func(value string) error {
		n, err := wholeNumber(name, value)
		switch {
		case err != nil:
			return err
		case n < int64(low):
			return fmt.Errorf("%s must be at least %d", name, low)
		case high > 0 && n > int64(high) && name == paramClients:
			return fmt.Errorf("%s must be at most %d: max_connections of the server leaves no more", name, high)
		case high > 0 && n > int64(high):
			return fmt.Errorf("%s must be at most %d", name, high)
		}
		*at = int(n)
		return nil
	}}
}

// timeParam is a duration in a unit, of at least low units.
func (l *load) timeParam(name string, at *time.Duration, first, unit time.Duration, low float64, meaning string) param {
	in := func(d time.Duration) string { return plainNumber(float64(d) / float64(unit)) }
	return param{ParamState{Name: name, Value: in(*at), Default: in(first), Min: plainNumber(low), Meaning: meaning}, func(value string) error {
		n, err := number(name, value, low, maxUnits)
		if err != nil {
			return err
		}
		*at = time.Duration(n * float64(unit))
		return nil
	}}
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func wholeNumber(name, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s must be a whole number, not %q", name, value)
	}
	return n, nil
}

func number(name, value string, low, high float64) (float64, error) {
	v, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || math.IsNaN(v):
		return 0, fmt.Errorf("%s must be a number, not %q", name, value)
	case v < low:
		return 0, fmt.Errorf("%s must be at least %s", name, plainNumber(low))
	case v > high:
		return 0, fmt.Errorf("%s must be at most %s", name, plainNumber(high))
	}
	return v, nil
}

// setParam gives a parameter another value, or says why not.
func (s *Session) setParam(c SetParam) {
	if c.Key < 1 || c.Key > len(s.loads) {
		s.notify(true, fmt.Sprintf("no scenario has key %d", c.Key))
		return
	}
	l := s.loads[c.Key-1]
	if c.Name == paramScript && l.isCustom() {
		s.chooseScripts(l, c)
		return
	}
	value, err := s.setOwn(l, c)
	s.answer(l, c, value, err)
}

// setOwn gives a parameter that is no script a value, and says which.
func (s *Session) setOwn(l *load, c SetParam) (value string, err error) {
	if err := l.changeable(c.Name); err != nil {
		return "", err
	}
	list := l.parameters(s.st.Server.MaxConnections)
	i := slices.IndexFunc(list, func(p param) bool { return p.Name == c.Name })
	if i < 0 {
		return "", fmt.Errorf("there is no parameter %q", c.Name)
	}
	if value = strings.TrimSpace(c.Value); value == "" {
		value = list[i].Default
	}
	return value, list[i].set(value)
}

// changeable refuses to change a parameter of a load at work.
func (l *load) changeable(name string) error {
	if l.status != LoadStopped && l.status != LoadFailed {
		return fmt.Errorf("it is %s: stop it, then its %s can be changed", l.status, name)
	}
	return nil
}

// answer says what became of a SetParam: to whoever types the value, and to all.
func (s *Session) answer(l *load, c SetParam, value string, err error) {
	name := l.what.Scenario.Name
	l.answered = ParamAnswer{N: l.answered.N + 1, Name: c.Name, Value: c.Value}
	if err != nil {
		l.answered.Why = err.Error()
		s.notify(true, name+": "+err.Error())
		return
	}
	l.card.fresh = false
	s.notify(false, fmt.Sprintf("%s: %s is %s", name, c.Name, value))
}

// scriptText is what the clients of a load run.
func scriptText(w *workload.Load) string {
	values, err := w.Scenario.Resolve(w.Values)
	if err != nil {
		return ""
	}
	work, err := w.Scenario.Work(values)
	if err != nil {
		return ""
	}
	if len(work.Scripts) == 1 {
		return work.Scripts[0].Text
	}
	var b strings.Builder
	for _, sc := range work.Scripts {
		fmt.Fprintf(&b, "-- %s, weight %d\n%s\n", sc.Name, sc.Weight, strings.TrimRight(sc.Text, "\n"))
	}
	return b.String()
}

// score computes the Apdex of each load in the run under way.
func (s *Session) score() {
	run := s.tl.run
	if run == nil || run.Summary == nil {
		return
	}
	for _, l := range s.loads {
		name := l.what.Scenario.Name
		h := run.Summary.Latency[name]
		if l.status != LoadRunning {
			continue
		}
		l.apdex = apdex(h, int64(run.Summary.Of(probes.Failed, name).Total), l.apdexT)
	}
}
