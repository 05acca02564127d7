package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

const (
	systemSQL = "SELECT system_identifier::text FROM pg_control_system()"
	autoSQL   = `SELECT setting FROM pg_file_settings WHERE lower(name) = lower($1)
		AND sourcefile = current_setting('data_directory') || '/postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1`
)

// newLedger asks a server what it has before it is changed.
func newLedger(ctx context.Context, conn *pgx.Conn, name, restart string, settings []string) (*ledger, error) {
	l := &ledger{Experiment: name, Created: time.Now(), Restart: redact(restart), Server: serverString(conn.Config())}
	if err := conn.QueryRow(ctx, systemSQL).Scan(&l.System); err != nil {
		return nil, fmt.Errorf("asking which server this is: %w", err)
	}
	for _, s := range settings {
		line := ledgerLine{Name: s}
		err := conn.QueryRow(ctx, autoSQL, s).Scan(&line.Value)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("asking what postgresql.auto.conf has for %s: %w", s, err)
		}
		l.Before = append(l.Before, line)
	}
	return l, nil
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

// open writes the ledger to disk and locks it.
func (l *ledger) open(runs string) error {
	l.path = filepath.Join(experiment.Dir(runs), l.Experiment+ledgerExtension)
	b, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err == nil {
		err = experiment.Lock(l.file)
	}
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing down the settings before the experiment: %w", err)
	}
	return nil
}

// undo gives the server what it had.
func (l *ledger) undo(ctx context.Context, conn *pgx.Conn) error {
	for _, b := range l.Before {
		if err := alterSystem(ctx, conn, b.Name, b.Value); err != nil {
			return err
		}
	}
	return reloadConf(ctx, conn)
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
		if b.Value == nil {
			out = append(out, "  ALTER SYSTEM RESET "+settingIdentifier(b.Name)+";")
		} else {
			out = append(out, "  ALTER SYSTEM SET "+settingIdentifier(b.Name)+" = "+literal(*b.Value)+";")
		}
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
	paths, err := filepath.Glob(filepath.Join(experiment.Dir(runs), "*"+ledgerExtension))
	if err != nil {
		return nil, fmt.Errorf("looking for what experiments left: %w", err)
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
	l := &ledger{path: path, file: f}
	if experiment.Lock(f) != nil {
		return nil, f.Close() // its experiment is at work
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, l)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading what an experiment left in %s: %w", path, err), f.Close())
	}
	if err := l.putBack(ctx, cfg); err != nil {
		lines = append([]string{fmt.Sprintf("experiment %s ended without putting its settings back, and that cannot be done now: %v", l.Experiment, err)}, l.advice()...)
		return lines, f.Close()
	}
	lines = []string{fmt.Sprintf("experiment %s had ended without putting its settings back: that is done now (%s)", l.Experiment, l.Server)}
	if l.Restart != "" {
		lines = append(lines, "  it counts from the server's next restart on: "+l.Restart)
	}
	return lines, l.close()
}

// leftoverPatience bounds putting one server's settings back.
const leftoverPatience = 15 * time.Second

// putBack connects to the ledger's server and undoes what was changed.
func (l *ledger) putBack(ctx context.Context, now *pgx.ConnConfig) error {
	ctx, cancel := context.WithTimeout(ctx, leftoverPatience)
	defer cancel()
	cfg, err := pgx.ParseConfig(l.Server)
	if err != nil {
		return err
	}
	if now != nil && serverString(now) == l.Server {
		cfg = now.Copy()
	}
	cfg.RuntimeParams["application_name"] = probes.SetupName
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var system string
	if err := conn.QueryRow(ctx, systemSQL).Scan(&system); err != nil {
		return fmt.Errorf("asking which server this is: %w", err)
	}
	if system != l.System {
		return errors.New("there is another server at this address")
	}
	return l.undo(ctx, conn)
}
