//go:build !linux

package perf

import (
	"context"
	"runtime"
)

// Set is a set of open events; there is none on this system.
type Set struct{}

// Open returns an *Unavailable: perf events exist only on Linux.
func Open(Options) (*Set, []Missing, error) {
	return nil, nil, &Unavailable{Reason: "perf events exist only on Linux, this is " + runtime.GOOS}
}

// Ask has no kernel to ask.
func Ask(Options, ...string) Asked { return Asked{Facts: Facts{NoSysctl: true}} }

// Read returns dst.
func (*Set) Read(dst []Reading) ([]Reading, []Missing, error) { return dst, nil, nil }

// SelfTest finds nothing.
func (*Set) SelfTest(context.Context) ([]Missing, error) { return nil, nil }

// Events returns nil.
func (*Set) Events() []Event { return nil }

// CPU returns the zero CPU.
func (*Set) CPU() CPU { return CPU{} }

// Close does nothing.
func (*Set) Close() error { return nil }
