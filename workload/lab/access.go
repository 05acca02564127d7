package lab

import (
	"errors"
	"fmt"
	"strings"
)

// DSN is the connection string of the lab's server, as libpq and pgx take it.
func (c *Cluster) DSN() string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=postgres", quoteDSN(c.dir), labPort, superuser)
}

func quoteDSN(s string) string {
	if !strings.ContainsAny(s, ` '\`) {
		return s
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// Server tells which programs the lab runs.
func (c *Cluster) Server() Server { return c.server }

// Dir is the lab's private directory.
func (c *Cluster) Dir() string { return c.dir }

// Data is the cluster's data directory.
func (c *Cluster) Data() string { return c.data }

// Pages is the page size the lab asks for; Proof tells which one it has.
func (c *Cluster) Pages() Pages {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.layers.pages
}

// Pid is the postmaster's pid; 0 while no server runs.
func (c *Cluster) Pid() int {
	if p := c.process(); p != nil && p.running() {
		return p.pid
	}
	return 0
}

// Running tells whether the server process is there.
func (c *Cluster) Running() bool { return c.Pid() != 0 }

// Proof is Verify for the lab's server. It is an error while no server runs.
func (c *Cluster) Proof() (Proof, error) {
	pid := c.Pid()
	if pid == 0 {
		return Proof{}, errors.New("proving the page size: the server does not run")
	}
	return Verify(c.opts.Roots, pid)
}

// Done is closed when the server ended without having been asked to; Err has the reason. It stays the same over a
// Restart until that happens, and is never closed by Restart or Stop.
func (c *Cluster) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// Err tells why the server ended by itself; nil when it did not.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// LogTail gives the last n lines of the server's log, also after Stop.
func (c *Cluster) LogTail(n int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tail != nil {
		return lastOf(c.tail, n)
	}
	return lastOf(readTail(c.log, 0), n)
}

// KeptHint tells how to start and remove a lab whose directory was kept.
func (c *Cluster) KeptHint() string {
	start := fmt.Sprintf("%s -D %s", c.server.program("postgres"), c.data)
	if c.account != nil {
		start = fmt.Sprintf("runuser -u %s -- %s", c.account.Name, start)
	}
	return fmt.Sprintf("kept in %s; start it: `%s`; remove it: `rm -r %s`", c.dir, start, c.dir)
}

func (c *Cluster) process() *postmaster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proc
}

func lastOf(lines []string, n int) []string {
	if len(lines) > n {
		return lines[len(lines)-max(n, 0):]
	}
	return lines
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
