//go:build !unix

package probes

import "time"

// OwnCPU is not known on this system.
func OwnCPU() time.Duration { return 0 }
