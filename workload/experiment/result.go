package experiment

import "pgtlb/workload/verdict"

// Result is what the primary figures say of an arm against the first one.
type Result struct {
	Arm     int
	Pairs   []verdict.Pair // by block, in their order
	Floor   float64        // spread of the identical runs, all of the first arm; 0 where it is not known
	Outcome verdict.Outcome
}

// Results holds each arm against the first, block by block. A block counts where
// both runs were made well; withRepeats also takes those that were made again out of
// order.
func (j *Journal) Results(withRepeats bool) []Result {
	floor, _ := verdict.Spread(j.identical())
	rule := verdict.Usual(floor)
	rule.Margin = j.Plan.Margin
	var out []Result
	for arm := 1; arm < len(j.Plan.Values); arm++ {
		r := Result{Arm: arm, Floor: floor}
		for block := 1; block <= j.Plan.Pairs; block++ {
			base, okBase := j.figure(block, 0, withRepeats)
			cand, okCand := j.figure(block, arm, withRepeats)
			if okBase && okCand {
				r.Pairs = append(r.Pairs, verdict.Pair{Base: base, Cand: cand})
			}
		}
		r.Outcome, _ = verdict.Paired(r.Pairs, rule) // figures are positive, else the step failed
		out = append(out, r)
	}
	return out
}

// figure is that of the run of a block and arm.
func (j *Journal) figure(block, arm int, withRepeats bool) (float64, bool) {
	for _, m := range j.Made {
		if m.State == Done && m.Primary > 0 && m.Step.Block == block && m.Step.Arm == arm && (withRepeats || !m.Step.Repeat) {
			return m.Primary, true
		}
	}
	return 0, false
}

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

// Repeated tells whether a run counts only where repetitions do.
func (j *Journal) Repeated() bool {
	for _, m := range j.Made {
		if m.State == Done && m.Step.Repeat {
			return true
		}
	}
	return false
}
