package trial

// StepMeta says which step of an experiment a run is.
type StepMeta struct {
	Experiment string `json:"experiment"` // its name
	Factor     string `json:"factor"`     // the setting that is varied: "huge_pages"
	Arm        string `json:"arm"`        // the value in this run: "4kB"
	// Block counts from 1; runs of one block are held against each other. 0 are the
	// identical runs before the first change.
	Block int `json:"block"`
	// Position is the step's place in the experiment, from 1, in the order in which
	// the steps were made.
	Position int `json:"position"`
	// Seen is the value as the sessions of the load read it themselves; for page sizes
	// with the proof.
	Seen string `json:"seen,omitempty"`
	// OutOfOrder is set for a repetition of a failed step at the end.
	OutOfOrder bool `json:"out_of_order,omitempty"`
}
