package script

import "fmt"

// MaxScripts is how many scripts one run may choose from.
const MaxScripts = 128

// Program is the scripts of one run, with their variables numbered in common. It does not change any more and may be
// used by any number of goroutines.
type Program struct {
	Scripts []*Script
	names   *names
	slots   [][]int // per script: its variables in the numbering of the program
}

// Link makes a program that runs in a mode.
func Link(mode Mode, scripts ...*Script) (*Program, error) {
	switch {
	case len(scripts) == 0:
		return nil, fmt.Errorf("no scripts to run")
	case len(scripts) > MaxScripts:
		return nil, fmt.Errorf("at most %d SQL scripts are allowed", MaxScripts)
	}
	p := &Program{Scripts: scripts, names: newNames()}
	for _, s := range scripts {
		if err := s.Check(mode); err != nil {
			return nil, err
		}
		slots := make([]int, len(s.names.list))
		for i, name := range s.names.list {
			slots[i] = p.names.add(name)
		}
		p.slots = append(p.slots, slots)
	}
	return p, nil
}
