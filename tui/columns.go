package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
)

// column is one column of the backend table.
type column struct {
	title string
	w     int
	left  bool
	drop  int // the higher, the earlier it goes; 0 stays
	draw  func(c *canvas, x, y, w int, b *probes.BackendRow, t *tableView)
}

// minQuery is the narrowest column in which a query says something.
const minQuery = 16

// columns are all columns in screen order; the query takes what is left.
func columns() []column {
	return []column{
		{"PID", 7, false, 0, number(func(b *probes.BackendRow) string { return strconv.Itoa(b.Pid) })},
		{"ROLE", 13, true, 2, words(func(b *probes.BackendRow) string { return roleText(b) })},
		{"STATE", 7, true, 5, words(func(b *probes.BackendRow) string { return stateText(b.State) })},
		{"PAGE TABLES", 17, false, 0, drawPageTables},
		{"kB/s", 7, false, 8, rate(func(r *probes.BackendRates) string { return signed(r.PageTables) })},
		{"HUGETLB", 8, false, 6, drawHugetlb},
		{"SHARED", 8, false, 6, memory(func(m *probes.BackendMem) uint64 { return m.Shmem })},
		{"PRIVATE", 8, false, 10, memory(func(m *probes.BackendMem) uint64 { return m.Private })},
		{"PSS", 8, false, 1, drawPss},
		{"FAULTS/s", 8, false, 3, rate(func(r *probes.BackendRates) string { return probes.Short(r.MinorFaults + r.MajorFaults) })},
		{"USR%", 5, false, 4, rate(func(r *probes.BackendRates) string { return fmt.Sprintf("%.0f", r.UserPct) })},
		{"SYS%", 5, false, 4, rate(func(r *probes.BackendRates) string { return fmt.Sprintf("%.0f", r.KernelPct) })},
		{"AGE", 7, false, 9, func(c *canvas, x, y, w int, b *probes.BackendRow, t *tableView) {
			text := ""
			if !b.Started.IsZero() {
				text = age(t.at.Sub(b.Started))
			}
			c.right(x, y, w, text, stDim)
		}},
		{"WAIT", 16, true, 11, words(func(b *probes.BackendRow) string { return b.Wait })},
		{"DATABASE", 10, true, 13, words(func(b *probes.BackendRow) string { return b.Database })},
		{"USER", 10, true, 14, words(func(b *probes.BackendRow) string { return b.User })},
		{"APPLICATION", 14, true, 15, words(func(b *probes.BackendRow) string { return b.App })},
		{"QUERY", minQuery, true, 7, func(c *canvas, x, y, w int, b *probes.BackendRow, _ *tableView) {
			c.text(x, y, w, truncate(clean(head(b.Query)), w), stDim)
		}},
	}
}

// fitColumns takes columns by priority as long as they fit, and gives the query
// what is left over.
func fitColumns(w int, v *tableView) []column {
	all := columns()
	if v.pass == nil || len(v.pass.Read) == 0 {
		all = slices.DeleteFunc(all, func(c column) bool { return c.title == "PSS" })
	}
	v.rank(all)
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b column) int { return cmp.Compare(a.drop, b.drop) })
	taken, used := map[string]bool{}, -1
	for _, c := range order {
		if c.drop == 0 || used+c.w+1 <= w {
			taken[c.title] = true
			used += c.w + 1
		}
	}
	cols := slices.DeleteFunc(all, func(c column) bool { return !taken[c.title] })
	widen(cols, w-used)
	return cols
}

// widen gives the room that is left to the role and the wait, then to the query.
func widen(cols []column, rest int) {
	for _, more := range []struct {
		title string
		w     int
	}{{"ROLE", 3}, {"WAIT", 10}} {
		for i := range cols {
			if cols[i].title == more.title && rest >= more.w {
				cols[i].w += more.w
				rest -= more.w
			}
		}
	}
	if last := len(cols) - 1; cols[last].title == "QUERY" {
		cols[last].w += rest
	}
}

// rank gives one place to the shared memory that a process has touched: huge
// pages where any process has them, else shared pages. The other one comes after
// what both page modes show; what no process has goes last.
func (v *tableView) rank(cols []column) {
	huge, shared := false, false
	for i := range v.rows {
		if m := v.rows[i].Mem; m != nil {
			huge, shared = huge || m.Hugetlb > 0, shared || m.Shmem > 0
		}
	}
	for i := range cols {
		switch {
		case cols[i].title == "HUGETLB" && !huge, cols[i].title == "SHARED" && huge && !shared:
			cols[i].drop += 20
		case cols[i].title == "SHARED" && huge:
			cols[i].drop += 5
		}
	}
}

// head is the start of a long text: more of it than a line can show.
func head(s string) string {
	const most = 4096
	if len(s) <= most {
		return s
	}
	return s[:most]
}

func words(f func(*probes.BackendRow) string) func(*canvas, int, int, int, *probes.BackendRow, *tableView) {
	return func(c *canvas, x, y, w int, b *probes.BackendRow, _ *tableView) {
		st := stPlain
		if b.Own {
			st = stDim
		}
		c.text(x, y, w, truncate(clean(f(b)), w), st)
	}
}

func number(f func(*probes.BackendRow) string) func(*canvas, int, int, int, *probes.BackendRow, *tableView) {
	return func(c *canvas, x, y, w int, b *probes.BackendRow, _ *tableView) { c.right(x, y, w, f(b), stPlain) }
}

func rate(f func(*probes.BackendRates) string) func(*canvas, int, int, int, *probes.BackendRow, *tableView) {
	return func(c *canvas, x, y, w int, b *probes.BackendRow, _ *tableView) {
		if b.Rates == nil {
			c.right(x, y, w, "-", stDim)
			return
		}
		text, st := f(b.Rates), stPlain
		if text == "0" {
			st = stDim
		}
		c.right(x, y, w, text, st)
	}
}

// drawHugetlb has a dash where the kernel prints no HugetlbPages.
func drawHugetlb(c *canvas, x, y, w int, b *probes.BackendRow, t *tableView) {
	if b.Mem != nil && b.Mem.NoHugetlb {
		c.right(x, y, w, "-", stDim)
		return
	}
	memory(func(m *probes.BackendMem) uint64 { return m.Hugetlb })(c, x, y, w, b, t)
}

func memory(f func(*probes.BackendMem) uint64) func(*canvas, int, int, int, *probes.BackendRow, *tableView) {
	return func(c *canvas, x, y, w int, b *probes.BackendRow, _ *tableView) {
		switch {
		case b.Mem == nil:
			c.right(x, y, w, "-", stDim)
		case f(b.Mem) == 0:
			c.right(x, y, w, "0", stDim)
		default:
			c.right(x, y, w, probes.Memory(float64(f(b.Mem))), stPlain)
		}
	}
}

// drawPss draws what the pass read of this very process.
func drawPss(c *canvas, x, y, w int, b *probes.BackendRow, t *tableView) {
	in, ok := t.pass.Of(&b.Backend)
	if !ok || in.Missing != "" {
		c.right(x, y, w, "-", stDim)
		return
	}
	c.right(x, y, w, probes.Memory(float64(in.Pss)), stPlain)
}

// drawPageTables draws the size with a bar that is full for the largest one.
func drawPageTables(c *canvas, x, y, w int, b *probes.BackendRow, t *tableView) {
	if b.Mem == nil {
		c.right(x, y, w, "-", stDim)
		return
	}
	const text = 8
	c.right(x+w-text, y, text, probes.Memory(float64(b.Mem.PageTables)), stPlain)
	bar := w - text - 1
	if t.largest == 0 || bar < 1 {
		return
	}
	n := int(float64(b.Mem.PageTables)/t.largest*float64(bar) + 0.5)
	for i := range bar {
		if i < n {
			c.put(x+i, y, "■", stOne)
		} else {
			c.put(x+i, y, "·", stDim)
		}
	}
}

func signed(v float64) string {
	switch {
	case v > 0.5:
		return "+" + probes.Short(v)
	case v < -0.5:
		return probes.Short(v)
	}
	return "0"
}

func roleText(b *probes.BackendRow) string {
	if b.Own {
		return "pgtlb"
	}
	return strings.Replace(b.Role, "autovacuum ", "autovac ", 1)
}

func stateText(s string) string {
	switch {
	case strings.HasPrefix(s, "idle in transaction"):
		return "idle tx"
	case s == "fastpath function call":
		return "fastpth"
	}
	return s
}

// sortKey is an order of the backend table.
type sortKey struct {
	name   string // in the title line
	column string // where the mark goes
	less   func(a, b *probes.BackendRow) int
}

// sortKeys are the orders that s steps through. All put the largest first, but
// for the pid.
func sortKeys() []sortKey {
	mem := func(f func(*probes.BackendMem) uint64) func(a, b *probes.BackendRow) int {
		get := func(b *probes.BackendRow) int64 {
			if b.Mem == nil {
				return -1
			}
			return int64(f(b.Mem))
		}
		return func(a, b *probes.BackendRow) int { return cmp.Compare(get(b), get(a)) }
	}
	rates := func(f func(*probes.BackendRates) float64) func(a, b *probes.BackendRow) int {
		get := func(b *probes.BackendRow) float64 {
			if b.Rates == nil {
				return -1
			}
			return f(b.Rates)
		}
		return func(a, b *probes.BackendRow) int { return cmp.Compare(get(b), get(a)) }
	}
	return []sortKey{
		{"page tables", "PAGE TABLES", mem(func(m *probes.BackendMem) uint64 { return m.PageTables })},
		{"growth", "kB/s", rates(func(r *probes.BackendRates) float64 { return r.PageTables })},
		{"faults", "FAULTS/s", rates(func(r *probes.BackendRates) float64 { return r.MinorFaults + r.MajorFaults })},
		{"CPU", "USR%", rates(func(r *probes.BackendRates) float64 { return r.UserPct + r.KernelPct })},
		{"private", "PRIVATE", mem(func(m *probes.BackendMem) uint64 { return m.Private })},
		{"shared", "SHARED", mem(func(m *probes.BackendMem) uint64 { return m.Shmem })},
		{"age", "AGE", func(a, b *probes.BackendRow) int { return startedUnix(a).Compare(startedUnix(b)) }},
		{"pid", "PID", func(a, b *probes.BackendRow) int { return cmp.Compare(a.Pid, b.Pid) }},
	}
}

// startedUnix puts processes without a start time behind all others.
func startedUnix(b *probes.BackendRow) time.Time {
	if b.Started.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return b.Started
}
