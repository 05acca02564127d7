package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"pgtlb/probes"
)

// Free is how free memory is cut up, and what the kernel counted while it looked
// for large pieces.
type Free struct {
	// Blocks are the free blocks of all zones by order: Blocks[0] are single
	// ordinary pages, each order is twice the one before. Nil where unknown.
	Blocks []uint64 `json:"blocks,omitempty"`
	// Events are counters since the boot, of /proc/vmstat.
	Events map[string]uint64 `json:"events,omitempty"`
}

func lookAtFree(f files) Free {
	var out Free
	pfs, err := procfs.NewFS(f.tree.Roots().ProcPath())
	if err == nil {
		var zones []procfs.BuddyInfo
		zones, err = pfs.BuddyInfo()
		for _, z := range zones {
			for order, n := range z.Sizes {
				for len(out.Blocks) <= order {
					out.Blocks = append(out.Blocks, 0)
				}
				out.Blocks[order] += uint64(n)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.deny("/proc/buddyinfo", err)
	}
	return out
}

// lookAtEvents reads /proc/vmstat once: the counters of Free and those of System.
func lookAtEvents(f files) (pages, system map[string]uint64) {
	text, ok := f.text("/proc/vmstat")
	if !ok {
		return nil, nil
	}
	return parseEvents([]byte(text)), parseCounters([]byte(text), "pswp", "oom_kill")
}

// parseEvents takes the counters of compaction and of huge page allocation from
// /proc/vmstat.
func parseEvents(b []byte) map[string]uint64 {
	return parseCounters(b, "compact_", "htlb_buddy_")
}

// parseCounters reads the lines of /proc/vmstat whose names have one of the
// prefixes.
func parseCounters(b []byte, prefixes ...string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

// pieces is how many pages of a size lie free in one piece; false where the
// kernel does not list pieces of that size.
func (f Free) pieces(pageKB, granuleKB int) (n int, ok bool) {
	order := bits.Len(uint(pageKB/granuleKB)) - 1
	if order < 0 || order >= len(f.Blocks) {
		return 0, false
	}
	for o := order; o < len(f.Blocks); o++ {
		n += int(f.Blocks[o]) << (o - order)
	}
	return n, true
}

func checkGot(s *Snapshot) Check {
	c := Check{
		ID: "pool_got", Title: "Huge pages asked for and got", Status: OK,
		Expected: "each pool has as many pages as its setting asks for",
		Why: "Asking for pages succeeds even where the kernel does not find them: memory that has been in use for a while is " +
			"cut into pieces smaller than a huge page. Only the number in the pool tells.",
		Sources: []string{"/sys/kernel/mm/hugepages", "/proc/buddyinfo", "/proc/vmstat"},
	}
	var asked, short bool
	for _, p := range s.Host.Pools {
		set := s.setAtBoot(p.PageKB)
		if set == nil {
			continue
		}
		asked = true
		if p.Persistent() >= set.Pages {
			c.Found = joined(c.Found, fmt.Sprintf("%s asks for %s and the pool has %s", set.where(), pages(set.Pages, p.PageKB), number(p.Persistent())))
			continue
		}
		short = true
		c.Found = joined(c.Found, fmt.Sprintf("%s asks for %s and the pool got %s: %s missing", set.where(),
			pages(set.Pages, p.PageKB), number(p.Persistent()), number(set.Pages-p.Persistent())))
		s.adviseGot(&c, p.PageKB, set.Pages, set.Pages-p.Persistent())
	}
	switch {
	case s.inContainer() && !asked:
		c.Status, c.Found = Unknown, "what was asked for is in files of the machine below this container"
	case !asked:
		c.Status, c.Found = NotHere, "nothing asks for a pool at a boot"
	case short:
		c.Status = Fail
	}
	return c
}

// adviseGot says why pages are missing and how to get them.
func (s *Snapshot) adviseGot(c *Check, pageKB, want, missing int) {
	m := s.Pages.Memory
	if want > s.mostPages(pageKB, false) {
		c.Found += fmt.Sprintf("; the machine cannot spare so much (%s): lower the setting", s.rule())
		most := s.mostPages(pageKB, false)
		if d := s.demand(); d.pageKB == pageKB && d.need > 0 && !s.coming(d).any() {
			most = min(most, d.need)
		}
		c.Fix, c.Undo = keepPool(s, pageKB, most)
		c.Takes = TakesNothing
		return
	}
	pieces, known := s.Pages.Free.pieces(pageKB, s.granuleKB())
	if known {
		c.Found += fmt.Sprintf("; %s of memory are free, in one piece for %s", memory(m.FreeKB), probes.Plural(pieces, "page"))
	}
	if n := s.Pages.Free.Events["htlb_buddy_alloc_fail"]; n > 0 {
		c.Found += fmt.Sprintf("; the kernel failed to find a page %s times since the boot", number(int(n)))
	}
	c.Fix = append(append(c.Fix, compact), setPool(s, pageKB, want)...)
	c.Fix = append(append(c.Fix, readBack(pageKB, want)), dropCaches()...)
	c.Fix = append(c.Fix, "# still too few: reboot, because at a boot memory lies in one piece")
	c.Undo = append(c.Undo, setPool(s, pageKB, want-missing)...)
	c.Takes = TakesNothing
	if pageKB >= 1<<20 {
		c.Takes = TakesReboot
	}
}

// joined appends a sentence to others.
func joined(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}
