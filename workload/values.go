package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Resolve returns v with the defaults of the scenario's parameters filled in.
// It fails on a name that the scenario does not have and on a value out of range.
func (s Scenario) Resolve(v Values) (Values, error) {
	out := make(Values, len(s.Params))
	for _, p := range s.Params {
		n, given := v[p.Name]
		if !given {
			n = p.Default
		}
		if n < p.Min {
			return nil, fmt.Errorf("%s must be at least %d", p.Name, p.Min)
		}
		if n > p.Max {
			return nil, fmt.Errorf("%s must be at most %d", p.Name, p.Max)
		}
		out[p.Name] = n
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, known := out[name]; !known {
			return nil, fmt.Errorf("%s has no parameter %q; it has %s", s.Name, name, s.paramNames())
		}
	}
	return out, nil
}

// Own returns those of v that are parameters of the scenario.
func (s Scenario) Own(v Values) Values {
	own := Values{}
	for _, p := range s.Params {
		if n, given := v[p.Name]; given {
			own[p.Name] = n
		}
	}
	return own
}

func (s Scenario) paramNames() string {
	if len(s.Params) == 0 {
		return "none"
	}
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
