package tui

import (
	"context"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"pgtlb/workload/trial"
)

// Picture returns the options with the colours of a terminal that has 16
// million of them, on a dark or a light background, for Snapshot.
func Picture(opts Options, light bool) Options {
	opts.profile, opts.background = colorprofile.TrueColor, darkBackground
	if light {
		opts.background = lightBackground
	}
	return opts
}

// Snapshot returns the screen of one state at a size, after some keys ("tab",
// "enter", "?" …), as lines with escape sequences. Nothing is asked of a
// session; what a key would ask for does not happen.
func Snapshot(st trial.State, opts Options, w, h int, keys ...string) string {
	opts.width, opts.height = w, h
	m := newModel(still{}, opts, nil, nil)
	next, _ := m.take(st)
	for _, k := range keys {
		next, _ = next.Update(keyPress(k))
	}
	last := next.(Model)
	return last.screen()
}

// still is an engine in which nothing happens.
type still struct{}

func (still) Next(context.Context) (trial.State, error)     { return trial.State{}, io.EOF }
func (still) Do(trial.Command)                              {}
func (still) Runs(context.Context) ([]trial.RunInfo, error) { return nil, nil }

// keyPress turns a key's name into the message that a terminal would cause.
func keyPress(name string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd}
	msg := tea.KeyPressMsg{}
	for _, mod := range []struct {
		prefix string
		mod    tea.KeyMod
	}{{"ctrl+", tea.ModCtrl}, {"shift+", tea.ModShift}} {
		if rest, ok := strings.CutPrefix(name, mod.prefix); ok {
			name, msg.Mod = rest, msg.Mod|mod.mod
		}
	}
	if code, ok := codes[name]; ok {
		msg.Code = code
		if name == "space" {
			msg.Text = " "
		}
		return msg
	}
	for _, r := range name {
		msg.Code = r
		break
	}
	if msg.Mod&tea.ModCtrl == 0 {
		msg.Text = name
	}
	return msg
}
