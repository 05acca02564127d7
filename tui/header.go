package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// drawHeader writes h lines: the server and its pages, the scenarios, and with
// room what the load works on and what the machine is.
func (m *Model) drawHeader(c *canvas, sc *scene, h int) {
	st := sc.st
	left := append([]fig{{"pgtlb", stBrand, 3}}, serverFigs(st)...)
	left = append(left, m.pagesOrAlarm(st, c.w)...)
	first, second := costFigs(sc), m.modeFigs(st, c.w)
	switch {
	case h == 1:
		first = append(second, busyFigs(st)...)
	case c.w < 110, figsWidth(left)+figGap+figsWidth(first[:min(1, len(first))]) > c.w-2: // the pages need the room of the first line
		first, second = nil, append(first, second...)
	}
	flow(c, 0, left, first)
	if h > 1 {
		figs := m.modeFigs(st, c.w)
		room := c.w - 2 - figsWidth(figs) - 2*figGap
		flow(c, 1, loadFigs(st, room, max(0, figsWidth(second)-figsWidth(figs))), second)
	}
	if h > 2 {
		flow(c, 2, dataFigs(st), differFigs(st))
	}
}

// serverFigs say which server this is.
func serverFigs(st *trial.State) []fig {
	var figs []fig
	if where := clean(st.Server.Where); where != "" {
		name := where
		if st.Mode == trial.InLab {
			name = "lab"
		}
		figs = append(figs, fig{truncate(name, 48), stTitle, 5})
	}
	if st.Server.Version != "" {
		figs = append(figs, fig{"PostgreSQL " + clean(st.Server.Version), stPlain, 4})
	}
	if !st.Server.Started.IsZero() && st.At.After(st.Server.Started) {
		figs = append(figs, fig{"up " + age(st.At.Sub(st.Server.Started)), stDim, 7})
	}
	if st.Host.Emulated != "" {
		figs = append(figs, fig{"EMULATED MACHINE", stWarn, 3})
	}
	return figs
}

// pagesOrAlarm are the pages of a server that is there. The alarm is the newest
// one, also while the view is frozen.
func (m *Model) pagesOrAlarm(st *trial.State, w int) []fig {
	switch {
	case m.st.Phase == trial.Lost:
		return []fig{{"SERVER ENDED", stAlarm, 0}}
	case m.st.Unreachable != "":
		room := w - 2
		if w >= 60 {
			room = max(48, w-40)
		}
		// The reason stands at the end.
		return []fig{{strings.Join(wrapMiddle(clean(m.st.Unreachable), room, 1), ""), stAlarm, 0}}
	case m.st.Silent != "":
		return []fig{{m.st.Silent, stWarn, 0}}
	}
	return pagesFigs(st, w < 60)
}

// pagesFigs say which pages the shared memory has, and how that is known.
func pagesFigs(st *trial.State, narrow bool) []fig {
	h := st.Server.HugePages
	switch {
	case h.FellBack() && narrow:
		return []fig{{"FELL BACK to 4 kB", stWarn, 1}}
	case h.FellBack() && h.Short > 0:
		return []fig{{fmt.Sprintf("huge_pages=try FELL BACK to 4 kB: %s pages short", probes.Number(float64(h.Short))), stWarn, 1}}
	case h.FellBack():
		return []fig{{"huge_pages=try FELL BACK to 4 kB", stWarn, 1}}
	case h.InUse == "":
		if h.Requested == "" && h.Proof == "" {
			return nil
		}
		return []fig{{"pages unknown:", stWarn, 2}, {truncate(clean(h.Proof), 60), stDim, 6}}
	}
	kb := h.PageKB
	if kb == 0 && h.InUse == "off" {
		kb = 4
	}
	text := "huge pages in use"
	if kb > 0 {
		text = "pages " + pageSize(kb) + " in use"
	}
	figs := []fig{{text, stValue, 1}}
	if h.Proof != "" {
		figs = append(figs, fig{"(proved: " + truncate(clean(h.Proof), 40) + ")", stDim, 6})
	}
	return figs
}

// dearPct is from where on, in percent of one CPU, pgtlb says that watching costs
// more than it should.
const dearPct = 1.5

// costFigs say what pgtlb itself takes: CPU time with the drawing, and for how long
// the probes were read.
func costFigs(sc *scene) []fig {
	if sc.last == nil {
		return nil
	}
	own := fig{"own CPU " + probes.Short(sc.last.OwnCPUPct) + " %", stDim, 8}
	switch {
	case len(running(sc.st)) > 0, sc.last.Get(probes.TPS).OK(): // a load ran in that interval
		own.text = "own CPU incl. driver " + probes.Short(sc.last.OwnCPUPct) + " %"
	case sc.last.OwnCPUPct > dearPct:
		own = fig{own.text + ": above " + probes.Short(dearPct) + " %", stWarn, 5}
	}
	figs := []fig{
		own,
		{"read " + probes.Short(float64(sc.last.ProbeTime)/float64(time.Millisecond)) + " ms", stDim, 10},
	}
	if n := sc.st.Dropped; n > 0 {
		figs = append(figs, fig{skippedText(n), stDim, 11})
	}
	return figs
}

// skippedText says how many states the terminal was too slow to show.
func skippedText(n uint64) string {
	word := "refreshes"
	if n == 1 {
		word = "refresh"
	}
	return probes.Number(float64(n)) + " " + word + " left out: slow terminal"
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// modeFigs say what is different from plain live watching.
func (m *Model) modeFigs(st *trial.State, w int) []fig {
	var figs []fig
	if m.frozen != nil {
		figs = append(figs, fig{"FROZEN", stAlarm, 0})
	}
	if st.Interval > 0 && st.Interval != time.Second && st.Mode != trial.Replaying {
		figs = append(figs, fig{"every " + st.Interval.String(), stDim, 7})
	}
	if r := st.Replay; r != nil {
		figs = append(figs, replayFigs(r)...)
	}
	switch b := st.Baseline; {
	case b != nil && st.Compare:
		text := "compare ON: " + clean(orElse(b.Label, b.Name))
		if part := covered(b); part != "" && w >= 110 { // a narrow screen has it over the lines
			text += ", " + part
		}
		figs = append(figs, fig{text, stBase, 2})
	case b != nil:
		figs = append(figs, fig{"baseline " + clean(orElse(b.Label, b.Name)), stDim, 6})
	}
	return figs
}

func replayFigs(r *trial.ReplayState) []fig {
	figs := []fig{{"replay", stWarn, 1}, {fmt.Sprintf("%d/%d", r.Pos, r.Total), stWarn, 1}}
	switch {
	case r.Paused:
		figs = append(figs, fig{"paused", stWarn, 1})
	case r.Ended && r.Interrupted:
		figs = append(figs, fig{"end: recording was interrupted", stDim, 4})
	case r.Ended:
		figs = append(figs, fig{"end: " + truncate(clean(r.EndReason), 30), stDim, 4})
	}
	return figs
}

// dataFigs are the size of the data, and the machine.
func dataFigs(st *trial.State) []fig {
	var figs []fig
	if d := st.Dataset; d != nil {
		figs = append(figs,
			fig{probes.Number(float64(d.Rows)) + " rows", stDim, 1},
			fig{"table " + probes.Memory(float64(d.TableBytes)/1024) + ", index " + probes.Memory(float64(d.IndexBytes)/1024), stDim, 2})
		if d.FitsSharedBuffer {
			figs = append(figs, fig{"fits in shared buffers " + probes.Memory(float64(st.Server.SharedBuffersKB)), stDim, 2})
		} else {
			figs = append(figs, fig{"larger than shared buffers " + probes.Memory(float64(st.Server.SharedBuffersKB)), stWarn, 2})
		}
	}
	return figs
}

// warned tells whether run and baseline are hard to compare.
func warned(st *trial.State) bool {
	return st.Compare && st.Baseline != nil && len(st.Baseline.Differs) > 0
}

// differFigs warn when run and baseline are hard to compare; otherwise the
// machine is named.
func differFigs(st *trial.State) []fig {
	if warned(st) {
		return []fig{{"differs: " + clean(strings.Join(st.Baseline.Differs, ", ")), stWarn, 0}}
	}
	h := st.Host
	if h.CPUs == 0 {
		return nil
	}
	figs := []fig{{strconv.Itoa(h.CPUs) + " CPUs", stDim, 4}, {probes.Memory(float64(h.MemTotalKB)), stDim, 5}}
	if thp := h.THP["enabled"]; thp != "" {
		figs = append(figs, fig{"THP " + clean(thp), stDim, 6})
	}
	if h.Kernel != "" {
		figs = append(figs, fig{"Linux " + truncate(clean(h.Kernel), 16), stDim, 7})
	}
	return figs
}
