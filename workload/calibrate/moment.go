package calibrate

import (
	"time"

	"pgtlb/probes"
)

// moment is what has been used up to a time; what could not be read is nil.
type moment struct {
	machine *probes.CPUTime
	server  *time.Duration
	own     time.Duration
	load    *float64
}

// observe reads a moment. Figures that cannot be read are left out: they only
// say how quiet the machine was.
func observe(roots probes.Roots, postmaster int) moment {
	m := moment{own: probes.OwnCPU()}
	if t, err := probes.ReadCPUTime(roots); err == nil {
		m.machine = &t
	}
	if t, err := probes.FamilyCPU(roots, postmaster); err == nil {
		m.server = &t
	}
	if l, err := probes.LoadAverage(roots); err == nil {
		m.load = &l
	}
	return m
}

// since is what happened around the runs between two moments, in which the
// children of pgtlb that have ended, and are not the server, used that much.
func (m moment) since(before moment, children time.Duration) Around {
	a := Around{LoadAvg: m.load}
	if m.machine == nil || before.machine == nil {
		return a
	}
	busy, steal := m.machine.Busy-before.machine.Busy, m.machine.Steal-before.machine.Steal
	all := busy + steal + m.machine.Idle - before.machine.Idle
	if all <= 0 {
		return a
	}
	of := func(d time.Duration) *float64 {
		p := 100 * float64(max(0, d)) / float64(all) // ticks and exact times do not agree to the last
		return &p
	}
	if m.machine.HasSteal {
		a.Steal = of(steal)
	}
	if m.server != nil && before.server != nil {
		a.Other = of(busy - (m.own - before.own) - (*m.server - *before.server) - children)
	}
	return a
}
