package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

// reloadPatience is how long a server may take until it has a new value in force.
const reloadPatience = 10 * time.Second

// restart restarts the server with the settings of an arm, in every step, also
// where they stay the same, and proves the pages where the arm is a page size.
func (x *stand) restart(ctx context.Context, p experiment.Plan, a *arm) error {
	x.s.showExperiment(func(e *ExperimentState) {
		e.Detail, e.Waiting = "restarting the server with "+x.setting.Name+" = "+a.value, false
	})
	if !x.s.query(func() { x.s.st.Phase = Changing; x.s.steps.plan("stop", "start", "connect") }) {
		return context.Canceled
	}
	x.changed = true
	var err error
	if x.s.o.Mode == InLab {
		// A restart that is cut off in the middle leaves the server stopped.
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
		if err = x.s.restartLab(whole, x.s.cluster, a.change()); err != nil && !x.s.cluster.Running() {
			err = fmt.Errorf("%w: %w", experiment.ErrStop, err)
		}
		cancel()
	} else {
		err = x.restartOthers(ctx, p.Name, a)
	}
	x.s.query(func() {
		if x.s.link != nil {
			x.s.ready()
		}
	})
	if err != nil {
		return err
	}
	return x.provePages(a)
}

// restartOthers is restart on a server that pgtlb did not make. When it was started is
// noted before the first change.
func (x *stand) restartOthers(ctx context.Context, name string, a *arm) error {
	if x.started.IsZero() {
		at, err := startOf(ctx, x.s.connectAs(probes.SetupName))
		if err != nil {
			return fmt.Errorf("%w: the server does not answer: %w", experiment.ErrStop, err)
		}
		x.started = at
	}
	if err := x.alter(ctx, name, a.set); err != nil {
		return err
	}
	return x.restartByCommand(ctx)
}

// provePages stops the experiment where the server has other pages than the arm.
func (x *stand) provePages(a *arm) error {
	if a.pages == 0 {
		return nil
	}
	var h probes.HugePages
	x.s.query(func() { h = x.s.st.Server.HugePages })
	switch {
	case h.PageKB == 0:
		return fmt.Errorf("%w: it cannot be proved which pages the server has (%s)", experiment.ErrStop, h.Proof)
	case lab.Pages(h.PageKB) != a.pages && a.pages == lab.Pages4kB && h.InUse == "off":
		// Ordinary pages of another size than 4 kB, on ARM and POWER.
	case lab.Pages(h.PageKB) != a.pages:
		short := ""
		if h.Short > 0 {
			short = fmt.Sprintf(", the pool is %d pages short", h.Short)
		}
		return fmt.Errorf("%w: the server was to have %s pages and has %s (%s)%s", experiment.ErrStop, a.pages, lab.Pages(h.PageKB), h.Proof, short)
	}
	x.saw(fmt.Sprintf("%s (%s)", lab.Pages(h.PageKB), h.Proof))
	return nil
}

// reload brings a value into force without a restart, and waits until new sessions
// have it.
func (x *stand) reload(ctx context.Context, p experiment.Plan, a *arm) error {
	x.s.showExperiment(func(e *ExperimentState) { e.Detail = "setting " + x.setting.Name + " = " + a.value })
	x.changed = true
	if err := x.alter(ctx, p.Name, a.set); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, reloadPatience)
	defer cancel()
	connect := x.s.connectAs(probes.SetupName)
	for {
		conn, err := connect(bounded)
		if err == nil {
			_, err = x.verify(bounded, conn, a)
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		if err == nil {
			return nil
		}
		if sleep(bounded, serverPoll) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// alter writes settings into postgresql.auto.conf and has the configuration read
// again. On a server that pgtlb did not make, what was is written down first.
func (x *stand) alter(ctx context.Context, name string, set map[string]string) error {
	conn, err := x.s.connectAs(probes.SetupName)(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if x.ledger == nil && x.s.o.Mode != InLab {
		l, err := newLedger(ctx, conn, name, x.o.RestartCmd, x.values())
		if err == nil {
			err = l.begin(ctx, conn, x.s.o.Store.Dir())
		}
		if err != nil {
			return fmt.Errorf("%w: nothing was changed: %w", experiment.ErrStop, err)
		}
		x.ledger = l
	}
	// A setting that another arm has and this one does not goes back to what it was.
	for _, n := range x.names() {
		value, has := set[n]
		var err error
		switch {
		case has:
			err = alterSystem(ctx, conn, n, &value)
		case x.ledger != nil:
			err = alterSystem(ctx, conn, n, x.ledger.was(n))
		default:
			err = alterSystem(ctx, conn, n, nil)
		}
		if err != nil {
			return err
		}
	}
	return reloadConf(ctx, conn)
}

// names are the settings that the arms change.
func (x *stand) names() []string { return slices.Sorted(maps.Keys(x.values())) }

// values are what the arms give each of these settings.
func (x *stand) values() map[string][]string {
	all := map[string][]string{}
	for _, a := range x.arms {
		for name, value := range a.set {
			if !slices.Contains(all[name], value) {
				all[name] = append(all[name], value)
			}
		}
	}
	return all
}

// alterSystem sets a setting in postgresql.auto.conf; nil takes it out.
func alterSystem(ctx context.Context, conn *pgx.Conn, name string, value *string) error {
	sql, err := alterSQL(name, value)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("changing %s with ALTER SYSTEM: %w", name, err)
	}
	return nil
}

// alterSQL is the statement of alterSystem.
func alterSQL(name string, value *string) (string, error) {
	if value == nil {
		return "ALTER SYSTEM RESET " + settingIdentifier(name), nil
	}
	literal, ok := probes.SettingLiteral(name, *value)
	if !ok {
		return "", fmt.Errorf("ALTER SYSTEM cannot give %s that value: it is an empty list, or none", name)
	}
	return "ALTER SYSTEM SET " + settingIdentifier(name) + " = " + literal, nil
}

// settingIdentifier quotes the name of a setting, whose parts a dot divides.
func settingIdentifier(name string) string {
	return pgx.Identifier(strings.Split(name, ".")).Sanitize()
}

func reloadConf(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "SELECT pg_reload_conf()"); err != nil {
		return fmt.Errorf("having the server read its configuration again: %w", err)
	}
	return nil
}

// errBusyStep says why nothing was put back.
var errBusyStep = errors.New("the last step has not ended yet, so nothing could be put back: once pgtlb has ended, the next pgtlb experiment on this server does that")

// putBack gives the server the values that it had before. A lab that the
// experiment had to itself is thrown away instead. A step that was left behind may
// still change the server: it is waited for.
func (x *stand) putBack(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	if !x.enter(bounded) {
		return errBusyStep
	}
	defer x.leave()
	if !x.changed {
		return nil
	}
	if x.s.o.Mode == InLab {
		return x.putLabBack(ctx)
	}
	if x.ledger == nil {
		return nil // nothing was changed
	}
	conn, err := x.reach(ctx)
	if err == nil {
		var others []string
		if others, err = x.ledger.undo(ctx, conn); err == nil && len(others) > 0 {
			x.s.post(func() { x.s.notify(true, leftAlone(others)) })
		}
		_ = conn.Close(ctx)
	}
	if err != nil {
		return fmt.Errorf("putting the settings back: %w\n%s", err, strings.Join(x.ledger.advice(), "\n"))
	}
	if x.way == byRestart {
		if err := x.restartBack(ctx); err != nil {
			return fmt.Errorf("the settings are put back; restarting the server with them: %w", err)
		}
	}
	return x.ledger.close()
}

// putLabBack is for the screen, where the lab goes on.
func (x *stand) putLabBack(ctx context.Context) error {
	over := false
	x.s.query(func() { over = x.s.ending || x.s.o.Experiment != nil || x.s.st.Phase == Lost })
	if over {
		return nil
	}
	if x.way == byReload {
		return x.putLabSettingBack(ctx)
	}
	x.s.query(func() { x.s.st.Phase = Changing; x.s.steps.plan("stop", "start", "connect") })
	bounded, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	return x.s.restartLab(bounded, x.s.cluster, lab.Change{Pages: x.before})
}

func (x *stand) putLabSettingBack(ctx context.Context) error {
	conn, err := x.s.connectAs(probes.SetupName)(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := alterSystem(ctx, conn, x.setting.Name, nil); err != nil {
		return err
	}
	return reloadConf(ctx, conn)
}
