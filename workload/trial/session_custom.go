package trial

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/script"
)

// A custom load runs script files that are chosen on the screen.
const (
	customName    = workload.CustomName
	customClients = 8
	// maxScript is the most bytes that a script file may have.
	maxScript = 1 << 20
)

func (l *load) isCustom() bool { return l.first.Scenario.Name == customName }

// errNoScript is the answer to starting a custom load too early.
var errNoScript = errors.New("choose a script file first, its parameter script")

// noScript is the custom scenario before a file is chosen.
func noScript() workload.Scenario {
	return workload.Scenario{Name: customName, Version: 1, Summary: "runs a script file of your own, in pgbench's language", Clients: customClients,
		Shows: "What your own statements cost. They run as they are, in the database of this server, and change what they say they change.",
		Work:  func(workload.Values) (workload.Work, error) { return workload.Work{}, errNoScript }}
}

// customScenario reads script files, each with an optional @weight, and makes a
// scenario of them. A fault in a script is a *script.Error.
func customScenario(specs []string) (workload.Scenario, error) {
	work := workload.Work{Mode: script.Simple}
	for _, spec := range specs {
		if err := readable(spec); err != nil {
			return workload.Scenario{}, err
		}
		sc, err := workload.ReadScript(spec, nil)
		if err != nil {
			return workload.Scenario{}, err
		}
		work.Scripts = append(work.Scripts, sc)
	}
	sc, err := workload.Custom(work)
	if err != nil {
		return workload.Scenario{}, err
	}
	// On the screen it stays one entry, also with the text of a builtin.
	sc.Name, sc.Summary, sc.Shows, sc.Clients = customName, "runs "+strings.Join(specs, " "), noScript().Shows, customClients
	return sc, nil
}

// readable refuses what may block when it is read, and what is no script.
func readable(spec string) error {
	name, _, err := script.ParseSpec(spec)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("reading a script: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading a script: %s is not a regular file", name)
	case info.Size() > maxScript:
		return fmt.Errorf("reading a script: %s has %s, more than a script has (1 MB)", name, probes.Memory(float64(info.Size())/1024))
	}
	return nil
}

// chooseScripts reads the files of a custom load and takes them, or shows what
// is wrong with them and keeps the ones before.
func (s *Session) chooseScripts(l *load, c SetParam) {
	err := l.changeable(c.Name)
	specs := shellWords(c.Value)
	if err == nil && len(specs) == 0 {
		err = errNoScript
	}
	if err != nil {
		s.answer(l, c, "", err)
		return
	}
	s.inOrder(func() {
		sc, err := customScenario(specs)
		s.post(func() { s.scriptsChosen(l, c, sc, err) })
	})
}

func (s *Session) scriptsChosen(l *load, c SetParam, sc workload.Scenario, err error) {
	l.fault = nil
	var fault *script.Error
	if errors.As(err, &fault) && fault.Line > 0 {
		l.fault = append([]string{fault.Error()}, strings.Split(fault.Spot(), "\n")...)
	}
	if err == nil { // it may have been started meanwhile
		err = l.changeable(c.Name)
	}
	files := strings.TrimSpace(c.Value)
	if err == nil {
		l.what.Scenario, l.files = sc, files
	}
	s.answer(l, c, files, err)
}
