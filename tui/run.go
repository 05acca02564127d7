package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Options say how the screen looks and where it is.
type Options struct {
	Version string
	ASCII   bool // draw with ASCII only
	NoColor bool // no colours; bold, faint and reverse stay
	// Input and Output are the terminal's unless set.
	Input  io.Reader
	Output io.Writer
	// Environ is the environment of the terminal; os.Environ() when nil.
	Environ []string

	// What a real terminal is asked for, and a picture is told.
	background    background
	profile       colorprofile.Profile
	width, height int
}

// FromEnviron returns the options that the environment asks for: NO_COLOR with
// any non-empty value, a locale that is not UTF-8, and a terminal whose font has
// no braille, the console of Linux.
func FromEnviron(env []string) Options {
	get := func(name string) string {
		value := ""
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				value = v
			}
		}
		return value
	}
	o := Options{Environ: env, NoColor: get("NO_COLOR") != ""}
	locale := "C"
	for _, name := range []string{"LANG", "LC_CTYPE", "LC_ALL"} {
		if v := get(name); v != "" {
			locale = v
		}
	}
	locale = strings.ToLower(locale)
	o.ASCII = !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8") || get("TERM") == "linux"
	return o
}

// askSynchronized asks the terminal for synchronised output where the library
// does not ask by itself: over SSH. The library turns it on when the terminal
// says that it has it.
func (o Options) askSynchronized() tea.Cmd {
	for _, kv := range o.Environ {
		if strings.HasPrefix(kv, "SSH_TTY=") {
			return tea.Raw(ansi.RequestModeSynchronizedOutput)
		}
	}
	return nil
}

// Run shows the screen until the person quits, the engine ends or ctx is done,
// and gives the terminal back. When it returns, no call of the engine is under
// way.
func Run(ctx context.Context, engine Engine, opts Options) error {
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	ctx, cancel := context.WithCancel(ctx)
	var states, lists calls
	defer func() {
		cancel()
		states.wait()
		lists.wait()
	}()
	m := newModel(engine, opts,
		states.guard(ctx, nextState(ctx, engine)), lists.guard(ctx, listRuns(ctx, engine)))
	program := tea.NewProgram(m, programOptions(opts)...)
	// Quit rather than the library's own context: it draws the last frame and
	// waits for its reader.
	stop := context.AfterFunc(ctx, program.Quit)
	defer stop()
	final, err := program.Run()
	if err != nil {
		return fmt.Errorf("showing the screen: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fm, ok := final.(Model); ok && fm.err != nil {
		return fm.err
	}
	return nil
}

// framesPerSecond is how soon a key shows: after 83 ms at most, which a person
// takes for at once. The library wakes that often, also when nothing has changed, and
// each time costs 0.1 to 0.4 ms of CPU time in a virtual machine: at 30 more than
// reading 200 backends.
const framesPerSecond = 12

func programOptions(opts Options) []tea.ProgramOption {
	list := []tea.ProgramOption{
		tea.WithoutSignalHandler(), tea.WithEnvironment(opts.Environ), tea.WithFPS(framesPerSecond)}
	if opts.Input != nil {
		list = append(list, tea.WithInput(opts.Input))
	}
	if opts.Output != nil {
		list = append(list, tea.WithOutput(opts.Output))
	}
	if opts.NoColor {
		list = append(list, tea.WithColorProfile(colorprofile.ASCII))
	}
	if opts.width > 0 {
		list = append(list, tea.WithWindowSize(opts.width, opts.height))
	}
	return list
}

// calls waits for commands that the library starts and does not wait for. One
// of a kind runs at a time.
type calls struct{ mu sync.Mutex }

// guard returns the command such that wait waits for it, and that does nothing
// once ctx is done.
func (c *calls) guard(ctx context.Context, cmd tea.Cmd) tea.Cmd {
	return func() tea.Msg {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		return cmd()
	}
}

// wait blocks until no command is under way; the context must be done.
func (c *calls) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
}
