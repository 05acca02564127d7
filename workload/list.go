package workload

import (
	"fmt"
	"strings"
)

// List returns every scenario, in the order of the keys that start them. The
// slice is the caller's own.
func List() []Scenario {
	return []Scenario{
		PointSelect(),
		JoinAggregate(),
		ManyBackends(),
		IdleCrowd(),
		SbtestPointSelect(),
		SbtestReadOnly(),
		SbtestReadWrite(),
		Commit(),
		SingleSession(),
		Planning(),
		TempTables(),
		Report(),
		RowSecurity(),
		Churn(),
	}
}

// Find returns the scenario of that name. The error of an unknown name lists
// those there are.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range List() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
}
