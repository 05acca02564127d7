package doctor

import (
	"fmt"

	"pgtlb/probes"
)

// Bill is the page bill: what the page tables of this server cost in each page size.
type Bill struct {
	SharedMemoryKB uint64 `json:"shared_memory_kb"`
	Backends       int    `json:"backends"` // client backends now
	// MaxConnections is 100, the default, for a planned server.
	MaxConnections int `json:"max_connections"`
	// PageTablesKB is what the server's page tables take now, measured; nil where
	// it cannot be seen.
	PageTablesKB *uint64   `json:"page_tables_kb,omitempty"`
	Sizes        []BillRow `json:"sizes"`
}

// BillRow is the bill in one page size. Sums are computed, not measured: all
// backends with the whole shared memory touched.
type BillRow struct {
	PageKB       int     `json:"page_kb"`
	PerBackendKB float64 `json:"per_backend_kb"`
	NowKB        float64 `json:"now_kb"` // with as many backends as now
	MaxKB        float64 `json:"max_kb"` // at max_connections
	Pages        int     `json:"pages"`  // of the pool; 0 for ordinary pages
	PoolKB       uint64  `json:"pool_kb"`
	SlackKB      uint64  `json:"slack_kb"` // of the last page
}

// defaultConnections is max_connections where nobody has set it.
const defaultConnections = 100

func bill(s *Snapshot) Bill {
	b := Bill{SharedMemoryKB: s.sharedKB(), Sizes: []BillRow{}}
	if b.SharedMemoryKB == 0 {
		return b
	}
	privateKB := uint64(0)
	if p := s.Pages.Processes; p != nil {
		b.PageTablesKB = &p.PageTablesKB
		b.Backends = p.Clients
		privateKB = uint64(p.ClientPrivateKB)
	}
	b.MaxConnections = defaultConnections
	if s.Server != nil {
		b.MaxConnections = s.Server.Info.MaxConnections
		// The server knows which sessions are pgtlb's own.
		if n := sessions(s.Server.Exam); n > 0 {
			b.Backends = n
		}
	}
	granule := s.granuleKB()
	for _, size := range s.billSizes() {
		each := probes.PageTableCeiling(granule, b.SharedMemoryKB, size, privateKB)
		r := BillRow{PageKB: size, PerBackendKB: each, NowKB: each * float64(b.Backends), MaxKB: each * float64(b.MaxConnections)}
		if size > granule {
			r.Pages = pagesFor(b.SharedMemoryKB, size)
			if n, exact := s.needed(size); exact {
				r.Pages = n
			}
			r.PoolKB = kBOf(r.Pages, size)
			r.SlackKB = r.PoolKB - min(b.SharedMemoryKB, r.PoolKB)
		}
		b.Sizes = append(b.Sizes, r)
	}
	return b
}

func sessions(e probes.ServerExam) int {
	n := 0
	for _, r := range e.Sessions {
		n += r.Sessions
	}
	return n
}

// billSizes are the page sizes worth comparing: ordinary pages, and huge ones of
// 2 MB and 1 GB whether this machine has a pool of them or not; with larger
// ordinary pages those that the kernel offers.
func (s *Snapshot) billSizes() []int {
	granule := s.granuleKB()
	if granule == 4 {
		return []int{4, 2048, 1 << 20}
	}
	out := []int{granule}
	for _, p := range s.Host.Pools {
		if p.PageKB > granule {
			out = append(out, p.PageKB)
		}
	}
	return out
}

// row is the bill in one page size; nil where it is not in it.
func (b Bill) row(pageKB int) *BillRow {
	for i := range b.Sizes {
		if b.Sizes[i].PageKB == pageKB {
			return &b.Sizes[i]
		}
	}
	return nil
}

func checkBill(s *Snapshot) Check {
	c := Check{
		ID: "page_bill", Title: "Memory for page tables", Status: OK,
		Expected: "page tables at max_connections that the machine has room for",
		Why: "Each backend has page tables of its own for the shared memory that it has touched: 8 bytes for each ordinary " +
			"page. They grow for hours after a start, no setting of the server limits them, and no backend shows them as its memory.",
		Sources: []string{"/proc/*/status VmPTE", "computed from shared_memory_size and max_connections"},
	}
	b := bill(s)
	row := b.row(s.inUseKB())
	if row == nil {
		c.Status, c.Found = Unknown, "how much shared memory the server takes is not known"
		if s.unplanned() {
			c.Status, c.Found = NotHere, "no server is examined, and no size of a planned one was given (--shared-memory)"
		}
		return c
	}
	if b.PageTablesKB != nil {
		c.Found = fmt.Sprintf("measured now: %s in all processes of the server (%s); ", memory(*b.PageTablesKB), probes.Plural(b.Backends, "client backend"))
	}
	c.Found += fmt.Sprintf("computed for %s backends that have touched all %s: ", number(b.MaxConnections), memory(b.SharedMemoryKB))
	for i, r := range b.Sizes {
		if i > 0 {
			c.Found += ", "
		}
		c.Found += fmt.Sprintf("%s with pages of %s", memory(uint64(r.MaxKB)), memory(uint64(r.PageKB)))
	}
	m := s.Pages.Memory
	if m.TotalKB == 0 || s.HostUnknown != "" {
		return c
	}
	grow := uint64(row.MaxKB)
	if b.PageTablesKB != nil {
		grow -= min(grow, *b.PageTablesKB)
	}
	switch {
	case m.AvailableKB > 0 && grow > m.AvailableKB:
		c.Status = Fail
		c.Found += fmt.Sprintf("; they may grow by %s and %s are available: the machine would run out of memory", memory(grow), memory(m.AvailableKB))
	case row.MaxKB > float64(m.TotalKB)/10:
		c.Status = Warn
		c.Found += fmt.Sprintf("; that is %d %% of the machine's memory", int(row.MaxKB*100/float64(m.TotalKB)))
	default:
		return c
	}
	n := max(int(float64(m.TotalKB)/10/row.PerBackendKB), 1)
	c.Found += fmt.Sprintf("; huge pages (see pool_size) or a pooler with at most %s connections keep them below a tenth of the memory", number(n))
	return c
}

// payoff is what huge pages would save or do save in memory.
type payoff struct {
	known bool
	pays  bool
	words string
}

// worthKB is from which saving at max_connections on huge pages pay: a hundredth
// of the machine's memory, 64 MB at least.
func (s *Snapshot) worthKB() float64 { return float64(s.idleWorth()) }

// pays weighs the memory that huge pages of the wanted size save, the only part
// that is sure.
func (s *Snapshot) pays() payoff {
	b := bill(s)
	size := s.demand().pageKB
	if size == 0 {
		size = 2048
	}
	small, huge := b.row(s.granuleKB()), b.row(size)
	if small == nil || huge == nil || s.Pages.Memory.TotalKB == 0 {
		return payoff{words: "how much shared memory or memory there is is not known"}
	}
	save := small.MaxKB - huge.MaxKB
	p := payoff{known: true, pays: save >= s.worthKB()}
	p.words = fmt.Sprintf("pages of %s save up to %s of page tables at %s backends (%s instead of %s), %s of the machine's %s",
		memory(uint64(size)), memory(uint64(save)), number(b.MaxConnections), memory(uint64(huge.MaxKB)), memory(uint64(small.MaxKB)),
		percent(save, float64(s.Pages.Memory.TotalKB)), memory(s.Pages.Memory.TotalKB))
	if b.PageTablesKB != nil && !s.onHugePages() {
		now := float64(*b.PageTablesKB) - huge.PerBackendKB*float64(s.Pages.Processes.Count)
		p.words += fmt.Sprintf("; now they would save about %s of the %s measured", memory(uint64(max(now, 0))), memory(*b.PageTablesKB))
	}
	return p
}

// hardlyPays tells that the server may have huge pages (try) or not and that they
// are not worth it here. Then none of their checks is more than a warning.
func (s *Snapshot) hardlyPays(d demand) bool {
	p := s.pays()
	return d.asked == "try" && p.known && !p.pays
}

// meant tells whether a pool looks as if it was made for a server that it is too
// small for: pages of it lie idle, or something sets it at a boot.
func (s *Snapshot) meant(d demand) bool {
	return d.pool.Available() > 0 || s.setAtBoot(d.pageKB) != nil
}

func percent(part, all float64) string {
	if p := part / all * 100; p >= 1 {
		return fmt.Sprintf("%.0f %%", p)
	}
	return "less than 1 %"
}

func checkPays(s *Snapshot) Check {
	c := Check{
		ID: "huge_pages_pay", Title: "Whether huge pages pay here", Status: OK,
		Why: "The memory is the sure part. How much faster the server gets depends on the load and is not promised here: " +
			"published gains are 4 to 8 % on two machines. Measure it: pgtlb experiment.",
		Sources: []string{"computed from shared_memory_size, max_connections and MemTotal"},
	}
	p := s.pays()
	switch {
	case !p.known && s.unplanned():
		c.Status, c.Found = NotHere, "no server is examined, and no size of a planned one was given (--shared-memory)"
	case !p.known:
		c.Status, c.Found = Unknown, p.words
	case p.pays:
		c.Found = "they pay: " + p.words
	default:
		c.Found = fmt.Sprintf("they hardly pay in memory: %s; below %s the pool is not worth the care", p.words, memory(uint64(s.worthKB())))
	}
	return c
}
