package probes

import "strings"

// State says in which way a figure is missing. Its words are those of screens.
type State string

const (
	// NotThere: the machine, its kernel, its CPU or this server does not have it.
	NotThere State = "not_there"
	// NoPermission: it is there, and pgtlb may not read it.
	NoPermission State = "no_permission"
	// NotCounted: it was opened and did not count, or there was no room to open
	// it.
	NotCounted State = "not_counted"
)

// words are how screens name the state: "no permission".
func (s State) words() string { return strings.ReplaceAll(string(s), "_", " ") }

// Text is the reason with the state before it, where that is known: "no
// permission: counting system wide needs CAP_PERFMON".
func (m Miss) Text() string {
	if m.State == "" {
		return m.Reason
	}
	return m.State.words() + ": " + m.Reason
}

// Line is Text for a place where a figure would stand: it begins with the
// state or with n/a.
func (m Miss) Line() string {
	if m.State == "" {
		return "n/a: " + m.Reason
	}
	return m.Text()
}

// MissOf is the miss of a metric whose Value or Figure says text in place of a
// figure: a Text or a reason alone.
func MissOf(id, text string) Miss {
	for _, s := range []State{NotThere, NoPermission, NotCounted} {
		if reason, ok := strings.CutPrefix(text, s.words()+": "); ok {
			return Miss{ID: id, State: s, Reason: reason}
		}
	}
	return Miss{ID: id, Reason: text}
}
