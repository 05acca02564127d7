package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Change is what Restart changes. Its zero value restarts with the same settings and page size, without an arm's
// settings.
type Change struct {
	Settings map[string]string // over --set; those of the Restart before are forgotten
	Pages    Pages             // 0 keeps the page size
	Reserve  bool              // may grow the huge page pool by what is missing (root)
}

// restartFast is how long a restart waits for the orderly shutdown: after any other, unlogged tables are empty.
const restartFast = 2 * time.Minute

// Restart stops the server and starts it with other settings. What can be checked (the settings, the pool) is checked
// before, so such an error leaves the server running untouched. When the new start fails all the same, the server is
// started again as it was before, and the error says so; Running tells whether that worked.
func (c *Cluster) Restart(ctx context.Context, ch Change, progress Progress) error {
	c.ops.Lock()
	defer c.ops.Unlock()
	if c.stopped {
		return errors.New("restarting the lab: it was stopped")
	}
	next, err := c.plan(ctx, ch)
	if err != nil {
		return fmt.Errorf("restarting the lab: %w", err)
	}
	unlock, err := c.holdPools(ctx, next)
	if err != nil {
		return fmt.Errorf("restarting the lab: %w", err)
	}
	defer unlock()
	if err := c.ensurePool(ctx, next, ch.Reserve, progress); err != nil {
		return fmt.Errorf("restarting the lab: %w", err)
	}
	if err := c.halt(ctx, progress); err != nil {
		return fmt.Errorf("restarting the lab: %w", err)
	}
	if err := c.launch(ctx, next, progress); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("restarting the lab: %w", err) // it is to be stopped: no need of the old one
		}
		back := c.launch(context.WithoutCancel(ctx), c.layers, progress)
		if back != nil {
			return fmt.Errorf("restarting the lab: %w; nor did it start again as before: %w", err, back)
		}
		return fmt.Errorf("restarting the lab: %w; it runs again as before", err)
	}
	c.mu.Lock()
	c.layers = next
	c.mu.Unlock()
	return nil
}

// Check finds out, without touching the server, whether Restart would take a change: its settings, and whether the pool
// has the pages that they insist on.
func (c *Cluster) Check(ctx context.Context, ch Change) (Preflight, error) {
	c.ops.Lock()
	defer c.ops.Unlock()
	next, err := c.plan(ctx, ch)
	if err != nil {
		return Preflight{}, err
	}
	m, err := readMemory(c.opts.Roots)
	if err != nil {
		return Preflight{}, err
	}
	next.pages = next.insists(m.HugepageKB)
	return c.preflight(ctx, next)
}

// halt shuts the running server down in order, so that unlogged tables keep their rows.
func (c *Cluster) halt(ctx context.Context, progress Progress) error {
	p := c.process()
	if p == nil || !p.running() {
		return nil
	}
	progress.say("stop", "stopping the server", 0, 1)
	how, err := p.stop(ctx, restartFast)
	if err != nil {
		return err
	}
	if how != "fast" {
		return errors.Join(fmt.Errorf("the server did not shut down in order (%s), unlogged tables are lost", how), c.clearResidue())
	}
	progress.say("stop", "stopped", 1, 1)
	return nil
}

// plan works out the settings of a change and checks them while the server still runs.
func (c *Cluster) plan(ctx context.Context, ch Change) (layers, error) {
	next, _, err := c.changed(ch)
	if err != nil {
		return next, err
	}
	_, err = c.understood(ctx, next, "max_connections")
	return next, err
}

// changed works out the settings of a change, and refuses those that a lab or this machine cannot have.
func (c *Cluster) changed(ch Change) (layers, memory, error) {
	next := c.layers
	arm, err := checkSettings(ch.Settings)
	if err != nil {
		return next, memory{}, err
	}
	next.arm = arm
	if ch.Pages != 0 {
		next.pages = ch.Pages
	}
	if err := next.resolve(c.opts.Roots, c.server.Major); err != nil {
		return next, memory{}, err
	}
	m, err := readMemory(c.opts.Roots)
	if err != nil {
		return next, memory{}, err
	}
	if p, err := c.Proof(); err == nil && p.Mode <= Pages(64) {
		m.Available = min(m.Available+p.SizeKB<<10, m.Total) // what the running server gives up
	}
	return next, m, next.check(m)
}

// revive makes a fresh Done channel when the old one was used up by a crash.
func (c *Cluster) revive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		c.done, c.reason = make(chan struct{}), nil
	}
}
