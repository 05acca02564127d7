package workload

import (
	"time"

	"pgtlb/workload/script"
	"pgtlb/workload/wire"
)

// next steps the machine; with PerCommand what it does by itself is measured by
// observe.
func (t *task) next(at wire.Moment) (script.Step, error) {
	if t.load.work.PerCommand {
		t.sent = t.now(at)
	}
	return t.m.Next()
}

// observe measures a command that the machine has done by itself.
func (t *task) observe(command int) {
	now := time.Since(t.clock)
	t.stats[t.script].commands[command].took.add(now - t.sent)
	t.sent = now
}

// now is the time, which goes on after at: a shell command may have taken a while.
// The task's clock began when it was first asked, which is later than the run did. It
// is put forward where it is seen to be behind, so that it never goes back from a
// moment of the run to its own time.
func (t *task) now(at wire.Moment) time.Duration {
	now := time.Now()
	if t.clock.IsZero() || now.Sub(t.clock) < at.Now {
		t.clock = now.Add(-at.Now)
	}
	return now.Sub(t.clock)
}

// measure notes that a command begins which the server, or time, ends.
func (t *task) measure(at wire.Moment, command int) {
	t.command = command
	if t.load.work.PerCommand {
		t.sent = t.now(at)
	}
}

// measured notes that it went well.
func (t *task) measured(now time.Duration) {
	if t.load.work.PerCommand && t.command >= 0 {
		t.stats[t.script].commands[t.command].took.add(now - t.sent)
	}
}
