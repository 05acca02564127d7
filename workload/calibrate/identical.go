package calibrate

import (
	"context"
	"fmt"

	"pgtlb/probes"
)

// identical runs the same again and again: what differs is noise.
func (s *stand) identical(ctx context.Context) error {
	clients, mode := s.o.Clients[0], s.o.Modes[0]
	for round := range s.o.Rounds {
		before := observe(s.o.Roots, s.cluster.Pid())
		// Always round 0: identical runs draw identical numbers.
		d, err := s.drive(ctx, 0, clients, mode)
		if err != nil {
			return err
		}
		if s.report.AA == nil {
			s.report.AA = &Identical{Setting: s.o.setting(clients, mode)}
		}
		around := observe(s.o.Roots, s.cluster.Pid()).since(before, 0)
		s.report.AA.Runs = append(s.report.AA.Runs, IdenticalRun{d.Measured, around})
		s.times.ran(1)
		s.say(AA, round, fmt.Sprintf("%s TPS", probes.Number(d.TPS)))
	}
	return nil
}
