// Package tui is the screen: a Bubble Tea program over an Engine. Update does
// no I/O and View is pure; everything that takes time happens in the engine,
// which publishes immutable states.
package tui
