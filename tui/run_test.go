package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"go.uber.org/goleak"

	"pgtlb/workload/trial"
)

// The library's reader waits for ever to deliver a key or an answer of the
// terminal that comes while the program ends; nothing of ours can release it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).sendEvents"))
}

func TestFromEnviron(t *testing.T) {
	for _, c := range []struct {
		env            string
		ascii, noColor bool
	}{
		{"LANG=en_US.UTF-8", false, false}, {"LANG=C", true, false}, {"", true, false}, {"LC_ALL=C LANG=en_US.UTF-8", true, false},
		{"LC_CTYPE=de_DE.utf8 LANG=C", false, false}, {"LANG=C.UTF-8 NO_COLOR=1", false, true}, {"LANG=C.UTF-8 NO_COLOR=yes", false, true},
		{"LANG=C.UTF-8 NO_COLOR=", false, false}, {"LANG=de_DE.ISO-8859-1", true, false},
		{"LANG=C.UTF-8 TERM=linux", true, false}, {"LANG=C.UTF-8 TERM=xterm-256color", false, false},
	} {
		o := FromEnviron(strings.Fields(c.env))
		if o.ASCII != c.ascii || o.NoColor != c.noColor {
			t.Errorf("%q: ascii %v, no colour %v", c.env, o.ASCII, o.NoColor)
		}
	}
}

// feed is an engine that hands out the states it is given.
type feed struct {
	states chan trial.State
	mu     sync.Mutex
	asked  []trial.Command
}

func (f *feed) Next(ctx context.Context) (trial.State, error) {
	select {
	case st, ok := <-f.states:
		if !ok {
			return trial.State{}, io.EOF
		}
		return st, nil
	case <-ctx.Done():
		return trial.State{}, ctx.Err()
	}
}

func (f *feed) Do(c trial.Command) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, c)
}

func (f *feed) Runs(context.Context) ([]trial.RunInfo, error) { return nil, nil }

// screenOn runs the program on a pseudo terminal of 120 x 40 and keeps what it
// wrote.
type screenOn struct {
	t    *testing.T
	ptmx *os.File
	done chan error
	mu   sync.Mutex
	term *vt.Emulator
	raw  bytes.Buffer
}

func start(t *testing.T, ctx context.Context, e Engine, env ...string) *screenOn {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	s := &screenOn{t: t, ptmx: ptmx, done: make(chan error, 1), term: vt.NewEmulator(120, 40)}
	var reading, answering sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			s.mu.Lock()
			s.raw.Write(buf[:n])
			_, _ = s.term.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	// The emulated terminal answers questions, as a real one does.
	answering.Go(func() { _, _ = io.Copy(ptmx, s.term) })
	opts := FromEnviron(append([]string{"TERM=xterm-256color", "LANG=C.UTF-8"}, env...))
	opts.Input, opts.Output = tty, tty
	go func() { s.done <- Run(ctx, e, opts) }()
	t.Cleanup(func() {
		tty.Close()
		reading.Wait()
		// The emulator's own Close must not run beside a Read of it.
		_ = s.term.InputPipe().(io.Closer).Close()
		answering.Wait()
		_ = s.term.Close()
		ptmx.Close()
	})
	return s
}

// until waits for a text on the screen.
func (s *screenOn) until(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		seen := strings.Contains(s.term.String(), text)
		s.mu.Unlock()
		if seen {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("%q did not come; the screen is\n%s", text, s.term.String())
}

// untilWritten waits for bytes in what was sent to the terminal.
func (s *screenOn) untilWritten(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(s.written(), text) {
			return
		}
	}
	s.t.Fatalf("%q was not written", text)
}

func (s *screenOn) send(keys string) {
	s.t.Helper()
	if _, err := s.ptmx.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screenOn) ended() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(20 * time.Second):
		s.t.Fatal("the screen did not end")
		return nil
	}
}

func (s *screenOn) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// The first frame is there before the engine says anything; states and keys go
// through; the terminal is given back.
func TestRunOnATerminal(t *testing.T) {
	e := &feed{states: make(chan trial.State, 4)}
	s := start(t, t.Context(), e)
	s.until("starting …")
	e.states <- preparing()
	s.until("load rows")
	e.states <- demo{seconds: 60, loads: 1}.state()
	s.until("FELL BACK to 4 kB: 44 pages short")
	s.send("?")
	s.until("lay the baseline under the lines")
	s.send("\x1b")
	s.until("checkpointer")
	s.send("c")
	s.send("q")
	s.until("Stop it and quit?")
	s.send("y")
	if err := s.ended(); err != nil {
		t.Fatal(err)
	}
	if len(e.asked) != 1 || e.asked[0] != (trial.ToggleCompare{}) {
		t.Errorf("asked for %v", e.asked)
	}
	s.untilWritten("\x1b[?1049l") // the alternate screen is left
	out := s.written()
	if strings.Contains(out, "\x1b[?1000h") || strings.Contains(out, "\x1b[?1003h") {
		t.Error("the mouse was turned on: text could not be copied with it")
	}
}

func TestRunEnds(t *testing.T) {
	t.Run("with the engine", func(t *testing.T) {
		e := &feed{states: make(chan trial.State)}
		close(e.states)
		if err := start(t, t.Context(), e).ended(); err != nil {
			t.Error(err)
		}
	})
	t.Run("with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := start(t, ctx, &feed{states: make(chan trial.State)})
		s.until("starting …")
		cancel()
		if err := s.ended(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		s.untilWritten("\x1b[?1049l")
	})
}

func TestNoColorOnATerminal(t *testing.T) {
	e := &feed{states: make(chan trial.State, 1)}
	s := start(t, t.Context(), e, "NO_COLOR=yes", "COLORTERM=truecolor")
	e.states <- demo{seconds: 60, loads: 1, pmu: true}.state()
	s.until("PAGE TABLES")
	s.send("\x03")
	s.until("Stop it and quit?")
	s.send("y")
	if err := s.ended(); err != nil {
		t.Fatal(err)
	}
	if code := colour.FindString(s.written()); code != "" {
		t.Errorf("colour code %q", code)
	}
}

// Over SSH the terminal is asked for synchronised output, and it is used when
// the terminal has it.
func TestSynchronisedOutputOverSSH(t *testing.T) {
	e := &feed{states: make(chan trial.State, 1)}
	s := start(t, t.Context(), e, "SSH_TTY=/dev/pts/0")
	s.until("starting …")
	s.untilWritten("\x1b[?2026$p") // asked, maybe after the first frame
	s.send("\x1b[?2026;2$y")       // it has it, and it is off
	e.states <- demo{seconds: 60}.state()
	s.until("PAGE TABLES")
	s.send("q")
	if err := s.ended(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.written(), "\x1b[?2026h") {
		t.Error("synchronised output is not used")
	}
}
