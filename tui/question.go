package tui

import (
	tea "charm.land/bubbletea/v2"

	"pgtlb/workload/trial"
)

// drawQuestion asks what the session wants to know.
func drawQuestion(c *canvas, q *trial.Question) {
	const w = 72
	width := min(w, c.w-6)
	list := lines([]para{{q.Text, stTitle}, {}}, width)
	for _, d := range q.Detail {
		list = append(list, lines([]para{{d, stPlain}}, width)...)
	}
	list = append(list, para{})
	list = append(list, lines([]para{{"y  " + orElse(q.Yes, "yes"), stKey}, {"n  " + orElse(q.No, "no"), stKey}}, width)...)
	in := box(c, "Please decide", w, len(list), "")
	// The keys stay in sight when the text is longer than the screen.
	if len(list) > in.h && in.h > 2 {
		list = append(list[:in.h-2:in.h-2], list[len(list)-2:]...)
	}
	drawParas(c, in, list, 0)
}

// answer handles a key while a question stands.
func (m *Model) answer(q *trial.Question, k string) tea.Cmd {
	switch k {
	case "y", "Y":
		m.answered = q.ID
		m.engine.Do(trial.Answer{ID: q.ID, Yes: true})
	case "n", "N", "esc":
		m.answered = q.ID
		m.engine.Do(trial.Answer{ID: q.ID})
	case "q":
		return m.quit()
	}
	return nil
}
