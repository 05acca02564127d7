package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// table is what the person chose for the backend table.
type table struct {
	sort     int // index into sortKeys
	filter   string
	typing   bool // the filter is being typed
	selected int  // pid, 0 for none
}

// tableView is the table of one frame.
type tableView struct {
	rows    []*probes.BackendRow // as shown: filtered and sorted; those of the frame
	all     int                  // processes of the server, own sessions left out
	largest float64              // kB, the largest page table shown
	pass    *trial.Pass
	at      time.Time
}

// view filters and sorts the backends of the newest frame that is long enough
// for rates.
func (t *table) view(st *trial.State) *tableView {
	v := &tableView{at: st.At, pass: st.Pass}
	f := st.Now()
	if f == nil {
		return v
	}
	v.rows = make([]*probes.BackendRow, 0, len(f.Backends))
	for i := range f.Backends {
		b := &f.Backends[i]
		if b.Counts() {
			v.all++
		}
		if t.matches(b) {
			v.rows = append(v.rows, b)
			if b.Mem != nil {
				v.largest = max(v.largest, float64(b.Mem.PageTables))
			}
		}
	}
	less := sortKeys()[t.sort].less
	slices.SortFunc(v.rows, func(a, b *probes.BackendRow) int {
		// Own sessions come last: they are not what the server does by itself.
		if a.Own != b.Own {
			if a.Own {
				return 1
			}
			return -1
		}
		return cmp.Or(less(a, b), cmp.Compare(a.Pid, b.Pid))
	})
	return v
}

// matches looks for the filter in everything that is text.
func (t *table) matches(b *probes.BackendRow) bool {
	if t.filter == "" {
		return true
	}
	want := strings.ToLower(t.filter)
	for _, s := range []string{fmt.Sprint(b.Pid), roleText(b), b.State, b.Database, b.User, b.App, b.Wait, b.Query} {
		if strings.Contains(strings.ToLower(s), want) {
			return true
		}
	}
	return false
}

// index is where the selected process is in the rows; 0 when it is gone.
func (t *table) index(v *tableView) int {
	for i := range v.rows {
		if v.rows[i].Pid == t.selected {
			return i
		}
	}
	return 0
}

// move selects the row n further down. It returns false at an end.
func (t *table) move(v *tableView, n int) bool {
	if len(v.rows) == 0 {
		return false
	}
	to := t.index(v) + n
	if to < 0 || to >= len(v.rows) {
		t.selected = v.rows[min(max(to, 0), len(v.rows)-1)].Pid
		return false
	}
	t.selected = v.rows[to].Pid
	return true
}

// draw draws the table with border, sum line and header.
func (t *table) draw(c *canvas, r rect, sc *scene, focused bool) {
	if r.h < 2 {
		return // messages took its room
	}
	v := t.view(sc.st)
	border := stBorder
	if focused {
		border = stFocus
	}
	c.frame(r, border)
	t.drawTitle(c, r, sc, v)
	in := r.inner()
	in.x, in.w = in.x+1, max(0, in.w-2)
	if in.h < 1 || in.w < 8 {
		return
	}
	cols := fitColumns(in.w, v)
	t.drawHead(c, in, cols)
	room := in.h - 1
	if len(v.rows) == 0 {
		drawWhy(c, rect{in.x, in.y + 1, in.w, room}, t.empty(sc))
		return
	}
	at := t.index(v)
	first := min(max(0, at-room/2), max(0, len(v.rows)-room))
	for i := 0; i < room && first+i < len(v.rows); i++ {
		y := in.y + 1 + i
		x := in.x
		for _, col := range cols {
			col.draw(c, x, y, col.w, v.rows[first+i], v)
			x += col.w + 1
		}
		if focused && first+i == at {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
	if rest := len(v.rows) - first - room; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, fmt.Sprintf(" %d more ↓ ", rest), stDim)
	}
}

// empty says why there is no row.
func (t *table) empty(sc *scene) probes.Miss {
	switch {
	case sc.last == nil:
		return probes.Miss{Reason: "waiting for the first two samples"}
	case t.filter != "":
		return probes.Miss{Reason: "no process matches the filter"}
	case sc.st.Server.NoPostmasterWhy != "":
		return probes.Miss{Reason: sc.st.Server.NoPostmasterWhy}
	}
	return sc.why(probes.Backends, probes.PageTableBackendsSum)
}

func (t *table) drawHead(c *canvas, in rect, cols []column) {
	sorted := sortKeys()[t.sort].column
	x := in.x
	for _, col := range cols {
		title, st := col.title, stDim
		if col.title == sorted {
			title, st = title+"▼", stValue
		}
		if textWidth(title) > col.w {
			title = col.title
		}
		if col.left {
			c.text(x, in.y, col.w, title, st)
		} else {
			c.right(x, in.y, col.w, title, st)
		}
		x += col.w + 1
	}
}

// drawTitle writes the sum line into the border.
func (t *table) drawTitle(c *canvas, r rect, sc *scene, v *tableView) {
	if r.w < 12 {
		return
	}
	left := []fig{{"Backends", stTitle, 0}, {fmt.Sprint(v.all), stValue, 1}}
	sum, all := sc.now(probes.PageTableBackendsSum, ""), sc.now(probes.PageTables, "")
	if sum.OK() {
		text := "page tables " + probes.Memory(sum.V)
		if all.OK() && all.V > 0 {
			text += " = " + probes.Short(100*sum.V/all.V) + " % of PageTables"
		}
		left = append(left, fig{text, stDim, 2})
		if others := sc.now(probes.PageTableOthers, ""); others.OK() {
			left = append(left, fig{probes.Memory(others.V) + " of other processes", stDim, 6})
		}
	}
	if stale := sc.stale(); stale != "" && v.all > 0 {
		left = append(left, fig{clean(stale), stWarn, 1})
	}
	left = append(left, passFig(sc.st.Pass)...)
	right := []fig{{"s sort: " + sortKeys()[t.sort].name, stDim, 4}}
	switch {
	case t.typing:
		right = append(right, fig{"/" + t.filter + "▏", stWarn, 0})
	case t.filter != "":
		right = append(right, fig{fmt.Sprintf("/%s: %d of %d", t.filter, len(v.rows), v.all), stWarn, 0})
	default:
		right = append(right, fig{"/ filter", stDim, 5})
	}
	both := append(append([]fig{}, left...), right...)
	kept := fitFigs(both, r.w-10)
	n := 0
	for _, f := range kept {
		if slices.Contains(left, f) {
			n++
		}
	}
	titled(c, r, kept[:n], kept[n:])
}

// stale says of when the rows are, while the server does not tell newer ones.
func (sc *scene) stale() string {
	if sc.last == nil {
		return ""
	}
	for _, m := range sc.last.Misses {
		if m.ID == probes.Backends {
			return m.Reason
		}
	}
	return ""
}

// titled writes figures into a top border, left and right.
func titled(c *canvas, r rect, left, right []fig) {
	border := c.cells[r.y*c.w+r.x].st
	if w := figsWidth(left); w > 0 {
		c.put(r.x+2, r.y, " ", border)
		for i := range w + 1 {
			c.put(r.x+3+i, r.y, " ", border)
		}
		drawFigs(c, r.x+3, r.y, w, left)
	}
	if w := figsWidth(right); w > 0 {
		at := r.x + r.w - 3 - w
		for i := range w + 2 {
			c.put(at-1+i, r.y, " ", border)
		}
		drawFigs(c, at, r.y, w, right)
	}
}
