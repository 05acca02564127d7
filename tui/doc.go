// Package tui is the screen: a Bubble Tea program over an Engine. Update does
// no I/O and View is pure; everything that takes time happens in the engine,
// which publishes immutable states.
//
// A state becomes a scene (scene.go: which frames are in view, on which time
// axis), a scene becomes panes (pane_*.go), and panes, table and dialogs are
// drawn into a canvas of cells (canvas.go) that is exactly as large as the
// terminal. Adding a pane is one function that returns a pane; adding a dialog
// is one file with an overlay.
package tui
