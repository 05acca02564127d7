package trial

import (
	"context"
	"strings"
	"testing"

	"pgtlb/probes"
)

// passOver collects what a pass tells.
func passOver(ctx context.Context, roots probes.Roots, rows []probes.Backend, each func(Pass)) Pass {
	var last Pass
	read := func(b probes.Backend) (Inspected, error) { return inspected(roots, b) }
	pass(ctx, rows, Pass{Total: len(rows)}, read, func(p Pass) {
		last = p
		each(p)
	})
	return last
}

func TestPassReadsOneAfterTheOther(t *testing.T) {
	roots := fakeProcess(t, 777)
	rows := []probes.Backend{{Pid: 41384, StartTicks: 777}, {Pid: 41385, StartTicks: 5}, {Pid: 41384, StartTicks: 500}}
	var told []int
	p := passOver(t.Context(), roots, rows, func(p Pass) { told = append(told, len(p.Read)) })
	if len(told) != 4 || told[0] != 1 || told[2] != 3 || p.Ended.IsZero() || p.Stopped || p.Denied != "" {
		t.Errorf("told %v, %+v", told, p)
	}
	if in, ok := p.Of(&rows[0]); !ok || in.Pss != 40 {
		t.Errorf("%+v, %v", in, ok)
	}
	// The pid is in use by another process than the row's.
	if in, ok := p.Of(&rows[2]); !ok || in.Pss != 0 || !strings.Contains(in.Missing, "another one") {
		t.Errorf("%+v, %v", in, ok)
	}
	if in, ok := p.Of(&probes.Backend{Pid: 41384, StartTicks: 900}); ok {
		t.Errorf("a later process with that pid has %+v", in)
	}
}

func TestPassStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	rows := []probes.Backend{{Pid: 41384, StartTicks: 777}, {Pid: 41384, StartTicks: 777}, {Pid: 41384, StartTicks: 777}}
	p := passOver(ctx, fakeProcess(t, 777), rows, func(p Pass) {
		if len(p.Read) == 1 {
			stop()
		}
	})
	if len(p.Read) != 1 || !p.Stopped || p.Ended.IsZero() || p.Total != 3 {
		t.Errorf("%+v", p)
	}
}

// Where the right is lacking for one, it is said once and nothing more is tried.
func TestPassSaysOnceWhatIsLacking(t *testing.T) {
	rows := []probes.Backend{{Pid: 1, StartTicks: 7}, {Pid: 2, StartTicks: 7}}
	var p Pass
	tries := 0
	pass(t.Context(), rows, Pass{Total: 2}, func(probes.Backend) (Inspected, error) {
		tries++
		return Inspected{}, &probes.Unavailable{Reason: "permission denied", Remedy: "run pgtlb as root"}
	}, func(now Pass) { p = now })
	if tries != 1 || len(p.Read) != 0 || p.Denied != "permission denied (run pgtlb as root)" || p.Ended.IsZero() {
		t.Errorf("%d tries, %+v", tries, p)
	}
}

func TestPassNeedsProcesses(t *testing.T) {
	s := NewSession(Options{Roots: fakeProcess(t, 777)})
	s.inspectAll(t.Context())
	if p := s.st.Pass; p == nil || p.Total != 0 || !strings.Contains(p.Denied, "visible") || p.Ended.IsZero() {
		t.Errorf("%+v", p)
	}
	history := []probes.Frame{{}, {Backends: []probes.BackendRow{
		{Backend: probes.Backend{Pid: 1, StartTicks: 1}}, {Backend: probes.Backend{Pid: 2}}}}}
	if rows := passRows(history); len(rows) != 1 || rows[0].Pid != 1 {
		t.Errorf("%+v", rows)
	}
}
