package trial

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReplayRefusesItselfAsBaseline(t *testing.T) {
	s := store(t)
	other := published2MB()
	run, err := Read(record(t, s.Dir(), published4kB()))
	if err != nil {
		t.Fatal(err)
	}
	record(t, s.Dir(), other)
	own := run.Meta.Name
	if err := s.SetBaseline(own); err != nil {
		t.Fatal(err)
	}
	reports := t.TempDir()
	r := NewReplay(run, s, reports)
	r.command(ToggleCompare{})
	r.command(ChooseBaseline{Name: own})
	if r.st.Compare || r.tl.base != nil {
		t.Error("the run was laid under itself")
	}
	for _, n := range r.st.Notices {
		if !n.Error || !strings.Contains(n.Text, "is the run itself") {
			t.Errorf("notice %+v", n)
		}
	}
	if len(r.st.Notices) != 2 {
		t.Errorf("%d notices, want one for each key", len(r.st.Notices))
	}
	if _, err := writeReport(s, reports, run, own); err == nil || !strings.Contains(err.Error(), "is the run itself") {
		t.Errorf("report against itself: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(reports, "*")); len(files) > 0 {
		t.Errorf("reports were written: %v", files)
	}
	if err := r.UseBaseline(other.meta.Name); err != nil || !r.st.Compare {
		t.Errorf("another run as baseline: %v", err)
	}
}
