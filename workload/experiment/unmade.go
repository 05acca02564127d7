package experiment

// Unmade are the steps of the plan that were not made well: those that failed and
// were not repeated with success, and those that are still to be made.
func (j *Journal) Unmade() (failed []Made, left []Step) {
	for _, m := range j.Made {
		if (m.State == Failed || m.State == Hung) && !m.Step.Repeat && !j.succeeded(m.Step) {
			failed = append(failed, m)
		}
	}
	return failed, j.Left()
}

// Ahead are the steps that going on makes: those that are left and, where the plan
// repeats them, those that failed.
func (j *Journal) Ahead() []Step {
	ahead := j.Left()
	if j.Plan.RepeatFailed {
		ahead = append(ahead, j.failed()...)
	}
	return ahead
}

// Repeated tells whether a run counts only where repetitions do.
func (j *Journal) Repeated() bool {
	for _, m := range j.Made {
		if m.State == Done && m.Step.Repeat {
			return true
		}
	}
	return false
}
