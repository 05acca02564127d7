package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Pools grows huge page pools and gives them back. What is changed is written down first, so that after a crash the
// next start, or Sweep, can give it back.
type Pools struct {
	Roots Roots
	// Dir holds the journal. Empty is /var/lib/pgtlb: pools belong to the machine and only root changes them, so the
	// journal is the machine's too, whoever's HOME root had at the time.
	Dir string
}

const defaultStateDir = "/var/lib/pgtlb"

// Reservation is a number of huge pages added to the machine's pool.
type Reservation struct {
	ID     string  `json:"id"`
	Size   Pages   `json:"size"`
	Before int     `json:"before"` // persistent pages before
	Added  int     `json:"added"`  // pages added; while Done is false, pages asked for
	Done   bool    `json:"done"`   // false between writing it down and reading the result back
	Owner  Process `json:"owner"`
}

type journal struct {
	Reservations []Reservation `json:"reservations"`
}

// Reserve adds extra pages to the pool of one size, all or nothing: when the kernel finds less, what it found is given
// back and the error tells how many there were. It needs root and refuses to leave the machine short of memory.
func (p Pools) Reserve(ctx context.Context, size Pages, extra int) (res Reservation, err error) {
	unlock, err := lockPools(ctx, p.Roots)
	if err != nil {
		return Reservation{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return p.reserve(size, extra)
}

// reserve is Reserve under the lock.
func (p Pools) reserve(size Pages, extra int) (Reservation, error) {
	if extra <= 0 {
		return Reservation{}, fmt.Errorf("reserving huge pages: %d is not a number of pages", extra)
	}
	m, err := readMemory(p.Roots)
	if err != nil {
		return Reservation{}, err
	}
	if err := checkRoom(size, extra, m); err != nil {
		return Reservation{}, err
	}
	owner, err := self(p.Roots)
	if err != nil {
		return Reservation{}, err
	}
	pool, err := ReadPool(p.Roots, size)
	if err != nil {
		return Reservation{}, err
	}
	j, err := p.read()
	if err != nil {
		return Reservation{}, err
	}
	res := Reservation{ID: rand.Text(), Size: size, Before: pool.Persistent(), Added: extra, Owner: owner}
	j.Reservations = append(j.Reservations, res)
	if err := p.save(*j); err != nil {
		return Reservation{}, err
	}
	return p.grow(j, len(j.Reservations)-1)
}

// grow carries out reservation i, which the journal on disk already holds.
func (p Pools) grow(j *journal, i int) (Reservation, error) {
	r := &j.Reservations[i]
	want := r.Added
	now, err := setPool(p.Roots, r.Size, r.Before+want)
	if err != nil {
		j.Reservations = slices.Delete(j.Reservations, i, i+1) // nothing was changed
		return Reservation{}, errors.Join(fmt.Errorf("%w; changing pools needs root", err), p.save(*j))
	}
	r.Added, r.Done = max(min(now.Persistent()-r.Before, want), 0), true
	if got, size := r.Added, r.Size; got < want {
		err := fmt.Errorf("reserving %d huge pages of %s: the kernel found only %d in one piece each; they were given back", want, size, got)
		return Reservation{}, errors.Join(err, p.settle(j, i))
	}
	return *r, p.save(*j)
}

// GiveBack takes the pages of a reservation out of the pool again. Pages that another process uses by now leave the pool
// when that process ends. Where the kernel does not give all back, the error says so, and the reservation stays in the
// journal with what is left of it.
func (p Pools) GiveBack(ctx context.Context, res Reservation) (err error) {
	unlock, err := lockPools(ctx, p.Roots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	j, err := p.read()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(j.Reservations, func(r Reservation) bool { return r.ID == res.ID })
	if i < 0 {
		return nil // given back already
	}
	return p.settle(j, i)
}

// settle gives back reservation i and keeps the journal true. The entry is removed from j when nothing of it is left.
func (p Pools) settle(j *journal, i int) error {
	left, err := p.giveBack(j.Reservations[i])
	if err == nil && left == 0 {
		j.Reservations = slices.Delete(j.Reservations, i, i+1)
		return p.save(*j)
	}
	if err == nil {
		r := &j.Reservations[i]
		err = fmt.Errorf("giving back %d huge pages of %s: the kernel kept %d of them; they go back at the next `pgtlb lab --sweep`", r.Added, r.Size, left)
		r.Added, r.Done = left, true
	}
	return errors.Join(err, p.save(*j))
}

// giveBack subtracts what the reservation added, whatever others did to the pool meanwhile. It returns how many of its
// pages are still in the pool.
func (p Pools) giveBack(r Reservation) (left int, err error) {
	pool, err := ReadPool(p.Roots, r.Size)
	if err != nil {
		return r.Added, err
	}
	added := r.Added
	if !r.Done { // crashed around the write: nobody read the result
		added = max(min(pool.Persistent()-r.Before, added), 0)
	}
	if added == 0 {
		return 0, nil
	}
	// Pages that somebody else has taken meanwhile become surplus ones: the kernel leaves them to their user and takes
	// them back when that ends.
	target := max(pool.Persistent()-added, 0)
	now, err := setPool(p.Roots, r.Size, target)
	if err != nil {
		return added, err
	}
	return max(added-(pool.Persistent()-now.Persistent()), 0), nil
}

// Recover gives back the reservations of processes that are gone, and tells what it did.
func (p Pools) Recover(ctx context.Context) (lines []string, err error) {
	if _, err := os.Stat(filepath.Join(p.dir(), journalName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	here, err := self(p.Roots)
	if err != nil {
		return nil, err
	}
	unlock, err := lockPools(ctx, p.Roots)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	j, err := p.read()
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := len(j.Reservations) - 1; i >= 0; i-- {
		r := j.Reservations[i]
		switch {
		case r.Owner.Boot != here.Boot: // the pool was emptied by the boot
			j.Reservations = slices.Delete(j.Reservations, i, i+1)
			errs = append(errs, p.save(*j))
		case r.Owner.Namespace != here.Namespace || r.Owner.alive(p.Roots):
		default:
			err := p.settle(j, i)
			errs = append(errs, err)
			if err == nil {
				lines = append(lines, fmt.Sprintf("gave back huge pages of %s that process %d had reserved (up to %d)", r.Size, r.Owner.PID, r.Added))
			}
		}
	}
	return lines, errors.Join(errs...)
}

const journalName = "pools.json"

func (p Pools) dir() string { return cmp.Or(p.Dir, defaultStateDir) }

// read gives the journal; an empty one where there is none.
func (p Pools) read() (*journal, error) {
	j := &journal{}
	b, err := os.ReadFile(filepath.Join(p.dir(), journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(b, j)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the huge page journal: %w", err)
	}
	return j, nil
}

// lockWait bounds how long a pgtlb waits for another one that is starting a server on huge pages.
const lockWait = time.Minute

// lockPools keeps other labs of this machine from counting the same free pages, from before pages are counted until they
// are taken or given back. The lock is on the kernel's own folder, so it needs no file and no agreement on one. Anybody
// may take that lock; after lockWait it goes on without, because pages that are not given back are the worse evil.
func lockPools(ctx context.Context, r Roots) (unlock func() error, err error) {
	f, err := os.Open(r.SysPath("kernel/mm/hugepages"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPool, err)
	}
	deadline := time.NewTimer(lockWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !tryLock(f) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for another lab's huge pages: %w", context.Cause(ctx)), f.Close())
		case <-deadline.C:
			return f.Close, nil
		case <-tick.C:
		}
	}
	return f.Close, nil
}

// save writes the journal; an empty one is no file.
func (p Pools) save(j journal) error {
	path := filepath.Join(p.dir(), journalName)
	if len(j.Reservations) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("emptying the huge page journal: %w", err)
		}
		return nil
	}
	// 0755: the portable servers live in the same place, and other accounts run them.
	err := os.MkdirAll(p.dir(), 0o755)
	if err == nil {
		err = writeJSON(path, j)
	}
	if err != nil {
		return fmt.Errorf("writing the huge page journal: %w; changing pools needs root", err)
	}
	return nil
}

// writeJSON replaces a file in one step, mode 0600.
func writeJSON(path string, v any) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return replaceFile(path, b)
}

func encodeJSON(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}
