package probes

import (
	"encoding/json"
	"testing"
)

func TestMissInWords(t *testing.T) {
	for _, c := range []struct {
		miss       Miss
		text, line string
	}{
		{Miss{ID: PageFaults, State: NoPermission, Reason: "counting system wide needs CAP_PERFMON"},
			"no permission: counting system wide needs CAP_PERFMON", "no permission: counting system wide needs CAP_PERFMON"},
		{Miss{ID: DTLBLoads, State: NotThere, Reason: "this CPU has none"}, "not there: this CPU has none", "not there: this CPU has none"},
		{Miss{ID: Cycles, State: NotCounted, Reason: "too few counters"}, "not counted: too few counters", "not counted: too few counters"},
		{Miss{ID: Commits, Reason: "its read has not ended"}, "its read has not ended", "n/a: its read has not ended"},
	} {
		if got := c.miss.Text(); got != c.text {
			t.Errorf("text %q, want %q", got, c.text)
		}
		if got := c.miss.Line(); got != c.line {
			t.Errorf("line %q, want %q", got, c.line)
		}
		if got := MissOf(c.miss.ID, c.text); got != c.miss {
			t.Errorf("from its text: %+v, want %+v", got, c.miss)
		}
	}
	if m := MissOf(Instructions, reasonNotRun); m.State != NotCounted {
		t.Errorf("a counter that never ran: %+v", m)
	}
}

// Recordings from before there were states have none.
func TestMissOfAnOldRecording(t *testing.T) {
	var m Miss
	if err := json.Unmarshal([]byte(`{"metric":"cycles_user","reason":"no PMU","remedy":"another host"}`), &m); err != nil {
		t.Fatal(err)
	}
	if want := (Miss{ID: CyclesUser, Reason: "no PMU", Remedy: "another host"}); m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	b, err := json.Marshal(Miss{ID: CyclesUser, State: NotThere, Reason: "no PMU"})
	if want := `{"metric":"cycles_user","state":"not_there","reason":"no PMU"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
