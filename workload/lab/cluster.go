package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Options say what a lab is made of. Server is required.
type Options struct {
	Server        Server
	Settings      map[string]string // --set; they win over everything pgtlb sets but for what keeps the lab private
	SharedBuffers string            // as ParseSize reads it; "" is a quarter of the available memory, 2 GB at most
	Pages         Pages             // 0 is Pages4kB
	Reserve       bool              // may grow the huge page pool by what is missing (root)
	OSUser        string            // the account for the server when pgtlb is root; "" picks one
	Keep          bool              // Stop leaves the directory, with the server stopped
	Parent        string            // where the lab's directory is made; "" is os.TempDir()
	Roots         Roots             // for tests
	Pools         Pools             // the journal of reserved pages; its zero value is the machine's
}

// Cluster is a lab's server. All methods may be called from any goroutine.
type Cluster struct {
	opts    Options
	server  Server
	account *account
	dir     string   // made by Start, marked, removed by Stop
	root    *os.Root // dir, for everything pgtlb itself writes there
	data    string
	log     string

	ops      sync.Mutex // one of Restart, Stop and Preflight at a time; guards the next four
	layers   layers     // written with mu held too, so that reading it does not wait for a restart
	mark     marker
	reserved []Reservation
	stopped  bool

	mu      sync.Mutex // guards the rest
	proc    *postmaster
	logFrom int64         // where in the log the present process began
	done    chan struct{} // closed when a server ended without being asked to
	reason  error         // why
	tail    []string      // the log's last lines, kept when the directory goes
}

// Start makes a private server and returns when it takes connections. When it fails, or ctx ends before, everything it
// made is gone again. The error may be or wrap *StartError (the server's own words), *ShortPool or ErrNoPool.
func Start(ctx context.Context, o Options, progress Progress) (*Cluster, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	c, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := c.create(ctx, progress); err != nil {
		return nil, errors.Join(err, c.discard(ctx))
	}
	return c, nil
}

// prepare checks what can be checked before anything is made.
func prepare(o Options) (*Cluster, error) {
	if o.Server.Bindir == "" {
		return nil, fmt.Errorf("starting a lab: %w", ErrNoServer)
	}
	if o.Pages == 0 {
		o.Pages = Pages4kB
	}
	o.Parent = cmp.Or(o.Parent, os.TempDir())
	o.Pools.Roots = o.Roots
	account, err := chooseAccount(o.OSUser, os.Geteuid())
	if err != nil {
		return nil, err
	}
	user, err := checkSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	m, err := readMemory(o.Roots)
	if err != nil {
		return nil, err
	}
	l := layers{pages: o.Pages, buffers: o.SharedBuffers, user: user}
	if l.buffers == "" {
		l.buffers = fmt.Sprintf("%dMB", defaultBuffers(m)>>20)
	}
	if err := l.resolve(o.Roots, o.Server.Major); err != nil {
		return nil, err
	}
	if err := l.check(m); err != nil {
		return nil, err
	}
	return &Cluster{opts: o, server: o.Server, account: account, layers: l, done: make(chan struct{})}, nil
}

// check refuses shared buffers that do not fit this machine and page sizes it does not have.
func (l layers) check(m memory) error {
	size, err := ParseSize(l.effective("shared_buffers"))
	if err != nil {
		return fmt.Errorf("reading shared_buffers: %w", err)
	}
	return checkBuffers(size, l.insists(m.HugepageKB), m)
}

func (c *Cluster) create(ctx context.Context, progress Progress) error {
	progress.say("find server", c.server.String(), 1, 1)
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := c.initdb(ctx, progress); err != nil {
		return err
	}
	if err := c.includeConf(); err != nil {
		return err
	}
	if c.server.Major < 15 && c.opts.Reserve && c.layers.pages != Pages4kB {
		return c.createOld(ctx, progress)
	}
	unlock, err := c.holdPools(ctx, c.layers)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.ensurePool(ctx, c.layers, c.opts.Reserve, progress); err != nil {
		return err
	}
	return c.launch(ctx, c.layers, progress)
}

// begin makes the directory and has the server's programs look at the settings: what they do not take is refused before
// there is a cluster.
func (c *Cluster) begin(ctx context.Context) error {
	if err := c.makeDir(); err != nil {
		return err
	}
	if err := c.tryAccount(ctx); err != nil {
		return err
	}
	_, err := c.understood(ctx, c.layers, "max_connections")
	return err
}

// createOld reserves for a server that can only be measured while it runs: it starts once with 4 kB pages.
func (c *Cluster) createOld(ctx context.Context, progress Progress) error {
	want := c.layers.pages
	c.layers.pages = Pages4kB
	if err := c.layers.resolve(c.opts.Roots, c.server.Major); err != nil {
		return err
	}
	if err := c.launch(ctx, c.layers, progress); err != nil {
		return err
	}
	return c.Restart(ctx, Change{Pages: want, Reserve: true}, progress)
}

// makeDir makes the lab's directory and puts the marker in before anything else.
func (c *Cluster) makeDir() error {
	parent, err := filepath.Abs(c.opts.Parent)
	if err != nil {
		return fmt.Errorf("making the lab's directory: %w", err)
	}
	if n := len(socketPath(filepath.Join(parent, dirPrefix+"0123456789"))); n > maxSocketPath {
		return fmt.Errorf("making the lab's directory: the path of a Unix socket in %s would be %d bytes long and the system takes %d; set TMPDIR to a shorter path", parent, n, maxSocketPath)
	}
	owner, err := self(c.opts.Roots)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, dirPrefix)
	if err != nil {
		return fmt.Errorf("making the lab's directory: %w; set TMPDIR to a directory that can be written", err)
	}
	c.dir, c.data, c.log = dir, filepath.Join(dir, "data"), filepath.Join(dir, logName)
	if c.root, err = os.OpenRoot(dir); err != nil {
		return errors.Join(fmt.Errorf("making the lab's directory: %w", err), os.Remove(dir))
	}
	c.mark = marker{What: markerWhat, Owner: owner, Keep: c.opts.Keep, Account: c.account.uid(), Residue: residue{SysV: -1}}
	if err := c.writeMarker(); err != nil {
		return errors.Join(err, os.RemoveAll(dir)) // just made, ours alone, and without its marker nobody else would
	}
	if c.account == nil {
		return nil
	}
	return c.root.Lchown(".", int(c.account.UID), int(c.account.GID))
}

// tryAccount finds out in good time whether the account can run the programs and reach the directory.
func (c *Cluster) tryAccount(ctx context.Context) error {
	version := command{path: c.server.program("postgres"), args: []string{"--version"}, env: serverEnv(c.dir), dir: "/", account: c.account}
	who := "this user"
	if c.account != nil {
		who = fmt.Sprintf("the OS user %q", c.account.Name)
	}
	if _, err := run(ctx, version); err != nil {
		return fmt.Errorf("%s cannot run the server programs in %s; give it access, or choose with --os-user or --pg-bindir: %w", who, c.server.Bindir, err)
	}
	version.dir = c.dir
	if _, err := run(ctx, version); err != nil {
		return fmt.Errorf("%s cannot reach %s; set TMPDIR to a directory that every account may enter, /tmp for example: %w", who, c.dir, err)
	}
	return nil
}

// launch starts the server with the given settings and waits until it is ready. When it fails no process is left.
func (c *Cluster) launch(ctx context.Context, l layers, progress Progress) error {
	progress.say("start", fmt.Sprintf("shared_buffers %s, %s pages", l.effective("shared_buffers"), l.pages), 0, 0)
	if err := c.writeConf("data", l); err != nil {
		return err
	}
	f, err := c.root.OpenFile(logName, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	defer f.Close() // the server has its own descriptor
	from, err := f.Seek(0, io.SeekEnd)
	if err == nil && c.account != nil {
		err = f.Chown(int(c.account.UID), int(c.account.GID))
	}
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	// Not CommandContext: the server outlives ctx and ends by Stop. The programs' path is the person's own choice.
	cmd := exec.Command(c.server.program("postgres"), "-D", c.data)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, serverEnv(c.dir), f, f
	cmd.SysProcAttr = procAttr(c.account, syscall.SIGQUIT) // an immediate shutdown should pgtlb be killed
	c.revive()
	p, err := startPostmaster(cmd, c.lost)
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	c.mu.Lock()
	c.proc, c.logFrom = p, from
	c.mu.Unlock()
	if err := c.settleIn(ctx, p); err != nil {
		_, stopErr := p.stop(ctx, 0)
		return errors.Join(c.explain(err, l, from), stopErr, c.clearResidue())
	}
	progress.say("start", fmt.Sprintf("PostgreSQL %s is ready", c.server.Version), 1, 1)
	return nil
}

// settleIn waits for the new process and notes it in the marker.
func (c *Cluster) settleIn(ctx context.Context, p *postmaster) error {
	if err := p.awaitReady(ctx, c.data, c.dir); err != nil {
		return err
	}
	id, err := identify(c.opts.Roots, p.pid)
	if err != nil {
		return err
	}
	c.mark.Postmaster, c.mark.Residue = &id, readResidue(c.opts.Roots, p.pid, c.data)
	return c.writeMarker()
}

// explain adds the server's own words to a failed start.
func (c *Cluster) explain(err error, l layers, from int64) error {
	failed := (*StartError)(nil)
	if !errors.As(err, &failed) {
		return err
	}
	m, memErr := readMemory(c.opts.Roots)
	if memErr != nil {
		return errors.Join(err, memErr)
	}
	return explainStart(c.opts.Roots, failed.State, readTail(c.log, from), l.insists(m.HugepageKB))
}

// lost notes that the server ended by itself.
func (c *Cluster) lost(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := readTail(c.log, c.logFrom)
	why := lastLines(joinLines(lastOf(lines, 3)), 3)
	c.reason = fmt.Errorf("the lab's server ended by itself (%s): %s", state, cmp.Or(why, "it wrote no reason"))
	close(c.done)
}

// stopFast is how long Stop waits for the orderly shutdown of a server whose data nobody will read.
const stopFast = 10 * time.Second

// Stop ends the server, waits for it, removes the directory (unless Options.Keep) and gives back reserved huge pages. It
// does all of that whatever fails on the way, and when ctx ends it only stops being patient. A second call does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	c.ops.Lock()
	defer c.ops.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	return c.end(ctx, stopFast)
}

// discard is Stop for a Start that failed: nothing is kept and the server need not shut down in order.
func (c *Cluster) discard(ctx context.Context) error {
	c.ops.Lock()
	defer c.ops.Unlock()
	c.stopped, c.opts.Keep = true, false
	return c.end(ctx, 0)
}

func (c *Cluster) end(ctx context.Context, fast time.Duration) error {
	var errs []error
	gone := true
	if p := c.process(); p != nil {
		how, err := p.stop(ctx, fast)
		errs = append(errs, err)
		if gone = !p.running(); gone && how != "fast" {
			errs = append(errs, c.clearResidue())
		}
	}
	if c.dir != "" {
		c.mu.Lock()
		c.tail = readTail(c.log, 0)
		c.mu.Unlock()
	}
	if gone && c.dir != "" && !c.opts.Keep {
		errs = append(errs, removeDir(c.dir))
	}
	if c.root != nil {
		errs = append(errs, c.root.Close())
	}
	for _, r := range c.reserved {
		errs = append(errs, c.opts.Pools.GiveBack(context.WithoutCancel(ctx), r)) // waits lockWait at most
	}
	c.reserved = nil
	return errors.Join(errs...)
}
