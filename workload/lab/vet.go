package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Vetted tells what a lab would take before it is made: the machine and the server's own programs are asked. Close
// removes what that needs.
type Vetted struct{ c *Cluster }

// Vet checks what Start would check before it makes the cluster. Nothing is left where it fails.
func Vet(ctx context.Context, o Options) (*Vetted, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	o.Keep = false
	c, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, c.discard(ctx))
	}
	return &Vetted{c}, nil
}

// Takes finds out whether Restart of such a lab would take a change, and how the server understands the setting of that
// name then. What the change needs of huge pages is not known before there is a cluster: shared_buffers alone are
// weighed, and a pool that could be grown is none that stands in the way.
func (v *Vetted) Takes(ctx context.Context, ch Change, name string) (understood string, err error) {
	next, m, err := v.c.changed(ch)
	if err != nil {
		return "", err
	}
	if understood, err = v.c.understood(ctx, next, name); err != nil {
		return "", err
	}
	// The library of an extension need not be called as its settings are.
	if strings.Contains(name, ".") && !next.preloads() {
		return "", fmt.Errorf("%s is of an extension, and the server knows it once that is loaded: add its library with --set shared_preload_libraries=…", name)
	}
	size := next.insists(m.HugepageKB)
	if size == Pages4kB || size == 0 {
		return understood, nil
	}
	pool, err := ReadPool(v.c.opts.Roots, size)
	if err != nil {
		return "", err
	}
	buffers, err := ParseSize(next.effective("shared_buffers"))
	if err != nil {
		return "", fmt.Errorf("reading shared_buffers: %w", err)
	}
	if p := v.c.weigh(pool, size, pagesFor(buffers, size)); p.Err() != nil && !p.CanReserve {
		return "", fmt.Errorf("shared_buffers of %s alone: %s; %s", formatBytes(buffers), p.Reason, p.Help())
	}
	return understood, nil
}

// Close removes what asking needed.
func (v *Vetted) Close(ctx context.Context) error { return v.c.discard(ctx) }
