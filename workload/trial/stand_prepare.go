package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// prepare looks at everything that can stand in the way before anything is made or
// changed: the setting and each of its values, rights, pools, and on a server that
// pgtlb did not make a person's yes.
func (x *stand) prepare(ctx context.Context) error {
	if err := x.o.Check(x.s.o.Roots, x.s.o.Mode == InLab); err != nil {
		return err
	}
	conn, err := x.s.connectAs(probes.SetupName)(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if x.setting, err = readSetting(ctx, conn, x.o.Plan.Factor); err != nil {
		return fmt.Errorf("--vary %w", suggested(ctx, conn, x.o.Plan.Factor, err))
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
func (x *stand) makeArms(conn *pgx.Conn) (err error) {
	if x.arms, err = valueArms(x.setting.Name, &x.o.Plan, x.s.o.Mode == InLab, majorOf(conn)); err != nil {
		return err
	}
	for i, a := range x.arms {
		if a.pages != 0 {
			continue
		}
		if _, err := x.setting.normal(a.value); err != nil {
			return fmt.Errorf("--vary: %w", err)
		}
		if twin := x.setting.twin(x.o.Plan.Values[:i], a.value); twin != "" {
			return twins(x.setting.Name, twin, a.value)
		}
	}
	return nil
}

// hugePageSizeSince is the version from which on a server can be told which huge
// pages to take.
const hugePageSizeSince = 14

// suggested adds to the refusal of a setting that the server does not have the one that
// was likely meant.
func suggested(ctx context.Context, conn *pgx.Conn, name string, err error) error {
	if !errors.Is(err, errNoSetting) {
		return err
	}
	rows, _ := conn.Query(ctx, "SELECT name FROM pg_settings")
	known, _ := pgx.CollectRows(rows, pgx.RowTo[string]) // it is only a help
	if meant := probes.Meant(strings.ToLower(name), known); meant != "" {
		return fmt.Errorf("%w; did you mean %s?", err, meant)
	}
	return err
}

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
	if err := setBesides(x.arms, x.s.o.Lab.Cluster.Settings); err != nil {
		return err
	}
	asked := map[lab.Pages]bool{}
	for i := range x.arms {
		a := &x.arms[i]
		p, err := cluster.Check(ctx, a.change())
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

// errNoRestart says what is missing where a restart would be needed.
var errNoRestart = errors.New("takes effect only when the server is restarted: give the command that restarts it with --restart-cmd, or use --lab")
