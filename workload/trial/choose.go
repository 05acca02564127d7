package trial

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pgtlb/workload/experiment"
)

// Arms reads what a person named as the sides of a comparison. Each word is an arm:
// a run, several runs joined by commas, a glob over run names or files, or
// EXPERIMENT:ARM. One word alone may be the name of an experiment, whose arms are
// then all there are, in the order of their first runs.
func (s *Store) Arms(words []string) ([]ArmRuns, error) { return s.arms(words, Read) }

// arms reads the sides of a comparison; read reads the file of a run.
func (s *Store) arms(words []string, read func(path string) (*Run, error)) ([]ArmRuns, error) {
	if len(words) == 1 {
		arms, err := s.experiment(words[0], read)
		if err != nil || len(arms) > 1 {
			return arms, err
		}
		if len(arms) == 1 {
			return nil, fmt.Errorf("experiment %s has runs of one arm only, %s", words[0], arms[0].Name)
		}
	}
	var out []ArmRuns
	for _, w := range words {
		arm, err := s.arm(w, read)
		if err != nil {
			return nil, err
		}
		out = append(out, arm)
	}
	return unlike(out)
}

// unlike refuses a run that is in two arms, and gives arms of one name numbers.
func unlike(arms []ArmRuns) ([]ArmRuns, error) {
	type recording struct {
		name    string
		created time.Time
	}
	in := map[recording]string{}
	names := map[string]int{}
	for i := range arms {
		for _, r := range arms[i].Runs {
			// Files elsewhere may have a name that another run has too.
			k := recording{r.Meta.Name, r.Meta.Created.Round(0).UTC()}
			if other, twice := in[k]; twice {
				return nil, fmt.Errorf("run %s is in %s and in %s: a run held against itself shows no difference", r.Meta.Name, other, arms[i].Name)
			}
			in[k] = arms[i].Name
		}
		names[arms[i].Name]++
		if n := names[arms[i].Name]; n > 1 {
			arms[i].Name = fmt.Sprintf("%s (%d)", arms[i].Name, n)
		}
	}
	return arms, nil
}

// arm reads the runs of one arm. Its name is the word, or what its runs have in
// common.
func (s *Store) arm(word string, read func(path string) (*Run, error)) (ArmRuns, error) {
	if name, value, ok := strings.Cut(word, ":"); ok && !isFile(word) {
		arms, err := s.experiment(name, read)
		if err != nil {
			return ArmRuns{}, err
		}
		for _, a := range arms {
			if a.Name == value {
				return a, nil
			}
		}
		if len(arms) > 0 {
			return ArmRuns{}, fmt.Errorf("experiment %s has no arm %s; it has %s", name, value, strings.Join(armNames(arms), ", "))
		}
	}
	arm := ArmRuns{Name: word}
	parts := strings.Split(word, ",")
	if isFile(word) {
		parts = []string{word}
	}
	for _, part := range parts {
		paths, err := s.glob(part)
		if err != nil {
			return arm, err
		}
		for _, path := range paths {
			run, err := read(path)
			if err != nil {
				return arm, err
			}
			arm.Runs = append(arm.Runs, run)
		}
	}
	if len(arm.Runs) == 1 {
		arm.Name = arm.Runs[0].Meta.Name
	}
	return arm, nil
}

// glob finds the run files of a word, in the store or, where it has a slash or ends
// like a run file, on disk.
func (s *Store) glob(word string) ([]string, error) {
	if !strings.ContainsAny(word, "*?[") {
		path, err := s.Resolve(word)
		return []string{path}, err
	}
	pattern := s.path(strings.TrimSuffix(word, Extension))
	if strings.ContainsRune(word, filepath.Separator) {
		pattern = word
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return !isFile(p) })
	if len(paths) == 0 {
		return nil, fmt.Errorf("no run is named like %s in %s", word, filepath.Dir(pattern))
	}
	return paths, nil
}

func armNames(arms []ArmRuns) []string {
	var out []string
	for _, a := range arms {
		out = append(out, a.Name)
	}
	return out
}

// experiment reads the runs of an experiment; none where no run is of one by that
// name.
func (s *Store) experiment(name string, read func(path string) (*Run, error)) ([]ArmRuns, error) {
	j, err := experiment.Exact(s.dir, name)
	if err == nil {
		// Its journal knows which runs were made well and in their turn.
		arms, err := s.journalArms(j, false, read)
		return slices.DeleteFunc(arms, func(a ArmRuns) bool { return len(a.Runs) == 0 }), err
	}
	if !errors.Is(err, experiment.ErrNone) {
		return nil, err
	}
	list, err := s.List()
	if err != nil {
		return nil, err
	}
	var runs []*Run
	for _, info := range list {
		if info.Step == nil || info.Step.Experiment != name {
			continue
		}
		run, err := read(info.Path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return armsOf(inTime(runs), func(r *Run) string { return r.Meta.Step.Arm }), nil
}

// armsOf groups runs by a name, in the order of the first of each.
func armsOf(runs []*Run, name func(*Run) string) []ArmRuns {
	var out []ArmRuns
	for _, r := range runs {
		n := name(r)
		at := slices.IndexFunc(out, func(a ArmRuns) bool { return a.Name == n })
		if at < 0 {
			out = append(out, ArmRuns{Name: n})
			at = len(out) - 1
		}
		out[at].Runs = append(out[at].Runs, r)
	}
	return out
}
