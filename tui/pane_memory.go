package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// faultsPane shows the page faults of the server's own processes with the
// machine's, minor and major, beside them: the machine's hold those of everything
// else that runs. Where the server's are not known the machine's stand alone.
func (sc *scene) faultsPane() pane {
	p := pane{title: "Page faults/s", metrics: []string{
		probes.ServerPageFaults, probes.PageFaults, probes.PageFaultsMinor, probes.PageFaultsMajor, probes.ServerPageFaultsPerTxn,
		probes.PageFaultsPerTxn, probes.ContextSwitches, probes.TLBShootdowns}}
	id, name := probes.ServerPageFaults, "server "
	comparing := sc.comparing()
	if !sc.has(id) || comparing && !sc.comparable(id) {
		id, name = probes.PageFaultsMinor, "minor "
	}
	if !sc.has(id) {
		id, name = probes.PageFaults, "all "
	}
	if !sc.has(id) {
		p.why = sc.why(probes.PageFaultsMinor, probes.PageFaults)
		return p
	}
	p.spark = sc.line(id, "", stOne, '*')
	p.spark.area = true
	p.chart = sc.newChart(probes.Short, p.spark, sc.baseline(id, ""))
	total := runFigure(sc.st, id, "")
	if id == probes.PageFaultsMinor {
		total = runFigure(sc.st, probes.PageFaults, "")
	}
	if sc.compare(&p, id, probes.Short, stOne) {
		switch id {
		case probes.ServerPageFaults:
			p.title, p.shorter = "Server faults/s", []string{"Server faults"}
		case probes.PageFaultsMinor:
			p.title, p.shorter = "Minor faults/s", []string{"Minor faults"}
		}
		if base := sc.st.Baseline.Summary.Get(id); total.OK() && base.OK() && id != probes.PageFaultsMinor {
			p.foot = []fig{{"total " + totalText(total), stDim, 8}, {"│ base " + totalText(base), stDim, 9}}
		}
		return p
	}
	p.figs = sc.nowFig(sc.now(id, ""), probes.Short, stOne, name, 0)
	if total.OK() {
		p.foot = []fig{{"total " + totalText(total), stDim, 8}}
	}
	if id == probes.ServerPageFaults && sc.has(probes.PageFaultsMinor) {
		p.chart.lines = append(p.chart.lines, sc.line(probes.PageFaultsMinor, "", stTwo, 'o'))
		p.figs = append(p.figs, sc.nowFig(sc.now(probes.PageFaultsMinor, ""), probes.Short, stTwo, "│ minor ", 1)...)
		p.foot = append(p.foot, fig{"minor, major: system", stDim, 9})
	}
	return sc.withMajor(p)
}

// withMajor adds the machine's major faults.
func (sc *scene) withMajor(p pane) pane {
	major := sc.now(probes.PageFaultsMajor, "")
	if !major.OK() {
		return p
	}
	// A line of zeros would only hide the axis.
	if l := sc.line(probes.PageFaultsMajor, "", stThree, '^'); slices.ContainsFunc(l.points, func(p point) bool { return p.y > 0 }) {
		p.chart.lines = append(p.chart.lines, l)
	}
	st := stDim
	if major.V > 0 {
		st = stThree
	}
	p.figs = append(p.figs, fig{"major " + probes.Short(major.V), st, 2})
	return p
}

// comparable tells whether a comparison is on and both sides have the metric.
func (sc *scene) comparable(id string) bool {
	return sc.comparing() &&
		sc.st.Baseline.Summary.Get(id).OK() && runFigure(sc.st, id, "").OK()
}

// tablesPane shows the memory that page tables take, the largest backend's, and
// the pools of huge pages.
func (sc *scene) tablesPane() pane {
	p := pane{title: "Page tables", metrics: []string{
		probes.PageTables, probes.PageTableBackendsSum, probes.PageTableOthers, probes.PageTableMaxBackend, probes.HugetlbUsed,
		probes.AnonHuge, probes.ShmemHuge, probes.MemAvailable}}
	p.rows = sc.poolRows()
	if sc.comparable(probes.PageTableMaxBackend) {
		largest := append([]fig{{"largest backend", stPlain, 1}}, sc.versus(probes.PageTableMaxBackend)...)
		p.rows = append([]row{func(c *canvas, x, y, w int) { drawFigs(c, x, y, w, fitFigs(largest, w)) }}, p.rows...)
	}
	if !sc.has(probes.PageTables) {
		p.why = sc.why(probes.PageTables)
		return p
	}
	p.spark = sc.line(probes.PageTables, "", stOne, '*')
	p.spark.area = true
	p.chart = sc.newChart(probes.Memory, p.spark, sc.baseline(probes.PageTables, ""))
	p.chart.nice = niceSize
	filled, growth := sc.filled()
	if sc.compare(&p, probes.PageTables, probes.Memory, stOne) {
		if filled != "" {
			p.foot = []fig{{filled, stDim, 8}}
		}
		return p
	}
	p.figs = sc.nowFig(sc.now(probes.PageTables, ""), probes.Memory, stOne, "", 0)
	if filled != "" {
		p.shorter, p.tight = []string{"Tables"}, [][]fig{p.figs}
		p.figs = append(p.figs, fig{"│ server " + filled, stValue, 1})
	}
	if largest := sc.now(probes.PageTableMaxBackend, ""); largest.OK() {
		name := "largest backend "
		if growth != "" {
			name = "largest "
		}
		p.foot = append(p.foot, fig{name + probes.Memory(largest.V), stDim, 8})
	}
	if growth != "" {
		p.foot = append(p.foot, fig{growth, stDim, 9})
	}
	return p
}

// filled says how far the page tables of the server's processes are from the
// most that they can be, "424 of at most 431 MB", and how fast each client's
// grew lately; "" where it is not known or does not grow.
func (sc *scene) filled() (text, growth string) {
	sum := sc.now(probes.PageTableBackendsSum, "")
	if !sum.OK() {
		return "", ""
	}
	server := &sc.st.Server
	most := 0.0
	for i := range sc.last.Backends {
		b := &sc.last.Backends[i]
		if !b.Counts() || b.Mem == nil {
			continue
		}
		most += probes.PageTableCeilingKB(server.SharedMemoryKB, server.HugePages.PageKB, b.Mem.Private)
	}
	switch text = probes.Memory(sum.V); {
	case most <= 0:
		text = ""
	case sum.V > most:
		text += ", computed " + probes.Memory(most)
	default:
		most := probes.Memory(most)
		// One unit is enough, and leaves room for the pane's name.
		if unit := most[strings.LastIndexByte(most, ' '):]; strings.HasSuffix(text, unit) {
			text = strings.TrimSuffix(text, unit)
		}
		text += " of at most " + most
	}
	if each := sc.growth(); each.OK() && each.V >= 1 {
		growth = "+" + probes.Memory(each.V) + "/min each"
	}
	return text, growth
}

// pool is one size of huge pages, in pages.
type pool struct {
	pageKB                         float64
	total, touched, reserved, free float64
}

// pools are those that have pages, smallest size first.
func (sc *scene) pools() []pool {
	var out []pool
	for _, label := range sc.labels(probes.PoolTotal) {
		kb, err := strconv.ParseFloat(strings.TrimSuffix(label, "kB"), 64)
		total := sc.now(probes.PoolTotal, label)
		free, reserved := sc.now(probes.PoolFree, label), sc.now(probes.PoolReserved, label)
		if err != nil || !total.OK() || !free.OK() || !reserved.OK() || total.V <= 0 {
			continue
		}
		out = append(out, pool{pageKB: kb, total: total.V, touched: total.V - free.V,
			reserved: reserved.V, free: max(0, free.V-reserved.V)})
	}
	return out
}

// poolRows are one split bar per pool, or a sentence when there is none.
func (sc *scene) poolRows() []row {
	pools := sc.pools()
	if sc.last == nil {
		return nil
	}
	if len(pools) == 0 {
		text := "no huge page pool"
		if w := sc.why(probes.PoolTotal); len(sc.labels(probes.PoolTotal)) == 0 {
			text = "huge page pools: " + clean(w.Text())
		}
		return []row{func(c *canvas, x, y, w int) { c.text(x, y, w, truncate(text, w), stDim) }}
	}
	rows := make([]row, 0, len(pools))
	for _, p := range pools {
		rows = append(rows, p.draw)
	}
	return rows
}

// draw shows the pool as "pool 2 MB ███▒▒░░ touched … reserved … free …".
func (p pool) draw(c *canvas, x, y, w int) {
	name := "pool " + pageSize(int(p.pageKB))
	figs := fitFigs(p.figs(), w-textWidth(name)-2-8)
	bar := w - textWidth(name) - figsWidth(figs) - 2
	c.text(x, y, w, name, stPlain)
	x += textWidth(name) + 1
	p.bar(c, x, y, min(bar, 24))
	drawFigs(c, x+min(bar, 24)+1, y, figsWidth(figs), figs)
}

func (p pool) figs() []fig {
	return []fig{
		{"touched " + probes.Memory(p.touched*p.pageKB), stOne, 0},
		{"reserved " + probes.Memory(p.reserved*p.pageKB), stTwo, 1},
		{"free " + probes.Memory(p.free*p.pageKB), stDim, 2},
	}
}

// bar splits w cells by the shares of touched, reserved and free pages. A part
// that is there gets a cell at least.
func (p pool) bar(c *canvas, x, y, w int) {
	if w < 1 {
		return
	}
	cells := func(v float64) int {
		n := int(v/p.total*float64(w) + 0.5)
		if v > 0 {
			n = max(1, n)
		}
		return n
	}
	touched := min(w, cells(p.touched))
	reserved := min(w-touched, cells(p.reserved))
	for i := range w {
		switch {
		case i < touched:
			c.put(x+i, y, "█", stOne)
		case i < touched+reserved:
			c.put(x+i, y, "▒", stTwo)
		default:
			c.put(x+i, y, "░", stDim)
		}
	}
}

// pageSize writes a page size as people say it.
func pageSize(kb int) string {
	switch {
	case kb >= 1<<20:
		return fmt.Sprintf("%d GB", kb>>20)
	case kb >= 1<<10:
		return fmt.Sprintf("%d MB", kb>>10)
	}
	return fmt.Sprintf("%d kB", kb)
}
