package main

import (
	"context"
	"fmt"

	"pgtlb/probes"
	"pgtlb/workload"
)

// benchCleanup removes what pgtlb made in a database.
func (a *app) benchCleanup(ctx context.Context, b *benchFlags, args []string) error {
	s, err := b.server(ctx, args)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	all, err := workload.Marked(ctx, s.conn)
	if err != nil {
		return err
	}
	lines := append([]string{"what pgtlb made in this database:"}, s.lines()...)
	going := 0
	for _, o := range all {
		if o.Kept == "" {
			going++
			lines = append(lines, "  removes      "+probes.Clean(o.String())+sizeOf(o))
		} else {
			lines = append(lines, "  keeps        "+probes.Clean(o.String()+": "+o.Kept))
		}
	}
	if going == 0 {
		lines = append(lines, "  nothing is to be removed")
		for _, l := range lines {
			_, _ = fmt.Fprintln(a.err, l)
		}
		return nil
	}
	if err := a.confirm(ctx, lines, "Remove it?", b.lab.yes, "nothing was removed"); err != nil {
		return err
	}
	left := 0
	err = workload.Cleanup(ctx, s.conn, func(o workload.Object) {
		what := "removed "
		if o.Kept != "" {
			what = "kept    "
			o.Name += ": " + o.Kept
			left++
		}
		_, _ = fmt.Fprintln(a.err, what+probes.Clean(o.String()))
	})
	if err != nil {
		return err
	}
	if kept := len(all) - going; left > kept {
		return &exitError{exitNo, fmt.Errorf("%s could not be removed", probes.Plural(left-kept, "object"))}
	}
	return nil
}

// sizeOf is the size of a table, in brackets.
func sizeOf(o workload.Object) string {
	if o.Bytes == 0 {
		return ""
	}
	return " (" + probes.Memory(float64(o.Bytes)/1024) + ")"
}
