package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

const (
	// restartPatience bounds a restart from the begin of its command on, which nothing
	// cuts off: with a last look and joining the server, reloadPatience each, it must be
	// less than an ended step has.
	restartPatience = 90 * time.Second
	// unchangedPatience is how long a server may answer as before once the command that
	// restarts it has ended well: such a command returns when the restart is done
	// (systemctl restart, pg_ctl -w) or under way (systemctl --no-block).
	unchangedPatience = 10 * time.Second
	// slowRestart is the time from which on it is told what is waited for.
	slowRestart = time.Second
	serverPoll  = 100 * time.Millisecond
)

// serverLook is what a look at a server shows that is to be restarted.
type serverLook int

const (
	lookSilent serverLook = iota // it does not answer
	lookAsBefore
	lookAnew // it was restarted
)

// restartWait is the wait for a server after its restart command.
type restartWait struct {
	failed bool      // the command has
	began  time.Time // the command
	same   time.Time // since when it has answered as before; zero while it does not
}

// over tells after a look whether there is nothing more to wait for. ended tells that
// the experiment is being ended: while nothing has happened that is obeyed at once, and a
// server that is starting is waited for by who puts it back.
func (w *restartWait) over(now time.Time, look serverLook, ended bool) bool {
	switch {
	case look != lookAsBefore:
		w.same = time.Time{}
	case w.same.IsZero():
		w.same = now
	}
	return look == lookAnew || w.failed || ended || now.Sub(w.began) >= restartPatience ||
		look == lookAsBefore && now.Sub(w.same) >= unchangedPatience
}

// text says what is waited for, once that takes its time.
func (w *restartWait) text(now time.Time, look serverLook) string {
	switch {
	case now.Sub(w.began) < slowRestart:
		return ""
	case look == lookAsBefore:
		return "waiting for the server to be restarted: it still answers as before"
	}
	return "waiting for the server to answer again"
}

// restartByCommand has the user's command restart the server, and returns once it
// answers again and is another one than before.
func (x *stand) restartByCommand(ctx context.Context) error {
	connect := x.s.connectAs(probes.SetupName)
	before, err := startOf(ctx, connect)
	if err != nil {
		return fmt.Errorf("%w: the server does not answer: %w", experiment.ErrStop, err)
	}
	if err := x.s.part(ctx); err != nil {
		x.s.post(func() { x.s.notify(true, err.Error()) })
	}
	w := restartWait{began: time.Now()}
	failed := x.command(ctx)
	w.failed = failed != nil
	for told := ""; ; {
		look := lookSilent
		at, err := startOf(context.WithoutCancel(ctx), connect)
		switch {
		case err == nil && at.Equal(before):
			look = lookAsBefore
		case err == nil:
			look = lookAnew
		}
		if w.over(time.Now(), look, ctx.Err() != nil) {
			return x.restarted(ctx, look, failed, err)
		}
		if text := w.text(time.Now(), look); text != "" && text != told {
			told = text
			x.waits(text)
		}
		_ = sleep(ctx, serverPoll)
	}
}

// command runs the user's command. A restart that is cut off in the middle would leave
// the server stopped: it is waited for, also where the experiment is being ended.
func (x *stand) command(ctx context.Context) error {
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := lab.Shell(whole, x.o.RestartCmd)
		done <- err
	}()
	slow := time.NewTimer(slowRestart)
	defer slow.Stop()
	ended := ctx.Done()
	for {
		select {
		case err := <-done:
			if err != nil && whole.Err() != nil {
				return fmt.Errorf("it had not ended after %v and was ended", restartPatience)
			}
			return err
		case <-slow.C:
			x.waits("waiting for --restart-cmd to end")
		case <-ended:
			ended = nil
			x.waits("waiting for --restart-cmd to end: a restart that is cut off would leave the server stopped")
		}
	}
}

// waits shows what is waited for.
func (x *stand) waits(text string) {
	x.s.showExperiment(func(e *ExperimentState) { e.Detail, e.Waiting = text, true })
}

// restarted ends a restart: the session joins the server that answers. failed is why
// the command failed, why that the server does not answer.
func (x *stand) restarted(ctx context.Context, look serverLook, failed, why error) error {
	if look == lookSilent {
		switch {
		case failed != nil:
			return fmt.Errorf("%w: --restart-cmd failed and the server does not answer: %w; %w", experiment.ErrStop, failed, why)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return fmt.Errorf("%w: the server does not answer %v after --restart-cmd was begun: %w", experiment.ErrStop, restartPatience, why)
	}
	err := x.rejoin(ctx)
	switch {
	case failed != nil:
		return errors.Join(fmt.Errorf("%w: --restart-cmd: %w", experiment.ErrStop, failed), err)
	case look == lookAnew:
		return err
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	}
	return errors.Join(fmt.Errorf("%w: --restart-cmd ended well, but the server was not restarted: it still answers as before", experiment.ErrStop), err)
}

// rejoin joins the session to its server again, unless it is.
func (x *stand) rejoin(ctx context.Context) error {
	joined := false
	x.s.query(func() { joined = x.s.link != nil })
	if joined {
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadPatience)
	defer cancel()
	return x.s.join(bounded, x.s.o.Config)
}

// restartBack restarts the server with the settings that were put back, unless it is
// still the one from before the first change: that one never had a value of the
// experiment.
func (x *stand) restartBack(ctx context.Context) error {
	if at, err := startOf(ctx, x.s.connectAs(probes.SetupName)); err != nil || !at.Equal(x.started) {
		return x.restartByCommand(ctx)
	}
	x.s.post(func() {
		x.s.notify(false, "the server was not restarted: it runs as before, and its settings are put back")
	})
	return x.rejoin(ctx)
}

// startOf asks a new session when the server was started.
func startOf(ctx context.Context, connect workload.Connect) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadPatience)
	defer cancel()
	conn, err := connect(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var at time.Time
	if err := conn.QueryRow(ctx, "SELECT pg_postmaster_start_time()").Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("asking when the server was started: %w", err)
	}
	return at, nil
}

// reach connects to a server that may just be starting.
func (x *stand) reach(ctx context.Context) (*pgx.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	w := restartWait{began: time.Now()}
	for told := false; ; {
		conn, err := x.s.connectAs(probes.SetupName)(bounded)
		if err == nil {
			return conn, nil
		}
		if text := w.text(time.Now(), lookSilent); text != "" && !told {
			told = true
			x.waits(text)
		}
		if sleep(bounded, serverPoll) != nil {
			return nil, err
		}
	}
}
