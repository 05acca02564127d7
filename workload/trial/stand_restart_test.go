package trial

import (
	"testing"
	"time"
)

// TestRestartWait: a server that answers as before is waited for less long than one that
// is starting, and is left alone at once where the experiment is being ended.
func TestRestartWait(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	type look struct {
		after time.Duration
		look  serverLook
	}
	for name, c := range map[string]struct {
		failed, ended bool
		looks         []look // none but the last ends the wait
		over          bool
	}{
		"restarted":                      {looks: []look{{0, lookAsBefore}, {time.Second, lookSilent}, {2 * time.Second, lookAnew}}, over: true},
		"as before, not for long":        {looks: []look{{0, lookAsBefore}, {9 * time.Second, lookAsBefore}}},
		"as before":                      {looks: []look{{0, lookAsBefore}, {10 * time.Second, lookAsBefore}}, over: true},
		"as before since it was silent":  {looks: []look{{0, lookAsBefore}, {5 * time.Second, lookSilent}, {6 * time.Second, lookAsBefore}, {15 * time.Second, lookAsBefore}}},
		"starting":                       {looks: []look{{0, lookAsBefore}, {time.Second, lookSilent}, {89 * time.Second, lookSilent}}},
		"starting for too long":          {looks: []look{{0, lookSilent}, {90 * time.Second, lookSilent}}, over: true},
		"as before, and it is ended":     {ended: true, looks: []look{{0, lookAsBefore}}, over: true},
		"starting, and it is ended":      {ended: true, looks: []look{{0, lookSilent}}, over: true},
		"the command failed":             {failed: true, looks: []look{{0, lookAsBefore}}, over: true},
		"the command failed, it is gone": {failed: true, looks: []look{{0, lookSilent}}, over: true},
	} {
		w := restartWait{failed: c.failed, began: began}
		for i, l := range c.looks {
			last := i == len(c.looks)-1
			if over := w.over(began.Add(l.after), l.look, c.ended); over != (last && c.over) {
				t.Errorf("%s, look %d: over is %v", name, i+1, over)
			}
		}
	}
	var w restartWait
	w.began = began
	if got := w.text(began, lookAsBefore); got != "" {
		t.Errorf("at once: %q", got)
	}
	if a, b := w.text(began.Add(time.Second), lookAsBefore), w.text(began.Add(time.Second), lookSilent); a == "" || b == "" || a == b {
		t.Errorf("%q %q", a, b)
	}
}
