package tui

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"pgtlb/workload/trial"
)

// Model is the whole screen. Update only changes the model and returns
// commands; View only reads it.
type Model struct {
	engine Engine
	opts   Options
	next   tea.Cmd // waits for the engine's next state
	list   tea.Cmd // lists the stored runs

	w, h    int
	profile colorprofile.Profile
	bg      background
	th      theme

	st     *trial.State // nil before the first
	frozen *trial.State // what is shown while frozen
	over   bool         // the engine has nothing more to say
	err    error

	focus    paneID // paneCount is the table
	zoomed   bool
	scrolled int // items of the zoomed pane's text that are above its first line
	table    table
	overlay  overlay
	// experiment keeps what was typed into its form; nil before x was pressed.
	experiment *experimentScreen
	notices    notices
	answered   int // id of the last question answered, so that it closes at once
	spin       int
	spinning   bool
}

func newModel(engine Engine, opts Options, next, list tea.Cmd) Model {
	m := Model{engine: engine, opts: opts, next: next, list: list, focus: paneCount,
		profile: colorprofile.ANSI, bg: opts.background, w: opts.width, h: opts.height}
	if opts.profile != colorprofile.Unknown {
		m.profile = opts.profile
	}
	return m.styled()
}

// styled chooses the styles anew.
func (m Model) styled() Model {
	p := m.profile
	if m.opts.NoColor {
		p = colorprofile.ASCII
	}
	m.th = newTheme(p, m.bg, m.opts.ASCII)
	return m
}

type (
	// stateMsg is the engine's next state.
	stateMsg struct{ st trial.State }
	// overMsg says that the engine has ended.
	overMsg struct{ err error }
	// runsMsg are the stored runs.
	runsMsg struct {
		runs []trial.RunInfo
		err  error
	}
	// spinMsg turns the mark of a running step.
	spinMsg struct{}
)

// nextState waits for the engine's next state.
func nextState(ctx context.Context, e Engine) tea.Cmd {
	return func() tea.Msg {
		st, err := e.Next(ctx)
		if err != nil {
			return overMsg{err}
		}
		return stateMsg{st}
	}
}

// listRuns reads the list of stored runs.
func listRuns(ctx context.Context, e Engine) tea.Cmd {
	return func() tea.Msg {
		runs, err := e.Runs(ctx)
		return runsMsg{runs, err}
	}
}

// spinEvery is how long a spinner's picture stands.
const spinEvery = 150 * time.Millisecond

func spin() tea.Cmd {
	return tea.Tick(spinEvery, func(time.Time) tea.Msg { return spinMsg{} })
}

// Init asks for the first state and for the terminal's background, and turns
// the spinner until there is a state.
func (m Model) Init() tea.Cmd {
	return tea.Batch(m.next, tea.RequestBackgroundColor, m.opts.askSynchronized())
}

// Update takes one message.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
		m = m.styled()
	case tea.BackgroundColorMsg:
		m.bg = lightBackground
		if msg.IsDark() {
			m.bg = darkBackground
		}
		m = m.styled()
	case tea.KeyPressMsg:
		cmd := m.key(msg)
		return m, cmd
	case tea.PasteMsg:
		if t, ok := m.overlay.(typer); ok && t.takesText() {
			t.paste(msg.Content)
		} else if m.table.typing {
			m.table.filter += clean(msg.Content)
		}
	case stateMsg:
		return m.take(msg.st)
	case overMsg:
		m.over = true
		if !errors.Is(msg.err, io.EOF) && !errors.Is(msg.err, context.Canceled) {
			m.err = msg.err
		}
		return m, tea.Quit
	case runsMsg:
		if b, ok := m.overlay.(*baselines); ok {
			b.take(msg)
		}
	case expireMsg:
		m.notices.expire(msg)
	case spinMsg:
		m.spinning = false
		m.spin++
		return m, m.maySpin()
	}
	return m, nil
}

// take shows a new state and waits for the one after it.
func (m Model) take(st trial.State) (tea.Model, tea.Cmd) {
	var before trial.Phase
	if m.st != nil {
		before = m.st.Phase
	}
	m.st = &st
	if list, ok := m.overlay.(*scenarios); ok {
		list.answered(&m)
	}
	if st.Phase != before {
		m.enterPhase(st.Phase)
	}
	return m, tea.Batch(m.next, m.notices.take(st.Notices), m.maySpin())
}

// enterPhase makes room for what a new phase has to say. The messages that
// announce the return to the live screen come with it and stay.
func (m *Model) enterPhase(phase trial.Phase) {
	if phase != trial.Ready {
		m.notices.clear()
	}
	if phase == trial.Lost {
		m.overlay, m.table.typing = &lost{}, false
	}
}

// maySpin keeps the spinner going while something is being prepared.
func (m *Model) maySpin() tea.Cmd {
	if m.spinning || m.st == nil || (m.st.Phase != trial.Preparing && m.st.Phase != trial.Changing && m.st.Phase != trial.Stopping) {
		return nil
	}
	m.spinning = true
	return spin()
}

// shown is the state on the screen.
func (m *Model) shown() *trial.State {
	if m.frozen != nil && m.st.Phase != trial.Failed {
		return m.frozen
	}
	return m.st
}

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	v.WindowTitle = "pgtlb"
	if m.w > 0 && m.h > 0 {
		v.SetContent(m.screen())
	}
	return v
}

// screen is the frame as lines of exactly the screen's width.
func (m *Model) screen() string {
	c := newCanvas(m.w, m.h)
	m.draw(c)
	return c.render(m.th)
}

func (m *Model) draw(c *canvas) {
	if c.w < minWidth || c.h < minHeight {
		drawTooSmall(c)
		return
	}
	st := m.shown()
	switch {
	case st == nil:
		drawStarting(c, m.opts.Version)
	case st.Phase == trial.Preparing, st.Phase == trial.Failed:
		drawPreparing(c, st, m.spin)
	default:
		m.drawLive(c, st)
	}
	m.drawOverlays(c)
}

// drawOverlays draws what lies over the screen: of several, the one that waits
// for an answer.
func (m *Model) drawOverlays(c *canvas) {
	switch {
	case m.overlay != nil && m.overlay.first():
		m.overlay.draw(c, m)
	case m.question() != nil:
		drawQuestion(c, m.question())
	case m.overlay != nil:
		m.overlay.draw(c, m)
	}
}

// question is what the session asks and has no answer to yet. A server that has
// ended needs none.
func (m *Model) question() *trial.Question {
	if m.st == nil || m.st.Phase == trial.Lost || m.st.Question == nil || m.st.Question.ID == m.answered {
		return nil
	}
	return m.st.Question
}
