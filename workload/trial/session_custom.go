package trial

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"pgtlb/workload"
	"pgtlb/workload/script"
)

// A custom load runs script files that are chosen on the screen.
const (
	customName    = "custom"
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
	weights := make([]int, 0, len(specs))
	for _, spec := range specs {
		name, weight, err := script.ParseSpec(spec)
		if err != nil {
			return workload.Scenario{}, err
		}
		text, err := readScript(name)
		if err != nil {
			return workload.Scenario{}, err
		}
		if _, err := script.Parse(name, text); err != nil {
			return workload.Scenario{}, err
		}
		work.Scripts = append(work.Scripts, workload.Script{Name: name, Text: text, Weight: weight})
		weights = append(weights, weight)
	}
	if _, err := script.NewChooser(weights...); err != nil {
		return workload.Scenario{}, err
	}
	sc := noScript()
	sc.Summary = "runs " + strings.Join(specs, " ")
	sc.Work = func(workload.Values) (workload.Work, error) { return work, nil }
	return sc, nil
}

// readScript reads a script file. It does not open what may block.
func readScript(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the script: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("reading the script: %s is not a regular file", name)
	case info.Size() > maxScript:
		return "", fmt.Errorf("reading the script: %s has %s, more than a script has (1 MB)", name, Memory(float64(info.Size())/1024))
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading the script: %w", err)
	}
	return string(text), nil
}

// chooseScripts reads the files of a custom load and takes them, or shows what
// is wrong with them and keeps the ones before.
func (s *Session) chooseScripts(l *load, files string) {
	specs := shellWords(files)
	if len(specs) == 0 {
		s.notify(true, customName+": "+errNoScript.Error())
		return
	}
	s.inOrder(func() {
		sc, err := customScenario(specs)
		s.post(func() { s.scriptsChosen(l, files, sc, err) })
	})
}

func (s *Session) scriptsChosen(l *load, files string, sc workload.Scenario, err error) {
	l.fault = nil
	var fault *script.Error
	switch {
	case err == nil && l.status != LoadStopped && l.status != LoadFailed:
		err = fmt.Errorf("it was started meanwhile; stop it, then its %s can be changed", paramScript)
	case errors.As(err, &fault) && fault.Line > 0:
		l.fault = append([]string{fault.Error()}, strings.Split(fault.Spot(), "\n")...)
	}
	if err != nil {
		s.notify(true, customName+": "+err.Error())
		return
	}
	l.what.Scenario, l.files, l.card.fresh = sc, files, false
	s.notify(false, fmt.Sprintf("%s: %s is %s", customName, paramScript, files))
}
