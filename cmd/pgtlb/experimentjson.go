package main

import (
	"encoding/json"

	"pgtlb/workload/experiment"
	"pgtlb/workload/trial"
)

// experimentObject is the JSON of pgtlb experiment: that of pgtlb compare, and how its
// runs were made. Without a run of each arm there are no rows.
type experimentObject struct {
	trial.Comparison
	Plan  experiment.Plan   `json:"plan"`
	Steps []experiment.Made `json:"steps"` // that were made, in order
	Left  int               `json:"left"`  // steps still to be made
	End   *experiment.End   `json:"end"`
	// WithRepeats also counts steps that were repeated out of order; null where there
	// are none.
	WithRepeats *trial.Comparison `json:"with_repeats"`
}

func (a *app) encodeExperiment(j *experiment.Journal, f found) error {
	o := experimentObject{Plan: j.Plan, Steps: append([]experiment.Made{}, j.Made...), Left: len(j.Left()), End: j.End, WithRepeats: f.withRepeats}
	o.Arms, o.Rows, o.Warnings, o.Audit, o.Background = []trial.ArmName{}, []trial.Row{}, []string{}, []trial.AuditLine{}, []trial.BackgroundRow{}
	if o.Sentence = notYet(j); f.result != nil {
		o.Comparison = *f.result
	}
	o.Experiment = j.Plan.Name
	return json.NewEncoder(a.out).Encode(o)
}
