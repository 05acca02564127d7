package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// selfTestWindow is how long an event may stay at 0 under load before it counts as dead. Groups that take turns change
// every few ms (perf_event_mux_interval_ms, 4 by default).
const selfTestWindow = 250 * time.Millisecond

// SelfTest finds hardware events that open and do not count: a hypervisor may let a denied event open and stay at 0
// for ever, groups can be accepted and never be scheduled, and a PMU with one counter per event id counts only one
// of cycles:u and cycles:k when both run together. It makes page faults and dTLB misses of its own, tries the other
// layouts for what stays at 0, and gives up what counts in none; those are returned. Call it once, after Open and
// before the first Read: events that get another layout start again. It takes about 20 ms where all is well, up to some
// seconds where events are dead. When ctx ends it returns early with the layouts reached so far.
func (s *Set) SelfTest(ctx context.Context) ([]Missing, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if s.opts.Scope == System() {
		return s.settle(ctx)
	}
	return s.settleApart(ctx)
}

// settleApart finds the layouts on the calling thread, because the load is made there and not in the tree or cgroup, and
// opens the scope's events again in the layouts found. They are closed meanwhile: the calling thread may be in it too.
func (s *Set) settleApart(ctx context.Context) ([]Missing, error) {
	own := *s
	own.find = func() ([]target, error) { return []target{{pid: 0, cpu: -1}}, nil }
	for _, u := range own.units {
		if err := u.close(); err != nil {
			return nil, err
		}
	}
	missing, err := own.attach(own.units)
	if err == nil {
		var more []Missing
		more, err = own.settle(ctx)
		missing = append(missing, more...)
	}
	for _, u := range own.units {
		err = errors.Join(err, u.close())
	}
	s.units = own.units
	more, attachErr := s.attach(s.units)
	return once(append(missing, more...)), errors.Join(err, attachErr)
}

// trial is what a unit did in one of its layouts.
type trial struct {
	at    int
	alive []string
	dead  []silence
}

// silence is an event without a count. stuck says that it had a counter all the same.
type silence struct {
	missing Missing
	stuck   bool
}

// settle moves every unit on until all its events count. What stays at 0 is first tried alone: if it is dead there too,
// it is dropped, and the rest goes on with the best layout. Otherwise the layout is at fault, and the next ones are tried.
func (s *Set) settle(ctx context.Context) ([]Missing, error) {
	var missing []Missing
	trials := map[*unit][]trial{}
	want := make([]string, 0, len(s.events))
	for _, e := range s.Events() {
		want = append(want, e.ID)
	}
	for moved := true; moved; {
		moved = false
		dead, err := s.dead(ctx)
		if err != nil {
			return missing, errors.Join(err, s.leaveAlone())
		}
		for _, u := range s.units {
			t := u.trial(dead)
			if len(t.dead) == 0 && !u.alone {
				continue
			}
			moved = true
			trials[u] = append(trials[u], t)
			if err := u.close(); err != nil {
				return missing, err
			}
			dropped, restart := u.advance(t, trials[u])
			missing = append(missing, dropped...)
			if restart {
				delete(trials, u)
			}
			more, err := s.attach([]*unit{u})
			missing = append(missing, more...)
			if err != nil {
				return missing, err
			}
		}
		s.units = slices.DeleteFunc(s.units, func(u *unit) bool { return len(u.groups) == 0 })
	}
	return once(append(missing, s.trim(want)...)), nil
}

// advance decides what a closed unit opens after the trial t, the last of ts. It returns the events it gives up.
// Restart says that the trials so far no longer count.
func (u *unit) advance(t trial, ts []trial) (dropped []Missing, restart bool) {
	switch {
	case u.alone:
		u.knownAlive = true
	case !u.knownAlive:
		u.goAlone()
		return nil, true
	default:
		if u.at = u.next(t); u.at < len(u.layouts) {
			return nil, false
		}
		t = bestTrial(ts)
	}
	for _, d := range t.dead {
		dropped = append(dropped, d.missing)
	}
	u.reset(t.alive)
	return dropped, true
}

// goAlone replaces the layouts by one in which the events take turns one by one.
func (u *unit) goAlone() {
	l := layout{exclusive: true}
	for _, id := range u.want {
		l.groups = append(l.groups, []string{id})
	}
	u.layouts, u.at, u.alone = []layout{l}, 0, true
}

// leaveAlone gives units whose test was cut short their layouts back.
func (s *Set) leaveAlone() error {
	for _, u := range s.units {
		if !u.alone {
			continue
		}
		if err := u.close(); err != nil {
			return err
		}
		u.reset(u.want)
		if _, err := s.attach([]*unit{u}); err != nil {
			return err
		}
	}
	return nil
}

// next returns the layout to try after t. An event that had a counter and stayed at 0 is not helped by groups that
// still may run together, only by taking turns.
func (u *unit) next(t trial) int {
	stuck := slices.ContainsFunc(t.dead, func(d silence) bool { return d.stuck })
	for i := t.at + 1; i < len(u.layouts); i++ {
		if u.layouts[i].exclusive || !stuck {
			return i
		}
	}
	return len(u.layouts)
}

// trial sorts the events of the open layout into the living and the dead.
func (u *unit) trial(dead map[string]silence) trial {
	t := trial{at: u.at}
	for _, g := range u.groups {
		for _, e := range g.events {
			if m, is := dead[e.ID]; is {
				t.dead = append(t.dead, m)
			} else {
				t.alive = append(t.alive, e.ID)
			}
		}
	}
	return t
}

// bestTrial returns the first trial with the most living events.
func bestTrial(ts []trial) trial {
	return slices.MaxFunc(ts, func(a, b trial) int {
		if len(a.alive) != len(b.alive) {
			return len(a.alive) - len(b.alive)
		}
		return b.at - a.at
	})
}

// dead returns the events that stay at 0 while this thread works, faults and misses the TLB.
func (s *Set) dead(ctx context.Context) (map[string]silence, error) {
	if !slices.ContainsFunc(s.Events(), func(e Event) bool { return !e.quiet }) {
		return nil, nil
	}
	before, _, err := s.Read(nil)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("testing perf events: %w", err)
		}
		if err := churn(); err != nil {
			return nil, err
		}
		after, failed, err := s.Read(nil)
		if err != nil {
			return nil, err
		}
		found := silent(before, after, s.events)
		for _, m := range failed {
			found[m.ID] = silence{missing: m}
		}
		if len(found) == 0 || time.Since(start) > selfTestWindow {
			return found, nil
		}
	}
}

// silent returns the events without a count between two reads.
func silent(before, after []Reading, events map[string]Event) map[string]silence {
	out := map[string]silence{}
	for _, a := range after {
		i := slices.IndexFunc(before, func(b Reading) bool { return b.ID == a.ID })
		if i < 0 || events[a.ID].quiet {
			continue
		}
		delta, _, counted := Scale(before[i].Per, a.Per)
		switch {
		case !counted:
			out[a.ID] = silence{missing: Missing{ID: a.ID, State: NotCounted,
				Reason: "it opens and is never scheduled on a counter",
				Remedy: "stop other profilers, or free a counter with sysctl kernel.nmi_watchdog=0"}}
		case delta == 0:
			out[a.ID] = silence{stuck: true, missing: Missing{ID: a.ID, State: NotCounted,
				Reason: "it opens and stays at 0 under load: a hypervisor's event filter, or a counter this CPU does not have",
				Remedy: "allow the event in the hypervisor's PMU event filter, or measure on another host"}}
		}
	}
	return out
}

// churnBytes is more than the second level TLB of any CPU of the event tables reaches with 4 kB pages (3072 entries).
const churnBytes = 32 << 20

// churn touches fresh small pages and reads them in an order that defeats the TLB: user and kernel cycles, stores and
// loads with page walks.
func churn() error {
	mem, err := unix.Mmap(-1, 0, churnBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mapping memory for the self-test: %w", err)
	}
	// Without transparent huge pages in the kernel the advice is refused, and not needed.
	_ = unix.Madvise(mem, unix.MADV_NOHUGEPAGE)
	page := os.Getpagesize()
	pages := len(mem) / page
	for i := range pages {
		mem[i*page] = byte(i)
	}
	var sum byte
	const stride = 7919 // prime, so every page is visited once before any is visited again
	for i, at := 0, 0; i < 2*pages; i++ {
		at = (at + stride) % pages
		sum += mem[at*page]
	}
	mem[0] = sum
	if err := unix.Munmap(mem); err != nil {
		return fmt.Errorf("unmapping the memory of the self-test: %w", err)
	}
	return nil
}
