package probes

import (
	"context"
	"errors"
)

// ErrUnavailable is wrapped by every error that says "this cannot be measured
// here". Such an error is an *Unavailable with a reason and a remedy.
var ErrUnavailable = errors.New("unavailable")

// Unavailable says why something cannot be measured and what would help.
type Unavailable struct {
	What   string // the metric, probe or file
	State  State  // in which way; empty where that is not known
	Reason string
	Remedy string // empty when nothing helps
}

func (u *Unavailable) Error() string {
	s := u.What + " unavailable: " + u.Reason
	if u.Remedy != "" {
		s += "; " + u.Remedy
	}
	return s
}

func (u *Unavailable) Unwrap() error { return ErrUnavailable }

// Probe reads one source. Its methods are called by one goroutine at a time.
type Probe interface {
	// Name is short, unique among the probes of a sampler, and stable.
	Name() string
	// Metrics describes the readings as they were opened: source and scope are
	// those really in use. It does not change over the life of the probe.
	Metrics() []Metric
	// Read returns what could be read. With an error the batch may still hold
	// readings; both count. The error says why the rest is missing.
	Read(ctx context.Context) (Batch, error)
	Close() error
}
