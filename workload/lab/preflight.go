package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Preflight says whether a page size can be used, before the server is touched.
type Preflight struct {
	Size       Pages
	Need       int    // pages of shared memory; 0 for 4kB pages
	NeedBytes  int64  // Need in bytes
	Total      int    // pages in the machine's pool
	Free       int    // of them without memory in use
	Reserved   int    // of the free ones, promised to running processes
	Own        int    // pages this lab's server holds now and gives up when it restarts
	Short      int    // pages missing; 0 means that it fits
	Limit      int    // pages the cgroup's hugetlb limit allows this lab, -1 without one; a larger pool does not help
	CanReserve bool   // whether Short pages can be added: root, and enough memory is left
	Reason     string // why it does not fit, or why CanReserve is false; "" when all is well
	Remedy     string // what helps
}

// Err is nil when the pages are there and may be used, else a *ShortPool or the cgroup's limit.
func (p Preflight) Err() error {
	if p.limited() {
		return fmt.Errorf("%s pages: %s; %s", p.Size, p.Reason, p.Remedy)
	}
	if p.Short == 0 {
		return nil
	}
	return &ShortPool{Size: p.Size, NeedBytes: p.NeedBytes, Need: p.Need, Have: p.Need - p.Short, Total: p.Total}
}

// Help is what a person can do where Err is not nil: a command for root, or a sentence.
func (p Preflight) Help() string {
	if p.limited() {
		return p.Remedy
	}
	return "as root: `" + p.Remedy + "`"
}

// Preflight finds out how many pages the lab would need with its present settings and the given page size, and whether
// the pool has them. The server may be running or not. The error is ErrNoPool where the machine has no such pages.
func (c *Cluster) Preflight(ctx context.Context, size Pages) (Preflight, error) {
	c.ops.Lock()
	defer c.ops.Unlock()
	l := c.layers
	l.pages = size
	return c.preflight(ctx, l)
}

// limited tells whether the cgroup stands in the way. A server that goes over the limit is killed by SIGBUS later.
func (p Preflight) limited() bool { return p.Limit >= 0 && p.Limit < p.Need }

func (c *Cluster) preflight(ctx context.Context, l layers) (Preflight, error) {
	size := l.pages
	if size == Pages4kB {
		return Preflight{Size: size, Limit: -1}, nil
	}
	pool, err := ReadPool(c.opts.Roots, size)
	if err != nil {
		return Preflight{}, err
	}
	if err := l.resolve(c.opts.Roots, c.server.Major); err != nil {
		return Preflight{}, err
	}
	need, err := c.pagesNeeded(ctx, l)
	if err != nil {
		return Preflight{}, err
	}
	return c.weigh(pool, size, need), nil
}

// weigh says whether a pool has so many pages for this lab and, where it has not, whether they could be reserved.
func (c *Cluster) weigh(pool Pool, size Pages, need int) Preflight {
	p := Preflight{Size: size, Need: need, NeedBytes: int64(need) * size.Bytes(), Total: pool.Total, Free: pool.Free, Reserved: pool.Reserved, Limit: -1}
	if proof, err := c.Proof(); err == nil && proof.Mode == size {
		p.Own = pagesFor(proof.SizeKB<<10, size)
	}
	if left, ok := cgroupHugetlbLeft(c.opts.Roots, size); ok {
		p.Limit = int(left/size.Bytes()) + p.Own
	}
	if p.limited() {
		p.Short = max(p.Need-pool.Available()-p.Own, 0)
		p.Reason = fmt.Sprintf("the hugetlb limit of this cgroup or container allows %d pages and %d are needed", p.Limit, p.Need)
		p.Remedy = fmt.Sprintf("raise hugetlb.%s.max (and rsvd.max) of the cgroup, or use smaller --shared-buffers", size)
		return p
	}
	if p.Short = max(p.Need-pool.Available()-p.Own, 0); p.Short == 0 {
		return p
	}
	p.Reason = fmt.Sprintf("%d pages short: %d of %s are needed and %d are available", p.Short, p.Need, size, p.Need-p.Short)
	p.Remedy = growCommand(size, p.Total+p.Short)
	p.CanReserve = true
	m, err := readMemory(c.opts.Roots)
	if err == nil {
		err = checkRoom(size, p.Short, m)
	}
	if os.Geteuid() != 0 {
		err = errors.Join(err, errors.New("only root can reserve them"))
	}
	if err != nil {
		p.CanReserve = false
		p.Reason += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return p
}

// holdPools keeps other labs from taking the pages this one is about to count and use. It does nothing for settings that
// need none.
func (c *Cluster) holdPools(ctx context.Context, l layers) (unlock func(), err error) {
	m, err := readMemory(c.opts.Roots)
	if err != nil {
		return nil, err
	}
	if size := l.insists(m.HugepageKB); size == Pages4kB || size == 0 {
		return func() {}, nil
	}
	release, err := lockPools(ctx, c.opts.Roots)
	if err != nil {
		return nil, err
	}
	return func() { _ = release() }, nil // closing a folder that was only read cannot lose anything
}

// ensurePool makes sure the pool has what the settings insist on, growing it if that is allowed.
func (c *Cluster) ensurePool(ctx context.Context, l layers, reserve bool, progress Progress) error {
	m, err := readMemory(c.opts.Roots)
	if err != nil {
		return err
	}
	size := l.insists(m.HugepageKB)
	if size == Pages4kB || size == 0 {
		return nil
	}
	if _, err := ReadPool(c.opts.Roots, size); err != nil {
		return err
	}
	if c.server.Major < 15 && !c.Running() {
		return nil // it cannot be asked; a start that fails says how much it needs
	}
	asked := l
	asked.pages = size
	p, err := c.preflight(ctx, asked)
	if err != nil || p.Err() == nil {
		return err
	}
	if !reserve || p.limited() {
		return p.Err()
	}
	progress.say("reserve", fmt.Sprintf("%d huge pages of %s", p.Short, size), 0, int64(p.Short))
	r, err := c.opts.Pools.reserve(size, p.Short)
	if err != nil {
		return err
	}
	c.reserved = append(c.reserved, r)
	progress.say("reserve", fmt.Sprintf("%d huge pages of %s", r.Added, size), int64(r.Added), int64(r.Added))
	return nil
}

// pagesNeeded asks the server's own programs where they know (from 15), else measures the running server.
func (c *Cluster) pagesNeeded(ctx context.Context, l layers) (int, error) {
	if c.server.Major < 15 {
		// The mapping of a server without huge pages is the exact request; with huge pages it is rounded up already.
		proof, err := c.Proof()
		if err != nil {
			return 0, fmt.Errorf("finding out how many huge pages PostgreSQL %d needs: it cannot be asked before version 15, only measured while it runs: %w", c.server.Major, err)
		}
		return pagesFor(proof.SizeKB<<10, l.pages), nil
	}
	out, err := c.ask(ctx, l, "shared_memory_size_in_huge_pages")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("asking for shared_memory_size_in_huge_pages: unexpected answer %q", out)
	}
	if n < 0 {
		return 0, errors.New("this server says that huge pages are not supported here (shared_memory_size_in_huge_pages is -1)")
	}
	return n, nil
}

// ask runs `postgres -C name` with the given settings. A running server's directory is locked against that, so it is run
// on a stand-in that holds only what -C reads: configuration and, for what is worked out from them, version and control
// file. A setting the server does not take is its FATAL, as a *StartError.
func (c *Cluster) ask(ctx context.Context, l layers, name string) (string, error) {
	if err := c.fillProbe(l); err != nil {
		return "", fmt.Errorf("asking the server for %s: %w", name, err)
	}
	out, err := run(ctx, command{
		path: c.server.program("postgres"), args: []string{"-D", filepath.Join(c.dir, "probe"), "-C", name},
		env: serverEnv(c.dir), dir: c.dir, account: c.account,
	})
	if failed := (*runError)(nil); errors.As(err, &failed) && failed.code == 1 {
		return "", &StartError{State: failed.state, Log: strings.Split(failed.output, "\n")}
	}
	if err != nil {
		return "", fmt.Errorf("asking the server for %s: %w", name, err)
	}
	return strings.TrimSpace(out), nil
}

func (c *Cluster) fillProbe(l layers) error {
	for _, dir := range []string{"probe", "probe/global"} {
		if err := c.mkdirFor(dir); err != nil {
			return err
		}
	}
	if _, err := c.root.Stat("data"); errors.Is(err, fs.ErrNotExist) { // before initdb
		err := errors.Join(c.writeFor("probe/postgresql.conf", []byte(includeLine)), c.writeFor("probe/postgresql.auto.conf", nil))
		if err != nil {
			return err
		}
		return c.writeConf("probe", l)
	}
	for _, name := range []string{"PG_VERSION", "postgresql.conf", "postgresql.auto.conf", "global/pg_control"} {
		b, err := c.root.ReadFile(filepath.Join("data", name))
		if err != nil {
			return err
		}
		if err := c.writeFor(filepath.Join("probe", name), b); err != nil {
			return err
		}
	}
	return c.writeConf("probe", l)
}
