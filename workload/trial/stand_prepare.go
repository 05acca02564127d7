package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// hugePages is the setting whose values may be page sizes.
const hugePages = "huge_pages"

// prepare looks at everything that can stand in the way before anything is made or
// changed: the setting and each of its values, rights, pools, and on a server that
// pgtlb did not make a person's yes.
func (x *stand) prepare(ctx context.Context) error {
	conn, err := x.s.connectAs(probes.SetupName)(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	factor := x.o.Plan.Factor
	if probes.IsSecret(factor, strings.Join(x.o.Plan.Values, " ")) {
		return fmt.Errorf("--vary %s: it may hold a password or a key, and an experiment writes its values into files and reports", factor)
	}
	if x.setting, err = readSetting(ctx, conn, factor); err != nil {
		return fmt.Errorf("--vary %w", err)
	}
	if x.way, err = wayOf(x.setting); err != nil {
		return err
	}
	if err := x.makeArms(conn); err != nil {
		return err
	}
	if x.way == bySession {
		if err := x.trySessions(ctx, conn); err != nil {
			return err
		}
	}
	if x.s.o.Mode == InLab {
		return x.prepareLab(ctx)
	}
	return x.prepareServer(ctx, conn)
}

// makeArms turns the plan's values into settings, and refuses what the server
// would not take.
func (x *stand) makeArms(conn *pgx.Conn) error {
	values := x.o.Plan.Values
	if x.setting.Name == hugePages && slices.ContainsFunc(values, isPages) {
		return x.makePageArms(conn)
	}
	for i, v := range values {
		if _, err := x.setting.normal(v); err != nil {
			return fmt.Errorf("--vary: %w", err)
		}
		if twin := x.setting.twin(values[:i], v); twin != "" {
			return fmt.Errorf("--vary: %s and %s are the same value of %s; write it alike, as in %s=%s,%s, for an A/A experiment", twin, v, x.setting.Name, x.setting.Name, v, v)
		}
		x.arms = append(x.arms, arm{value: v, set: map[string]string{x.setting.Name: v}})
	}
	return nil
}

func isPages(value string) bool {
	_, err := lab.ParsePages(value)
	return err == nil
}

// makePageArms are arms that are page sizes. On a server of others huge pages are
// asked for with try: with on it would not start where the pool is too small. What it
// really got is proved after each start.
func (x *stand) makePageArms(conn *pgx.Conn) error {
	for _, v := range x.o.Plan.Values {
		pages, err := lab.ParsePages(v)
		if err != nil {
			return fmt.Errorf("--vary huge_pages: %w", err)
		}
		a := arm{value: v, pages: pages, set: map[string]string{hugePages: "off"}}
		if pages != lab.Pages4kB {
			a.set[hugePages] = "on"
			if x.s.o.Mode != InLab {
				a.set[hugePages] = "try"
				if majorOf(conn) >= hugePageSizeSince {
					a.set["huge_page_size"] = pages.String()
				}
			}
		}
		x.arms = append(x.arms, a)
	}
	return nil
}

// hugePageSizeSince is the version from which on a server can be told which huge
// pages to take.
const hugePageSizeSince = 14

// majorOf is the server's major version.
func majorOf(conn *pgx.Conn) int {
	var n int
	_, _ = fmt.Sscanf(conn.PgConn().ParameterStatus("server_version"), "%d", &n) // 0 is older than all
	return n
}

// trySessions opens a session with each value, as the load will.
func (x *stand) trySessions(ctx context.Context, conn *pgx.Conn) error {
	if plain, err := readSetting(ctx, conn, x.setting.Name); err == nil && plain.owner() != "" {
		x.s.post(func() {
			x.s.notify(false, fmt.Sprintf("sessions of this role in this database have %s = %s by %s; the load's sessions get the experiment's value over it",
				x.setting.Name, probes.Clean(plain.Setting), plain.owner()))
		})
	}
	for i := range x.arms {
		c, err := x.connect(probes.SetupName, &x.arms[i])(ctx)
		if err != nil {
			return fmt.Errorf("--vary %s=%s: %w", x.setting.Name, x.arms[i].value, err)
		}
		_ = c.Close(context.WithoutCancel(ctx))
	}
	return nil
}

// prepareLab checks the settings of each arm with the server's own program, and
// that the pools have the pages that the arms need; it may ask for them.
func (x *stand) prepareLab(ctx context.Context) error {
	cluster := x.s.cluster
	x.before = cluster.Pages()
	if x.way != byRestart {
		return nil
	}
	for name := range x.s.o.Lab.Cluster.Settings {
		if slices.ContainsFunc(x.arms, func(a arm) bool { return a.pages != 0 }) && strings.HasPrefix(strings.ToLower(name), "huge_page") {
			return fmt.Errorf("--set %s: leave it out, the experiment varies the page size", name)
		}
	}
	asked := map[lab.Pages]bool{}
	for i := range x.arms {
		a := &x.arms[i]
		p, err := cluster.Check(ctx, x.change(a))
		if err != nil {
			return fmt.Errorf("--vary %s=%s: %w", x.setting.Name, a.value, err)
		}
		if p.Err() == nil {
			continue
		}
		if !asked[p.Size] {
			ok, err := x.s.mayReserve(ctx, p)
			if err != nil {
				return fmt.Errorf("--vary %s=%s: %w", x.setting.Name, a.value, err)
			}
			asked[p.Size] = ok
		}
		a.reserve = asked[p.Size]
	}
	return nil
}

// change is what a restart of the lab is told for an arm.
func (x *stand) change(a *arm) lab.Change {
	if a.pages != 0 {
		return lab.Change{Pages: a.pages, Reserve: a.reserve}
	}
	return lab.Change{Settings: a.set, Reserve: a.reserve}
}

// errNoRestart says what is missing where a restart would be needed.
var errNoRestart = errors.New("takes effect only when the server is restarted: give the command that restarts it with --restart-cmd, or use --lab")
