package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
func (p Pools) Reserve(size Pages, extra int) (res Reservation, err error) {
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
	err = p.locked(func(j *journal) error {
		pool, err := ReadPool(p.Roots, size)
		if err != nil {
			return err
		}
		res = Reservation{ID: fmt.Sprintf("%d-%d-%d", owner.PID, owner.Start, len(j.Reservations)), Size: size, Before: pool.persistent(), Added: extra, Owner: owner}
		j.Reservations = append(j.Reservations, res)
		if err := p.save(*j); err != nil {
			return err
		}
		last := &j.Reservations[len(j.Reservations)-1]
		now, err := setPool(p.Roots, size, pool.persistent()+extra)
		if err != nil {
			j.Reservations = j.Reservations[:len(j.Reservations)-1] // nothing was changed
			return errors.Join(err, p.save(*j))
		}
		last.Added, last.Done = max(min(now.persistent()-last.Before, extra), 0), true
		if got := last.Added; got < extra {
			_, err := p.giveBack(*last)
			if err == nil {
				j.Reservations = j.Reservations[:len(j.Reservations)-1]
			}
			return errors.Join(fmt.Errorf("reserving %d huge pages of %s: the kernel found only %d in one piece each; they were given back", extra, size, got), err, p.save(*j))
		}
		res = *last
		return p.save(*j)
	})
	if err != nil {
		return Reservation{}, err
	}
	return res, nil
}

// GiveBack takes the pages of a reservation out of the pool again. Pages still in use stay, and the error says so; the
// reservation stays in the journal with what is left of it.
func (p Pools) GiveBack(res Reservation) error {
	return p.locked(func(j *journal) error {
		for i, r := range j.Reservations {
			if r.ID == res.ID {
				return p.settle(j, i)
			}
		}
		return nil // given back already
	})
}

// settle gives back reservation i and keeps the journal true. The entry is removed from j when nothing of it is left.
func (p Pools) settle(j *journal, i int) error {
	left, err := p.giveBack(j.Reservations[i])
	if err == nil && left == 0 {
		j.Reservations = append(j.Reservations[:i], j.Reservations[i+1:]...)
		return p.save(*j)
	}
	if err == nil {
		r := &j.Reservations[i]
		err = fmt.Errorf("giving back %d huge pages of %s: %d of them are in use; they go back at the next `pgtlb lab --sweep`", r.Added, r.Size, left)
		r.Added, r.Done = left, true
	}
	return errors.Join(err, p.save(*j))
}

// giveBack subtracts what the reservation added, whatever others did to the pool meanwhile, never going below what is in
// use. It returns how many of its pages are still in the pool.
func (p Pools) giveBack(r Reservation) (left int, err error) {
	pool, err := ReadPool(p.Roots, r.Size)
	if err != nil {
		return r.Added, err
	}
	added := r.Added
	if !r.Done { // crashed around the write: nobody read the result
		added = max(min(pool.persistent()-r.Before, added), 0)
	}
	if added == 0 {
		return 0, nil
	}
	target := max(pool.persistent()-added, 0)
	// Less than what is in use would turn used pages into surplus ones, which vanish later and unseen.
	if floor := pool.inUse() - pool.Surplus; target < floor {
		target = min(floor, pool.persistent())
	}
	now, err := setPool(p.Roots, r.Size, target)
	if err != nil {
		return added, err
	}
	return max(added-(pool.persistent()-now.persistent()), 0), nil
}

// Recover gives back the reservations of processes that are gone, and tells what it did.
func (p Pools) Recover() (lines []string, err error) {
	if _, err := os.Stat(filepath.Join(p.dir(), journalName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	here, err := self(p.Roots)
	if err != nil {
		return nil, err
	}
	err = p.locked(func(j *journal) error {
		var errs []error
		for i := len(j.Reservations) - 1; i >= 0; i-- {
			r := j.Reservations[i]
			switch {
			case r.Owner.Boot != here.Boot: // the pool was emptied by the boot
				j.Reservations = append(j.Reservations[:i], j.Reservations[i+1:]...)
				errs = append(errs, p.save(*j))
			case r.Owner.Namespace != here.Namespace || r.Owner.alive(p.Roots):
			default:
				if err := p.settle(j, i); err != nil {
					errs = append(errs, err)
					continue
				}
				lines = append(lines, fmt.Sprintf("gave back %d huge pages of %s that process %d had reserved", r.Added, r.Size, r.Owner.PID))
			}
		}
		return errors.Join(errs...)
	})
	return lines, err
}

const journalName = "pools.json"

func (p Pools) dir() string { return cmpOr(p.Dir, defaultStateDir) }

// locked runs f on the journal while no other pgtlb works on it.
func (p Pools) locked(f func(*journal) error) error {
	// 0755: the portable servers live in the same place, and other accounts run them.
	if err := os.MkdirAll(p.dir(), 0o755); err != nil {
		return fmt.Errorf("opening the huge page journal: %w; changing pools needs root", err)
	}
	lock, err := os.OpenFile(filepath.Join(p.dir(), "pools.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the huge page journal: %w; changing pools needs root", err)
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("locking the huge page journal: %w", err)
	}
	var j journal
	b, err := os.ReadFile(filepath.Join(p.dir(), journalName))
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the huge page journal: %w", err)
	}
	return f(&j)
}

func (p Pools) save(j journal) error {
	if err := writeJSON(filepath.Join(p.dir(), journalName), j); err != nil {
		return fmt.Errorf("writing the huge page journal: %w", err)
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
