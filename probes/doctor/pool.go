package doctor

import (
	"fmt"
	"strings"

	"pgtlb/probes"
)

func checkNeeded(s *Snapshot) Check {
	c := Check{
		ID: "pool_size", Title: "Huge pages needed and in the pool", Status: OK,
		Expected: "the pool has all pages of the shared memory: it is one mapping, and one page too few is as good as none",
		Why: "The whole shared memory counts (shared_memory_size), not shared_buffers alone: it holds lock tables, WAL buffers " +
			"and more, and grows with max_connections and others.",
		Sources: []string{"SHOW shared_memory_size_in_huge_pages", "/sys/kernel/mm/hugepages"},
	}
	d := s.demand()
	switch {
	case s.unplanned():
		c.Status, c.Found = NotHere, "no server is examined, and no size of a planned one was given (--shared-memory)"
		return c
	case d.need == 0 && (d.unsupported || d.pageKB == 0):
		c.Status, c.Found = NotHere, d.why
		return c
	case d.need == 0:
		c.Status, c.Found = Unknown, d.why
		return c
	}
	c.Found = d.words()
	if d.short() > 0 && d.asked != "off" {
		c.Found += fmt.Sprintf(": %s short", number(d.short()))
	}
	waits := s.coming(d)
	if waits.any() {
		c.Found += "; " + waits.words(s, d)
	}
	if s.Server != nil && s.Server.Info.SharedBuffersKB > 0 {
		b := s.Server.Info.SharedBuffersKB
		c.Found += fmt.Sprintf("; shared_buffers of %s alone would be %s", memory(b), probes.Plural(pagesFor(b, d.pageKB), "page"))
	}
	if other := 1 << 20; s.granuleKB() == 4 && d.pageKB == 2048 {
		n, _ := s.needed(other)
		c.Found += fmt.Sprintf("; with pages of 1 GB it would be %s", probes.Plural(n, "page"))
	}
	switch {
	case d.asked == "off":
		c.Found += "; huge_pages is off, so none are asked for"
		return c
	case d.short() == 0 && d.room > 0 && d.need > d.own+d.pool.Available():
		c.Status = Warn
		c.Found += "; the start depends on pages that the kernel has yet to find (nr_overcommit_hugepages)"
		d.room = 0
		if s.grow(&c, d); len(c.Fix) > 0 {
			c.Takes = TakesRestart
		}
		return c
	case d.short() == 0 && waits.hugePages != "off" && waits.atLeast > d.available():
		c.Status = Warn
		c.Found += fmt.Sprintf("; the pool lacks %s for that", number(waits.atLeast-d.available()))
		return c
	case d.short() == 0:
		return c
	case waits.hugePages == "off":
		return c // the next start asks for none
	}
	c.Status, c.Takes = Fail, TakesRestart
	switch {
	case s.hardlyPays(d):
		c.Found += "; it would not pay here (see huge_pages_pay)"
		if !s.meant(d) {
			c.Status, c.Takes = OK, ""
			return c
		}
		c.Status = Warn
	case d.asked == "try" && d.pool.Total == 0 && !s.meant(d):
		c.Status = Warn
	}
	if s.Server == nil {
		c.Takes = TakesNothing
	}
	switch {
	case s.Server != nil && s.Server.Info.HugePages.FellBack():
		c.Found += "; the commands are with huge_pages"
	case s.Server == nil && s.PlannedKB == 0:
		c.Found += "; the commands are with failed_start"
	default:
		s.grow(&c, d)
	}
	if len(c.Fix) == 0 {
		c.Takes = ""
	}
	return c
}

// idleWorth is how much idle memory is worth a word: a hundredth of the machine's,
// 64 MB at least.
func (s *Snapshot) idleWorth() uint64 { return max(s.Pages.Memory.TotalKB/100, 64<<10) }

// idle is how many pages of the wanted size nobody has and this server will not
// take at its next start.
func (s *Snapshot) idle(d demand) int {
	n := d.pool.Available()
	if d.short() == 0 && d.asked != "off" {
		n -= d.wants(d.pageKB)
	}
	return max(n, 0)
}

func checkIdle(s *Snapshot) Check {
	c := Check{
		ID: "pool_idle", Title: "Huge pages that nobody uses", Status: OK,
		Expected: "about as many pages in the pool as are needed",
		Why:      "Pages of a pool are lost to everything else: an idle pool looks like used memory and is none.",
		Sources:  []string{"/sys/kernel/mm/hugepages"},
	}
	d := s.demand()
	if !d.hasPool || d.pool.Total == 0 {
		c.Status, c.Found = NotHere, "there are no pages in the pool"
		return c
	}
	n := s.idle(d)
	c.Found = fmt.Sprintf("of %s, %s are in use, %s promised to running programs and %s free for anybody",
		pages(d.pool.Total, d.pageKB), number(d.pool.Touched()), number(d.pool.Reserved), number(d.pool.Available()))
	if kBOf(n, d.pageKB) < s.idleWorth() {
		return c
	}
	if s.Server == nil {
		c.Found += "; whether a stopped server waits for them is not seen from here"
		return c
	}
	c.Status = Warn
	c.Found += fmt.Sprintf(": %s reserved in the pool is used by nobody", memory(kBOf(n, d.pageKB)))
	if s.inContainer() {
		c.Found += "; other containers of the machine may use them"
		if d.asked == "off" {
			c.Status = OK
		}
		return c
	}
	if why := s.keepsPool(); why != "" {
		c.Found += "; " + why
		return c
	}
	if d.asked != "off" && d.short() > 0 && d.target() <= s.mostPages(d.pageKB, true) {
		c.Found += "; the server takes them once the pool is large enough (see pool_size)"
		return c
	}
	c.Takes = TakesNothing
	c.Fix, c.Undo = shrinkPool(s, d.pageKB, d.pool.Persistent()-n)
	return c
}

func checkOtherSizes(s *Snapshot) Check {
	c := Check{
		ID: "pool_other_sizes", Title: "Pools of other page sizes", Status: OK,
		Expected: "no idle pages of a size that the server does not ask for",
		Why: "A pool of the wrong size helps nobody: the server takes pages of one size only (huge_page_size, else the kernel's " +
			"default). A large one leaves the machine without memory, from the boot on.",
		Sources: []string{"/sys/kernel/mm/hugepages", "SHOW huge_page_size"},
	}
	d := s.demand()
	var idleKB uint64
	worth, keep := false, s.keepsPool()
	for _, p := range s.Host.Pools {
		if p.PageKB == d.pageKB || p.Total == 0 {
			continue
		}
		kb := kBOf(p.Available(), p.PageKB)
		idleKB += kb
		c.Found = joined(c.Found, fmt.Sprintf("%s, of which %s is used by nobody", pages(p.Total, p.PageKB), memory(kb)))
		if kb < s.idleWorth() {
			continue
		}
		worth = true
		if keep == "" {
			do, undo := shrinkPool(s, p.PageKB, p.Persistent()-p.Available())
			c.Fix, c.Undo = append(c.Fix, do...), append(c.Undo, undo...)
		}
		// The other way to make it useful.
		if n, _ := s.needed(p.PageKB); n > 0 && n <= p.Available() && s.Server != nil && s.Server.Info.VersionNum >= 140000 {
			c.Found += fmt.Sprintf(" (this server would need %s of them with huge_page_size = %s)", number(n),
				strings.ReplaceAll(memory(uint64(p.PageKB)), " ", ""))
		}
	}
	switch {
	case c.Found == "":
		c.Status, c.Found = NotHere, "no other pool has pages"
	case !worth:
	case s.Server == nil && !s.unplanned() && d.pool.Total == 0: // it can be told to use this pool
		c.Status = Warn
		c.Found += fmt.Sprintf("; a planned server would ask for pages of %s unless huge_page_size says otherwise", memory(uint64(d.pageKB)))
	default:
		c.Status = Warn
	}
	if c.Status == Warn {
		if keep != "" {
			c.Found += "; " + keep
		} else {
			c.Takes = TakesNothing
		}
		if idleKB > s.Pages.Memory.TotalKB/10 {
			c.Status = Fail
			c.Found += fmt.Sprintf("; that is %d %% of the machine's memory", idleKB*100/max(s.Pages.Memory.TotalKB, 1))
		}
	}
	return c
}

// perBlock is how much shared memory a block of 8 kB of shared_buffers takes with
// its descriptor, its entry in the lookup table and its place in the checkpointer's
// list: 2 % more were measured, 3 % leave room.
const perBlock = 1.03

// worthGrowing is from how many MB on it is worth saying that shared_buffers could
// grow.
const worthGrowing = 32

func checkLastPage(s *Snapshot) Check {
	c := Check{
		ID: "last_page", Title: "Room in the last huge page", Status: OK,
		Expected: "shared memory that fills its last page",
		Why:      "Shared memory takes whole pages. With 1 GB pages the last one may be almost empty: shared_buffers could have it.",
		Sources:  []string{"SHOW shared_memory_size"},
	}
	d, shared := s.demand(), s.sharedKB()
	if d.need == 0 || shared == 0 || s.Server != nil && s.Server.Info.SharedMemoryKB == 0 && s.onHugePages() {
		c.Status, c.Found = NotHere, "how much shared memory the server takes is not known exactly"
		if d.pageKB == 0 || d.unsupported {
			c.Found = "there are no huge pages to fill"
		}
		return c
	}
	size := d.pageKB
	total := kBOf(pagesFor(shared, size), size)
	slack := total - min(shared, total)
	c.Found = fmt.Sprintf("%s of shared memory in %s: %s of the last page are free", memory(shared), pages(pagesFor(shared, size), size), memory(slack))
	if slack == 0 {
		c.Found = fmt.Sprintf("%s of shared memory fill %s", memory(shared), pages(d.need, size))
		return c
	}
	growMB := int(float64(slack) / perBlock / 1024)
	if growMB < worthGrowing {
		return c
	}
	if s.Server == nil || s.Server.Info.SharedBuffersKB == 0 {
		c.Found += fmt.Sprintf("; shared_buffers could be %d MB more", growMB)
	} else {
		now := s.Server.Info.SharedBuffersKB >> 10
		c.Found += fmt.Sprintf("; shared_buffers could grow by %d MB, to %d MB, without one page more", growMB, int(now)+growMB)
		if size >= 1<<20 && slack > total/10 {
			c.Status, c.Takes = Warn, TakesRestart
			c.Fix, c.Undo = s.alter("shared_buffers", fmt.Sprintf("%dMB", int(now)+growMB))
		}
	}
	return c
}
