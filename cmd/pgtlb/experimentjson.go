package main

import (
	"pgtlb/workload/experiment"
)

// experimentObject is the experiment in the JSON of its verb.
type experimentObject struct {
	experiment.Plan
	Arms []string          `json:"arms"`
	Made []experiment.Made `json:"made"`
	Left int               `json:"left"` // steps
	End  *experiment.End   `json:"end"`
}

func experimentJSON(j *experiment.Journal) any {
	return struct {
		Experiment experimentObject `json:"experiment"`
	}{experimentObject{j.Plan, j.Plan.Arms(), j.Made, len(j.Left()), j.End}}
}
