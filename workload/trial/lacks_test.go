package trial

import (
	"bytes"
	"strings"
	"testing"

	"pgtlb/probes"
)

// One late read of a probe is a gap: what it measures otherwise is available.
func TestOneMissedSampleIsAGap(t *testing.T) {
	run := published4kB().run()
	host := &run.Samples[lead+10].Batches[0]
	host.Readings = nil
	for _, id := range []string{probes.PageFaults, probes.ContextSwitches, probes.CPUUser} {
		host.Misses = append(host.Misses, probes.Miss{ID: id, Reason: "its read has not ended after 900 ms"})
	}
	r := BuildReport(run, nil, ReportOptions{})
	o := BuildObserved(run)
	for what, misses := range map[string][]probes.Miss{"report": r.Unavailable, "result": o.Unavailable} {
		ids := map[string]bool{}
		for _, m := range misses {
			ids[m.ID] = true
		}
		if ids[probes.PageFaults] || ids[probes.ContextSwitches] {
			t.Errorf("%s: what was measured is unavailable: %+v", what, misses)
		}
		if !ids[probes.CPUUser] || !ids[probes.WalkCyclesPct] {
			t.Errorf("%s: what was never measured is not among %+v", what, misses)
		}
	}
	if _, ok := o.Counters[probes.PageFaults]; !ok {
		t.Error("no figure for page faults")
	}
	const want = "page faults, context switches: missing in 1 of 25 samples (its read has not ended after 900 ms)"
	for what, gaps := range map[string][]Gap{"report": r.Gaps, "result": o.Gaps} {
		if texts := gapTexts(gaps); len(texts) != 1 || texts[0] != want {
			t.Errorf("%s: gaps %q, want %q", what, texts, want)
		}
	}
	var md, html, text bytes.Buffer
	if err := WriteMarkdown(&md, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteHTML(&html, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteObservedText(&text, o); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{"Markdown": md.String(), "HTML": html.String(), "text": text.String()} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks the gap", what)
		}
	}
}

// Whoever may count no events learns so from counting{}, whose page faults those
// of /proc/vmstat are from their scope, and in which way each figure is missing.
func TestResultOfSomebodyWhoMayNotCount(t *testing.T) {
	run := published4kB().run()
	run.Meta.Counting = probes.CountingScope{}
	run.Meta.Metrics = []probes.Metric{{ID: probes.PageFaults, Scope: "system wide"}}
	run.Meta.Unavailable = append(run.Meta.Unavailable, probes.Miss{ID: probes.ContextSwitches, State: probes.NoPermission, Reason: "needs CAP_PERFMON"},
		probes.Miss{ID: probes.StmtCalls, Reason: "who knows"})
	o := BuildObserved(run)
	if want := (probes.CountingScope{Scope: "none", Why: "no permission: needs CAP_PERFMON"}); o.Counting != want {
		t.Errorf("counting %+v, want %+v", o.Counting, want)
	}
	if c := o.Counters[probes.PageFaults]; c.Scope != "system wide" {
		t.Errorf("page faults %+v", c)
	}
	for _, u := range o.Unavailable {
		if u.State == "" {
			t.Errorf("no state: %+v", u)
		}
	}
	var text bytes.Buffer
	if err := WriteObservedText(&text, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "(system wide)") {
		t.Errorf("the text mixes scopes silently:\n%s", text.String())
	}
}
