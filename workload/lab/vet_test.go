package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgtlb/workload/lab/labtest"
)

// TestVet asks the real programs of every version that is here, before any cluster is made, and leaves nothing.
func TestVet(t *testing.T) {
	needServer(t)
	found, _, err := NewFinder().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		t.Run(fmt.Sprint(s.Major), func(t *testing.T) { vet(t, s) })
	}
}

func vet(t *testing.T, s Server) {
	v, err := Vet(t.Context(), Options{Server: s, Parent: labParent(t), SharedBuffers: "32MB", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	loads := map[string]string{"pg_stat_statements.max": "200", "shared_preload_libraries": `auto_explain, "$libdir/pg_stat_statements"`}
	if got, err := v.Takes(t.Context(), Change{Settings: loads}, "pg_stat_statements.max"); err != nil || got != "200" {
		t.Errorf("of a library that is loaded: %q, %v", got, err)
	}
	for _, c := range []struct{ name, value, understood, refuses string }{
		{"shared_buffers", "128MB", "16384", ""},
		{"work_mem", "4MB", "4096", ""},
		{"work_mem", "4096kB", "4096", ""},
		{"jit", "yes", "on", ""},
		{"huge_pages", "3kB", "", `invalid value for parameter "huge_pages": "3kB"; Available values: off, on, try`},
		{"shared_bufers", "1GB", "", `unrecognized configuration parameter "shared_bufers": PostgreSQL ` + s.Version + " has no setting of that name; did you mean shared_buffers?"},
		{"no_such_thing_at_all", "1", "", "has no setting of that name"},
		{"block_size", "4096", "", "block_size cannot be set: it is fixed when the server is built"},
		{"bgwriter_delay", "1min", "", `outside the valid range for parameter "bgwriter_delay"`},
		{"work_mem", "lots", "", `invalid value for parameter "work_mem": "lots"`},
		{"shared_buffers", "900TB", "", "shared_buffers of 900 TB do not fit into the "},
		{"pg_stat_statements.max", "200", "", "add --set shared_preload_libraries=pg_stat_statements"},
		{"port", "1", "", "setting port: a lab sets it itself"},
	} {
		got, err := v.Takes(t.Context(), Change{Settings: map[string]string{c.name: c.value}}, c.name)
		switch {
		case c.refuses == "" && (err != nil || got != c.understood):
			t.Errorf("%s = %s: %q, %v", c.name, c.value, got, err)
		case c.refuses != "" && (err == nil || !strings.Contains(err.Error(), c.refuses) || strings.ContainsAny(err.Error(), "\n/")):
			t.Errorf("%s = %s: %v", c.name, c.value, err)
		}
	}
}

// A pool that is short for shared_buffers alone, and cannot be grown, is said before there is a cluster.
func TestVetWeighsThePool(t *testing.T) {
	s := needServer(t)
	m, err := readMemory(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	labtest.Pools(t)
	needPool(t)
	v, err := Vet(t.Context(), Options{Server: s, Parent: labParent(t), SharedBuffers: "32MB"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	most := map[string]string{"shared_buffers": itoa(int(m.Total/100*95>>20)) + "MB"}
	_, err = v.Takes(t.Context(), Change{Pages: Pages2MB, Settings: most}, "huge_pages")
	if err == nil {
		t.Fatal("it is taken")
	}
	wantIn(t, err.Error(), "alone: ", " pages short: ", "as root: `echo ")
}
