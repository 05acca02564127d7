package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// runClosed takes note that the run's file is complete, or gone because the run
// was too short to keep. A baseline that was taken from it while it was written
// is read again, now whole.
func (s *Session) runClosed(dropped bool) {
	if n := len(s.recorded); dropped && n > 0 && s.tl.run != nil && s.recorded[n-1] == s.tl.run.Name {
		s.recorded = s.recorded[:n-1]
		s.tl.run = nil
		return
	}
	if s.tl.run != nil && s.tl.base != nil && s.tl.run.Name == s.tl.base.meta.Name {
		s.loadBaseline(s.tl.run.Name, nil)
	}
}

// saveBaseline takes the current or last run as the baseline.
func (s *Session) saveBaseline() {
	if s.tl.run == nil || s.tl.run.Path == "" {
		s.notify(true, "there is no run to save yet: start a scenario with its key")
		return
	}
	name := s.tl.run.Name
	said := fmt.Sprintf("baseline saved: %s (%s)", s.tl.run.Label, name)
	s.loadBaseline(name, func() error { return s.o.Store.SetBaseline(name) }, said)
}

// chooseBaseline takes a stored run as the baseline.
func (s *Session) chooseBaseline(name string) {
	s.loadBaseline(name, func() error { return s.o.Store.SetBaseline(name) }, "baseline: "+name)
}

// loadBaseline reads a run and lays it under the present one. keep, if any, is
// called once it has been read; only with it does the run take the place of
// another baseline. said is the message once that has worked.
func (s *Session) loadBaseline(name string, keep func() error, said ...string) {
	s.inOrder(func() {
		b, err := readBaseline(s.o.Store, name)
		if err == nil && keep != nil {
			err = keep()
		}
		s.post(func() {
			if err != nil {
				s.notify(true, err.Error())
				return
			}
			if keep == nil && s.tl.base != nil && s.tl.base.meta.Name != name {
				return // another one was chosen meanwhile
			}
			s.tl.setBaseline(b)
			s.compareMeta()
			for _, text := range said {
				s.notify(false, text)
			}
		})
	})
}

// readBaseline reads a run of the store as a baseline.
func readBaseline(store *Store, name string) (*baseline, error) {
	run, err := store.Load(name)
	if err != nil {
		return nil, err
	}
	if err := run.HasSamples(); err != nil {
		return nil, err
	}
	b := newBaseline(run.Meta, Frames(run))
	if len(b.state.Frames) == 0 {
		return nil, fmt.Errorf("run %s holds no figures yet: let the load run for a second or two", run.Meta.Name)
	}
	return b, nil
}

// compareMeta says what differs between the baseline and the present run.
func (s *Session) compareMeta() {
	if s.tl.base != nil && s.tl.run != nil {
		s.tl.base.state.Differs = Differs(s.tl.base.meta, s.runMeta)
	}
}

// toggleCompare lays the baseline under the lines, or takes it away. Without
// one it takes the one that was chosen last, in this session or an earlier one.
func (s *Session) toggleCompare() {
	if s.tl.base != nil {
		s.st.Compare = !s.st.Compare
		return
	}
	name, err := s.o.Store.Baseline()
	switch {
	case errors.Is(err, ErrNoBaseline):
		s.notify(true, "there is no baseline yet: save a run with b, or choose one with B")
		return
	case err != nil:
		s.notify(true, err.Error())
		return
	}
	s.st.Compare = true
	s.loadBaseline(name, nil, "baseline: "+name)
}

// export writes the report of the current or last run, against the baseline
// where there is one.
func (s *Session) export() {
	if s.tl.run == nil || s.tl.run.Path == "" {
		s.notify(true, "there is no run to report yet: start a scenario with its key")
		return
	}
	name, active := s.tl.run.Name, s.tl.run.Active
	base := ""
	if s.tl.base != nil && s.tl.base.meta.Name != name {
		base = s.tl.base.meta.Name
	}
	s.inOrder(func() {
		paths, err := s.exportRun(name, base, active)
		s.post(func() { s.exported(paths, err) })
	})
}

func (s *Session) exported(paths []string, err error) {
	if err != nil {
		s.notify(true, err.Error())
		return
	}
	s.notify(false, exportedText(paths))
}

func exportedText(paths []string) string {
	return "report: " + paths[0] + " (.html and .json beside it)"
}

func (s *Session) exportRun(name, base string, active bool) ([]string, error) {
	cand, err := s.o.Store.Load(name)
	if err != nil {
		return nil, err
	}
	if active && cand.End == nil {
		cand.End = &End{At: time.Now(), Reason: "still running when the report was written"}
	}
	return writeReport(s.o.Store, s.o.Reports, cand, base)
}

// writeReport writes the report of a run against a stored baseline, if any.
func writeReport(store *Store, dir string, cand *Run, base string) ([]string, error) {
	var baseRun *Run
	if base != "" {
		var err error
		if baseRun, err = store.Load(base); err != nil {
			return nil, err
		}
		if err := CheckBaseline(cand.Meta, baseRun.Meta); err != nil {
			return nil, err
		}
	}
	dir, err := reportDir(dir, store.Dir())
	if err != nil {
		return nil, err
	}
	return ExportAll(dir, "pgtlb-"+cand.Meta.Name, BuildReport(cand, baseRun, ReportOptions{}))
}

// reportDir is the directory asked for, or the reports' place beside the store
// when that cannot be written, as the working directory of a login often cannot.
func reportDir(want, store string) (string, error) {
	if want != "" {
		return want, os.MkdirAll(want, 0o700)
	}
	if f, err := os.CreateTemp(".", ".pgtlb-*"); err == nil {
		_ = f.Close()
		if err := os.Remove(f.Name()); err != nil {
			return "", fmt.Errorf("trying the working directory: %w", err)
		}
		return filepath.Abs(".")
	}
	dir := filepath.Join(filepath.Dir(store), "reports")
	return dir, os.MkdirAll(dir, 0o700)
}
