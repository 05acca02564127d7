package trial

import (
	"context"
	"time"

	"pgtlb/probes"
)

// Replay is the engine behind the screen of a recorded run: it shows the run's
// samples at the pace at which they were taken, through the same derivation as
// the live screen.
type Replay struct {
	run     *Run
	store   *Store
	reports string
	mail    *mailbox
	cmds    chan Command

	// The rest belongs to the goroutine of Run.
	st     State
	tl     timeline
	pos    int // samples shown
	derive probes.Deriver
	paused bool
}

// NewReplay prepares the replay of a run; baselines come from the store, and
// reports are written to the directory reports.
func NewReplay(run *Run, store *Store, reports string) *Replay {
	m := run.Meta
	r := &Replay{run: run, store: store, reports: reports, mail: newMailbox(), cmds: make(chan Command, 64)}
	r.st = State{Mode: Replaying, Phase: Ready, Host: m.Host, Server: m.Server, Pages: m.Pages, Dataset: m.Dataset,
		Interval: m.Interval, Metrics: m.Metrics, Unavailable: m.Unavailable, Counting: m.Counting}
	if m.Lab {
		r.st.Server.Where = "lab" // its socket's path means nothing any more
	}
	for i, l := range m.Loads {
		r.st.Loads = append(r.st.Loads, LoadState{Key: i + 1, Name: l.Scenario, Clients: l.Clients})
	}
	for _, w := range run.Gaps() {
		r.notify(true, w)
	}
	return r
}

// Next implements the screen's engine.
func (r *Replay) Next(ctx context.Context) (State, error) { return r.mail.next(ctx) }

// Do implements the screen's engine.
func (r *Replay) Do(c Command) {
	select {
	case r.cmds <- c:
	default:
	}
}

// Runs implements the screen's engine.
func (r *Replay) Runs(context.Context) ([]RunInfo, error) { return r.store.List() }

// UseBaseline lays a run under the replay and turns comparing on.
func (r *Replay) UseBaseline(name string) error {
	b, err := readBaseline(r.store, name)
	if err != nil {
		return err
	}
	if err := CheckBaseline(r.run.Meta, b.meta); err != nil {
		return err
	}
	r.setBaseline(b)
	return nil
}

func (r *Replay) setBaseline(b *baseline) {
	r.tl.setBaseline(b)
	b.state.Differs = Differs(b.meta, r.run.Meta)
	r.st.Compare = true
}

// Whole is the state after the last sample, for pictures of a whole run.
func (r *Replay) Whole() State {
	r.seek(len(r.run.Samples))
	return r.state()
}

// Run plays until ctx ends.
func (r *Replay) Run(ctx context.Context) error {
	defer r.mail.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-r.cmds:
			r.command(c)
		case <-timer.C:
			if !r.paused {
				r.step()
			}
			timer.Reset(r.wait())
		}
		r.mail.put(r.state())
	}
}

// wait is the time to the next sample.
func (r *Replay) wait() time.Duration {
	if r.pos > 0 && r.pos < len(r.run.Samples) {
		return r.run.Samples[r.pos].T - r.run.Samples[r.pos-1].T
	}
	return time.Second
}

// step shows one more sample.
func (r *Replay) step() {
	if r.pos >= len(r.run.Samples) {
		return
	}
	if r.pos == 0 {
		r.derive = probes.Deriver{}
		r.tl.next = &RunState{Name: r.run.Meta.Name, Label: RunLabel(r.run.Meta)}
	}
	r.tl.add(r.derive.Next(&r.run.Samples[r.pos]))
	r.pos++
}

// seek shows the run up to a number of samples.
func (r *Replay) seek(pos int) {
	pos = max(0, min(pos, len(r.run.Samples)))
	if pos < r.pos {
		r.pos = 0
		r.tl = timeline{base: r.tl.base}
	}
	for r.pos < pos {
		r.step()
	}
}

func (r *Replay) state() State {
	r.st.Seq++
	r.st.At = time.Now()
	if n := len(r.tl.history); n > 0 {
		r.st.At = r.tl.history[n-1].At
	}
	r.tl.fill(&r.st)
	running := r.st.Run != nil && r.st.Run.Active
	loads := make([]LoadState, len(r.st.Loads))
	for i, l := range r.st.Loads {
		l.Status = LoadStopped
		if running {
			l.Status = LoadRunning
		}
		l.Elapsed = r.tl.runLength()
		loads[i] = l
	}
	r.st.Loads = loads
	rs := ReplayState{Name: r.run.Meta.Name, Pos: r.pos, Total: len(r.run.Samples), Ended: r.pos == len(r.run.Samples),
		Paused: r.paused}
	if r.run.End != nil {
		rs.EndReason = r.run.End.Reason
	} else {
		rs.Interrupted = true
	}
	r.st.Replay = &rs
	return r.st
}

func (r *Replay) command(c Command) {
	switch c := c.(type) {
	case Seek:
		if c.Pause {
			r.paused = !r.paused
		}
		if c.By != 0 {
			r.seek(r.pos + c.By)
		}
	case ToggleCompare:
		r.toggleCompare()
	case ChooseBaseline:
		if err := r.UseBaseline(c.Name); err != nil {
			r.notify(true, err.Error())
		}
	case Export:
		base := ""
		if r.tl.base != nil {
			base = r.tl.base.meta.Name
		}
		paths, err := writeReport(r.store, r.reports, r.run, base)
		if err != nil {
			r.notify(true, err.Error())
			return
		}
		r.notify(false, exportedText(paths))
	default:
		r.notify(true, "a recorded run can be looked at, compared and exported, no more")
	}
}

func (r *Replay) toggleCompare() {
	if r.tl.base != nil {
		r.st.Compare = !r.st.Compare
		return
	}
	name, err := r.store.Baseline()
	if err == nil {
		err = r.UseBaseline(name)
	}
	if err != nil {
		r.notify(true, err.Error())
	}
}

// notify adds a message.
func (r *Replay) notify(isError bool, text string) {
	r.st.Notices = withNotice(r.st.Notices, Notice{At: time.Now(), Text: text, Error: isError})
}
