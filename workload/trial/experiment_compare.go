package trial

import (
	"fmt"

	"pgtlb/workload/experiment"
)

// CompareExperiment holds the arms of an experiment against its first one, by the
// runs that its journal says were made well; withRepeats also takes those that were
// made again out of order. The error says why there is nothing to compare yet.
func CompareExperiment(store *Store, j *experiment.Journal, withRepeats bool) (Comparison, error) {
	arms, err := store.journalArms(j, withRepeats)
	if err != nil {
		return Comparison{}, err
	}
	// What else its runs may differ in, a lab made anew for example, is a warning.
	return CompareArms(arms[0], arms[1:], CompareOptions{Margin: j.Plan.Margin, Force: true})
}

// journalArms reads the runs of each arm that a journal says were made well.
func (s *Store) journalArms(j *experiment.Journal, withRepeats bool) ([]ArmRuns, error) {
	arms := make([]ArmRuns, len(j.Plan.Values))
	for i, name := range j.Plan.Arms() {
		arms[i].Name = name
		for _, run := range j.Runs(i, withRepeats) {
			r, err := s.Load(run)
			if err != nil {
				return nil, fmt.Errorf("reading the runs of experiment %s: %w", j.Plan.Name, err)
			}
			arms[i].Runs = append(arms[i].Runs, r)
		}
	}
	return arms, nil
}
