package main

import (
	"slices"
	"strings"
	"testing"

	"pgtlb/workload"
)

// TestMakesBeforeTheYes: the confirmation names tables, extensions and role.
func TestMakesBeforeTheYes(t *testing.T) {
	w := &benched{load: workload.Load{Scenario: workload.RowSecurity()}}
	values, err := w.load.Scenario.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.load.Values = values
	got := makes(w)
	want := []string{
		"  makes        its tables in schema pgtlb, about ",
		"               extensions pg_prewarm and pg_buffercache in schema pgtlb",
		"               role pgtlb_reader, which all databases of the server share",
		"               only what is not there yet; pgtlb bench --cleanup removes it",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if got := makes(&benched{pgbench: true}); len(got) != 1 || !strings.Contains(got[0], "nothing") {
		t.Errorf("scripts alone: %q", got)
	}
}
