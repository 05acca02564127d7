package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pgtlb/probes"
)

// serverEnv is the environment of the server's programs: no PG* variable of the person's shell may leak in (PGDATA,
// PGPORT, PGOPTIONS), and messages are in English, because some of them are read here.
func serverEnv(home string) []string {
	env := []string{"LC_ALL=C", "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"TZ", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// superuser is the role a lab is created with. Who may reach the socket, in a directory of mode 0700, may use it.
const superuser = "postgres"

// initdbArgs: locale C is there on every system and sorts by bytes, so index order does not depend on the machine.
func initdbArgs(s Server, data string) []string {
	args := []string{"-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	if s.Major >= 16 { // -c is new in 16; before, initdb tries huge pages whatever one says
		args = append(args, "-c", "huge_pages=off")
	}
	return args
}

// initdbSteps is how many "… ok" lines initdb prints (15: 9, 18: 10); only for the progress bar.
const initdbSteps = 9

func (c *Cluster) initdb(ctx context.Context, progress Progress) error {
	done := int64(0)
	progress.say("initdb", "creating the cluster", 0, initdbSteps)
	_, err := run(ctx, command{
		path: c.server.program("initdb"), args: initdbArgs(c.server, c.data), env: serverEnv(c.dir), dir: c.dir, account: c.account,
		line: func(line string) {
			if text, ok := strings.CutSuffix(line, "... ok"); ok {
				done = min(done+1, initdbSteps)
				progress.say("initdb", strings.TrimSpace(text), done, initdbSteps)
			}
		},
	})
	if err != nil {
		return explainInitdb(err)
	}
	progress.say("initdb", "cluster created", initdbSteps, initdbSteps)
	return nil
}

// explainInitdb recognises the one failure of initdb that its own words do not explain.
func explainInitdb(err error) error {
	failed := (*runError)(nil)
	if !errors.As(err, &failed) {
		return fmt.Errorf("creating the cluster: %w", err)
	}
	if failed.code == 135 || probes.BusError(failed.output) {
		return fmt.Errorf("creating the cluster: initdb died of a bus error: before version 16 it always tries huge pages, and the machine's pool has pages that this container or cgroup may not use (its hugetlb limit); raise that limit, empty the pool for now, or use PostgreSQL 16 or later: %w", err)
	}
	return fmt.Errorf("creating the cluster: %w", err)
}

// confName is the lab's own configuration, included at the end of postgresql.conf so that it wins.
const confName = "pgtlb.conf"

// includeLine makes a postgresql.conf read it.
const includeLine = "\ninclude '" + confName + "'\n"

// includeConf makes postgresql.conf read the lab's own file.
func (c *Cluster) includeConf() error {
	b, err := c.root.ReadFile("data/postgresql.conf")
	if err != nil {
		return fmt.Errorf("configuring the cluster: %w", err)
	}
	return c.writeFor("data/postgresql.conf", append(b, includeLine...))
}

// writeConf writes the lab's own file into "data" or "probe".
func (c *Cluster) writeConf(folder string, l layers) error {
	return c.writeFor(filepath.Join(folder, confName), []byte(configText(c.dir, l.all()...)))
}
