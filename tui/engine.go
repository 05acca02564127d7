package tui

import (
	"context"

	"pgtlb/workload/trial"
)

// Engine is what the screen needs of a session; *trial.Session and
// *trial.Replay satisfy it.
type Engine interface {
	// Next blocks until there is a state newer than the one returned last, and
	// returns io.EOF when the session is over.
	Next(ctx context.Context) (trial.State, error)
	// Do asks for something. It never blocks; the outcome shows in a later state.
	Do(trial.Command)
	// Runs lists the stored runs, newest first.
	Runs(ctx context.Context) ([]trial.RunInfo, error)
}
