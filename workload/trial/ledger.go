package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
)

// ledger says what an experiment found before it changed the settings of a server
// that pgtlb did not make. It is a file beside the runs from before the first change
// until all is put back, and locked while its experiment is at work, so that the next
// one can tell what a crash left.
type ledger struct {
	Experiment string    `json:"experiment"`
	Created    time.Time `json:"created"`
	// System is the server's system identifier: another server at the same address is
	// left alone.
	System string `json:"system"`
	// Server is the connection string, without a password.
	Server string       `json:"server"`
	Before []ledgerLine `json:"before"`
	// Arms are the values that the experiment gives each setting: what is none of
	// them is somebody else's.
	Arms map[string][]string `json:"arms"`
	// Restart is the command that restarts the server; empty where none was needed.
	Restart string `json:"restart,omitempty"`

	path string
	file *os.File // open and locked; nil for one that was read
}

// ledgerLine is a setting as postgresql.auto.conf had it.
type ledgerLine struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // nil where it did not have it
}

// ledgerExtension ends the names of ledgers, which stand beside the journals.
const ledgerExtension = ".undo.json"

// ledgerDraft are the names of ledgers that are being written.
const ledgerDraft = ".undo-*"

const (
	systemSQL = "SELECT system_identifier::text FROM pg_control_system()"
	autoSQL   = `SELECT setting FROM pg_file_settings WHERE lower(name) = lower($1)
		AND sourcefile = current_setting('data_directory') || '/postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1`
)

// newLedger asks a server what it has before it is changed. Values that could not be
// given back are refused.
func newLedger(ctx context.Context, conn *pgx.Conn, name, restart string, arms map[string][]string) (*ledger, error) {
	l := &ledger{Experiment: name, Created: time.Now(), Restart: redact(restart), Server: serverString(conn.Config()), Arms: arms}
	var err error
	if l.System, err = systemOf(ctx, conn); err != nil {
		return nil, err
	}
	for _, s := range slices.Sorted(maps.Keys(arms)) {
		line := ledgerLine{Name: s}
		if line.Value, err = autoValue(ctx, conn, s); err != nil {
			return nil, err
		}
		if line.Value != nil {
			if _, ok := probes.SettingLiteral(s, *line.Value); !ok {
				return nil, fmt.Errorf("postgresql.auto.conf has %s with a value that ALTER SYSTEM cannot give back: take it out there first, ALTER SYSTEM RESET %s does", s, settingIdentifier(s))
			}
		}
		l.Before = append(l.Before, line)
	}
	return l, nil
}

// systemOf asks which server this is.
func systemOf(ctx context.Context, conn *pgx.Conn) (system string, err error) {
	if err := conn.QueryRow(ctx, systemSQL).Scan(&system); err != nil {
		return "", fmt.Errorf("asking which server this is: %w", err)
	}
	return system, nil
}

// autoValue is what postgresql.auto.conf has for a setting; nil for nothing.
func autoValue(ctx context.Context, conn *pgx.Conn, name string) (value *string, err error) {
	err = conn.QueryRow(ctx, autoSQL, name).Scan(&value)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("asking what postgresql.auto.conf has for %s: %w", name, err)
	}
	return value, nil
}

// serverString names a server for libpq without a password.
func serverString(cfg *pgx.ConnConfig) string {
	word := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	return "host=" + word(cfg.Host) + " port=" + strconv.Itoa(int(cfg.Port)) + " user=" + word(cfg.User) + " dbname=" + word(cfg.Database)
}

// was is the value before; nil for none.
func (l *ledger) was(name string) *string {
	for _, b := range l.Before {
		if b.Name == name {
			return b.Value
		}
	}
	return nil
}

// begin puts the ledger on disk before the first change. It refuses where another
// experiment has changed this server, or begins to at this moment.
func (l *ledger) begin(ctx context.Context, conn *pgx.Conn, runs string) error {
	if err := l.open(runs); err != nil {
		return err
	}
	err := changedBy(runs, l.System, l.path)
	if err == nil { // from here on no other begins; what one did until now shows
		var now *ledger
		now, err = newLedger(ctx, conn, l.Experiment, "", l.Arms)
		if err == nil && !slices.EqualFunc(now.Before, l.Before, func(a, b ledgerLine) bool { return sameValue(a.Name, a.Value, b.Value) }) {
			err = fmt.Errorf("somebody changed %s on this server at this moment: begin again", strings.Join(slices.Sorted(maps.Keys(l.Arms)), ", "))
		}
	}
	if err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

// open writes the ledger to disk and locks it. Under its name it is there as a whole
// or not at all.
func (l *ledger) open(runs string) (err error) {
	dir := experiment.Dir(runs)
	path := filepath.Join(dir, l.Experiment+ledgerExtension)
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing down the settings before the experiment: %w", err)
		}
	}()
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	// Only who holds the lock of the experiment's journal writes under this name.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s is there already", path), err)
	}
	f, err := os.CreateTemp(dir, ledgerDraft)
	if err != nil {
		return err
	}
	if err = experiment.Lock(f); err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	l.path, l.file = path, f
	if err := syncDir(dir); err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

// syncDir has the names in a directory on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readLedger reads a ledger; nil for a file that was cut: it was whole before the
// first change, so nothing was changed.
func readLedger(path string) (*ledger, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l ledger
	if json.Unmarshal(b, &l) != nil || l.System == "" {
		return nil, nil
	}
	l.path = path
	return &l, nil
}

// changedBy refuses where a ledger beside the one of that path names a server: an
// experiment changes it, or did and could not put it back.
func changedBy(runs, system, own string) error {
	paths, err := ledgers(runs)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if path == own {
			continue
		}
		l, err := readLedger(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // put back at this moment
		case err != nil:
			return fmt.Errorf("reading what another experiment changed: %w", err)
		case l != nil && l.System == system:
			return fmt.Errorf("another experiment has changed this server: %s, see %s; let it end, or put its settings back first", l.Experiment, path)
		}
	}
	return nil
}

func ledgers(runs string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(experiment.Dir(runs), "*"+ledgerExtension))
	if err != nil {
		return nil, fmt.Errorf("looking for what experiments left: %w", err)
	}
	return paths, nil
}

// undo gives the server what it had, where it still has what the experiment gave it.
// others are settings that somebody changed since: they are left alone.
func (l *ledger) undo(ctx context.Context, conn *pgx.Conn) (others []string, err error) {
	for _, b := range l.Before {
		now, err := autoValue(ctx, conn, b.Name)
		switch {
		case err != nil:
			return nil, err
		case sameValue(b.Name, now, b.Value):
		case !slices.ContainsFunc(l.Arms[b.Name], func(v string) bool { return sameValue(b.Name, now, &v) }):
			others = append(others, b.Name)
		default:
			if err := alterSystem(ctx, conn, b.Name, b.Value); err != nil {
				return nil, err
			}
		}
	}
	return others, reloadConf(ctx, conn)
}

// leftAlone says what undo did not touch.
func leftAlone(others []string) string {
	return fmt.Sprintf("somebody changed %s in postgresql.auto.conf since the experiment did: it is left as it is", strings.Join(others, ", "))
}

// sameValue tells whether two values of postgresql.auto.conf are the same; nil is no
// value.
func sameValue(name string, a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, okX := probes.SettingLiteral(name, *a)
	y, okY := probes.SettingLiteral(name, *b)
	return *a == *b || okX && okY && x == y
}

// close removes the ledger: all is put back.
func (l *ledger) close() error {
	err := os.Remove(l.path)
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	if err != nil {
		return fmt.Errorf("removing the note of what was changed: %w", err)
	}
	return nil
}

// advice says how a person puts the settings back.
func (l *ledger) advice() []string {
	out := []string{"on the server (" + l.Server + "), as a superuser:"}
	for _, b := range l.Before {
		sql, err := alterSQL(b.Name, b.Value)
		if err != nil { // such a value is not begun with; the file may have been edited
			sql = "-- take " + b.Name + " out of postgresql.auto.conf"
		}
		out = append(out, "  "+sql+";")
	}
	out = append(out, "  SELECT pg_reload_conf();")
	if l.Restart != "" {
		out = append(out, "  then restart it: "+l.Restart,
			"  a server that does not start: take these settings out of postgresql.auto.conf in its data directory first")
	}
	return append(out, "then remove "+l.path)
}

// UndoLeftovers puts back what experiments that crashed left changed on servers
// that pgtlb did not make, and tells what it did. A server that cannot be reached, or is
// another one by now, is said with the commands. cfg is a server that the person
// names now, which may know a password; nil for none.
func UndoLeftovers(ctx context.Context, runs string, cfg *pgx.ConnConfig) (lines []string, err error) {
	paths, err := ledgers(runs)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, path := range paths {
		more, err := undoLeftover(ctx, path, cfg)
		lines, errs = append(lines, more...), append(errs, err)
	}
	return lines, errors.Join(errs...)
}

func undoLeftover(ctx context.Context, path string, cfg *pgx.ConnConfig) (lines []string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what an experiment left: %w", err)
	}
	if experiment.Lock(f) != nil {
		return nil, f.Close() // its experiment is at work
	}
	l, err := readLedger(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // another program put it back at this moment
		return nil, f.Close()
	case err != nil:
		return nil, errors.Join(fmt.Errorf("reading what an experiment left: %w", err), f.Close())
	case l == nil:
		return nil, (&ledger{path: path, file: f}).close()
	}
	l.file = f
	others, err := l.putBack(ctx, cfg)
	if err != nil {
		lines = append([]string{fmt.Sprintf("experiment %s ended without putting its settings back, and that cannot be done now: %v", l.Experiment, err)}, l.advice()...)
		return lines, f.Close()
	}
	lines = []string{fmt.Sprintf("experiment %s had ended without putting its settings back: that is done now (%s)", l.Experiment, l.Server)}
	if len(others) > 0 {
		lines = append(lines, "  "+leftAlone(others))
	}
	if l.Restart != "" {
		lines = append(lines, "  it counts from the server's next restart on: "+l.Restart)
	}
	return lines, l.close()
}

// leftoverPatience bounds putting one server's settings back.
const leftoverPatience = 15 * time.Second

// putBack connects to the ledger's server and undoes what was changed.
func (l *ledger) putBack(ctx context.Context, now *pgx.ConnConfig) (others []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, leftoverPatience)
	defer cancel()
	cfg, err := pgx.ParseConfig(l.Server)
	if err != nil {
		return nil, err
	}
	if now != nil && serverString(now) == l.Server {
		cfg = now.Copy()
	}
	cfg.RuntimeParams["application_name"] = probes.SetupName
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	system, err := systemOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	if system != l.System {
		return nil, errors.New("there is another server at this address")
	}
	return l.undo(ctx, conn)
}
