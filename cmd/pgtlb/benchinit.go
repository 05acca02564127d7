package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// benchInit makes pgbench's tables, as pgbench -i does.
func (a *app) benchInit(ctx context.Context, b *benchFlags, args []string) error {
	if !b.allowLoad {
		return errAllowLoad
	}
	s, err := b.server(ctx, args)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	tables := workload.PgbenchTables{Scale: int64(b.scale), Fillfactor: b.fillfactor, Unlogged: b.unlogged,
		ForeignKeys: b.foreignKeys, NoVacuum: b.noVacuum}
	found, err := workload.FindPgbenchTables(ctx, s.conn)
	if err != nil {
		return err
	}
	lines := append([]string{"pgbench's tables on a server that pgtlb did not start:"}, s.lines()...)
	lines = append(lines, fmt.Sprintf("  makes        tables of scale %d, about %s", b.scale, probes.Memory(float64(tables.Estimate())/1024)))
	lines = append(lines, replaced(found)...)
	if err := a.confirm(ctx, lines, "Make them?", b.lab.yes, "nothing was made"); err != nil {
		return err
	}
	start := time.Now()
	said := start
	err = tables.Make(ctx, s.connect, func(p workload.Progress) {
		if p.Done < p.Total && time.Since(said) < sayEvery {
			return
		}
		said = time.Now()
		_, _ = fmt.Fprintf(a.err, "%-8s %s, %d of %d %s (%.1f s)\n", p.Phase, p.Detail, p.Done, p.Total, p.Unit, time.Since(start).Seconds())
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.err, "done in %.2f s\n", time.Since(start).Seconds())
	return nil
}

// sayEvery is the time between two lines about one step, as in pgbench -i -q.
const sayEvery = 5 * time.Second

// replaced names the tables that are there already.
func replaced(found []workload.PgbenchTable) []string {
	var ours, others []string
	for _, t := range found {
		if t.Ours {
			ours = append(ours, t.Name)
		} else {
			others = append(others, t.Name)
		}
	}
	var lines []string
	if len(ours) > 0 {
		lines = append(lines, "  replaces     "+strings.Join(ours, ", ")+", which pgtlb made")
	}
	if len(others) > 0 {
		lines = append(lines, "  REPLACES     "+strings.Join(others, ", ")+", which pgtlb did NOT make: their rows are lost")
	}
	return lines
}
