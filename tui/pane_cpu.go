package tui

import (
	"pgtlb/probes"
)

// dtlbPane shows the dTLB miss rate and the share of cycles in page walks, else
// misses per 1000 instructions, else why there is neither.
func (sc *scene) dtlbPane() pane {
	p := pane{title: "dTLB load misses", metrics: []string{
		probes.DTLBMissPct, probes.WalkCyclesPct, probes.WalkCeilingPct, probes.DTLBLoads, probes.DTLBLoadMisses, probes.DTLBMissesPerKInstr,
		probes.DTLBMissesPerTxn, probes.DTLBWalks, probes.DTLBWalks4K, probes.DTLBWalks2M, probes.DTLBWalks1G}}
	id, format, short := probes.DTLBMissPct, percent, "dTLB misses"
	if !sc.has(id) && sc.has(probes.DTLBMissesPerKInstr) {
		id, format = probes.DTLBMissesPerKInstr, probes.Short
		p.title = "dTLB load MPKI"
		short = "dTLB MPKI"
	}
	if !sc.has(id) && !sc.has(probes.WalkCyclesPct) {
		p.why = sc.why(probes.DTLBMissPct, probes.DTLBLoadMisses, probes.DTLBLoads, probes.DTLBMissesPerKInstr)
		return p
	}
	p.foot = sc.scopeFoot()
	p.spark = sc.line(id, "", stOne, '*')
	p.chart = sc.newChart(format, p.spark, sc.baseline(id, ""))
	if sc.compare(&p, id, format, stOne) {
		p.chart.loose = true
		p.shorter = []string{short, "dTLB"}
		return p
	}
	p.figs = sc.nowFig(sc.now(id, ""), format, stOne, "", 0)
	if walk := sc.now(probes.WalkCyclesPct, ""); walk.OK() {
		p.chart.lines = append(p.chart.lines, sc.line(probes.WalkCyclesPct, "", stTwo, 'o'))
		p.figs = append(p.figs, sc.nowFig(walk, percent, stTwo, "page walks ", 1)...)
	}
	return p
}

// scopeFoot names whose events are counted where that is not the whole machine.
func (sc *scene) scopeFoot() []fig {
	if c := sc.st.Counting; c.Scope != "" && !c.WholeMachine() {
		return []fig{{clean(c.Scope), stDim, 8}}
	}
	return nil
}

// cyclesPane stacks user and kernel: cycles where the CPU counts them, else CPU
// time, which is called time.
func (sc *scene) cyclesPane() pane {
	p := pane{title: "Cycles/s", own: true, metrics: []string{
		probes.CyclesUser, probes.CyclesKernel, probes.CyclesUserPerTxn, probes.CyclesKernelPerTxn, probes.Cycles, probes.Instructions,
		probes.CPUUser, probes.CPUKernel, probes.CPUUserPerTxn, probes.CPUKernelPerTxn, probes.CPUIdle, probes.CPUSteal}}
	user, kernel := probes.CyclesUser, probes.CyclesKernel
	if !sc.has(user) || !sc.has(kernel) {
		user, kernel = probes.CPUUser, probes.CPUKernel
		p.title = "CPU time, no PMU"
	}
	if !sc.has(user) {
		p.title, p.why = "CPU time", sc.why(user)
		return p
	}
	if user == probes.CyclesUser {
		p.foot = sc.scopeFoot()
	}
	p.spark = sc.line(user, "", stOne, '#')
	p.chart = sc.newChart(probes.Short, sc.line(user, "", stOne, '#'), sc.line(kernel, "", stThree, 'k'))
	p.chart.stack = true
	u, k := sc.now(user, ""), sc.now(kernel, "")
	cpus := float64(sc.st.Host.CPUs)
	if user == probes.CPUUser && cpus > 0 {
		// A sample that came late can show a little more than there is.
		p.chart.nice = func(high float64) float64 {
			if high > 1.5*cpus {
				return niceMax(high)
			}
			return cpus
		}
	}
	if sc.compare(&p, kernel, probes.Short, stThree) {
		p.title, p.shorter, p.name = "Cycles kernel/s", []string{"Cycles:k/s"}, "Cycles:k/s"
		if user == probes.CPUUser { // still called time
			p.title, p.shorter, p.name = "CPU time kernel", []string{"Kernel time"}, "Kernel time"
		}
		p.chart.stack, p.chart.nice = false, nil
		p.chart.lines = append(p.chart.lines, sc.baseline(user, ""), sc.baseline(kernel, ""))
		if u.OK() {
			p.foot = append(p.foot, sc.nowFig(u, probes.Short, stOne, "user ", 9)...)
		}
		return p
	}
	p.figs = append(sc.nowFig(u, probes.Short, stOne, "user ", 1), sc.nowFig(k, probes.Short, stThree, "kernel ", 0)...)
	if sum := u.V + k.V; u.OK() && k.OK() && sum > 0 {
		p.figs = append(p.figs, fig{"(" + percent(100*k.V/sum) + " kernel)", stDim, 3})
	}
	if user == probes.CPUUser && cpus > 0 {
		p.figs = append(p.figs, fig{"of " + probes.Number(cpus) + " CPUs", stDim, 2})
	}
	return p
}
