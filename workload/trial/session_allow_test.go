package trial

import "testing"

// TestStoppingTakesTheQuestionAway: that of the load, and no other.
func TestStoppingTakesTheQuestionAway(t *testing.T) {
	for key, want := range map[int]bool{1: false, 2: true} {
		s := NewSession(Options{Mode: InLab})
		p := &pending{id: 1, load: s.loads[0], answer: make(chan bool, 1)}
		s.ask, s.st.Question = p, &Question{ID: 1}
		s.loads[key-1].status = LoadStarting
		s.toggle(t.Context(), key)
		if stands := s.st.Question != nil; stands != want || s.loads[key-1].status != LoadStopped {
			t.Errorf("load %d stopped: the question stands %v, want %v; the load is %s", key, stands, want, s.loads[key-1].status)
		}
		if !want && (len(p.answer) != 1 || <-p.answer) {
			t.Error("who waits for the answer is not told no")
		}
	}
}
