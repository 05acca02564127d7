package workload

import (
	"fmt"
	"io"
	"math"
	"os"

	"pgtlb/workload/script"
)

// CustomName is the name of a scenario of scripts that the user chose, unless it
// is a single builtin, which has its own name.
const CustomName = "custom"

// ReadScript reads the script of -f: FILE or FILE@WEIGHT. The file - is stdin.
func ReadScript(spec string, stdin io.Reader) (Script, error) {
	name, weight, err := script.ParseSpec(spec)
	if err != nil {
		return Script{}, err
	}
	var text []byte
	if name == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return Script{}, fmt.Errorf("reading a script: %w", err)
	}
	return Script{Name: name, Text: string(text), Weight: weight}, nil
}

// BuiltinScript is the script of -b: NAME or NAME@WEIGHT, the name in full or as
// much of it as tells it from the others.
func BuiltinScript(spec string) (Script, error) {
	name, weight, err := script.ParseSpec(spec)
	if err != nil {
		return Script{}, err
	}
	b, err := script.Builtin(name)
	if err != nil {
		return Script{}, err
	}
	return Script{Name: b.Description, Text: b.Text, Weight: weight}, nil
}

// Builtin is the name of the builtin that a script is, "" for another one.
func (s Script) Builtin() string {
	for _, b := range script.Builtins() {
		if s.Name == b.Description && s.Text == b.Text {
			return b.Name
		}
	}
	return ""
}

// Custom makes a scenario of scripts in pgbench's language. It has no data and
// works where the connection leads. Its parameter is pgbench's scale, which
// scripts see as :scale. A fault in a script is a *script.Error.
func Custom(w Work) (Scenario, error) {
	var parsed []*script.Script
	var weights []int
	name := CustomName
	for _, s := range w.Scripts {
		p, err := script.Parse(s.Name, s.Text)
		if err != nil {
			return Scenario{}, err
		}
		parsed = append(parsed, p)
		weights = append(weights, s.Weight)
		if b := s.Builtin(); b != "" && len(w.Scripts) == 1 {
			name = b
		}
	}
	if _, err := script.Link(w.Mode, parsed...); err != nil {
		return Scenario{}, err
	}
	if _, err := script.NewChooser(weights...); err != nil {
		return Scenario{}, err
	}
	return Scenario{
		Name: name, Version: 1, Clients: 1,
		Summary: "runs scripts in pgbench's language",
		Shows:   "What these scripts cost on this server.",
		Params:  []Param{{Name: "scale", Default: 1, Min: 0, Max: math.MaxInt32, Meaning: "scaling factor of pgbench's tables, :scale in scripts"}},
		Work:    func(Values) (Work, error) { return w, nil },
	}, nil
}
