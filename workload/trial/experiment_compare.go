package trial

import (
	"fmt"
	"path/filepath"

	"pgtlb/workload/experiment"
)

// CompareExperiment holds the arms of an experiment against its first one, by the
// runs that its journal says were made well; withRepeats also takes those that were
// made again out of order. The error says why there is nothing to compare yet.
func CompareExperiment(store *Store, j *experiment.Journal, withRepeats bool) (Comparison, error) {
	arms, err := store.journalArms(j, withRepeats, Read)
	if err != nil {
		return Comparison{}, err
	}
	// What else its runs may differ in, a lab made anew for example, is a warning.
	return CompareArms(arms[0], arms[1:], CompareOptions{Margin: j.Plan.Margin, Force: true})
}

// journalArms reads the runs of each arm that a journal says were made well; read reads
// the file of a run.
func (s *Store) journalArms(j *experiment.Journal, withRepeats bool, read func(path string) (*Run, error)) ([]ArmRuns, error) {
	arms := make([]ArmRuns, len(j.Plan.Values))
	for i, name := range j.Plan.Arms() {
		arms[i].Name = name
		for _, m := range j.Counting(i, withRepeats) {
			r, err := s.runOf(j, m, read)
			if err != nil {
				return nil, fmt.Errorf("reading the runs of experiment %s: %w", j.Plan.Name, err)
			}
			arms[i].Runs = append(arms[i].Runs, r)
		}
	}
	return arms, nil
}

// runOf reads the run of a step: the file of its name or, where that has another name
// now, the one that was recorded under it. No other run is taken for it.
func (s *Store) runOf(j *experiment.Journal, m experiment.Made, read func(path string) (*Run, error)) (*Run, error) {
	of := func(step *StepMeta) bool {
		return step != nil && step.Experiment == j.Plan.Name && step.Position == m.Step.Position && step.OutOfOrder == m.Step.Repeat
	}
	if path := s.path(m.Run); m.Run == filepath.Base(m.Run) && isFile(path) {
		r, err := read(path)
		if err != nil || of(r.Meta.Step) {
			return r, err
		}
	}
	list, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, info := range list {
		if info.Recorded == m.Run && of(info.Step) {
			return read(info.Path)
		}
	}
	return nil, fmt.Errorf("there is no run %s of its step %d in %s", m.Run, m.Step.Position, s.dir)
}
