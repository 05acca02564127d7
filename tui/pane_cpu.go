package tui

import (
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// dtlbPane shows the dTLB miss rate and the share of cycles in page walks, else
// misses per 1000 instructions, else why there is neither.
func (sc *scene) dtlbPane() pane {
	p := pane{title: "dTLB load misses", metrics: []string{
		probes.DTLBMissPct, probes.WalkCyclesPct, probes.DTLBLoads, probes.DTLBLoadMisses, probes.DTLBMissesPerKInstr}}
	id, format := probes.DTLBMissPct, percent
	if !sc.has(id) && sc.has(probes.DTLBMissesPerKInstr) {
		id, format = probes.DTLBMissesPerKInstr, trial.Short
		p.title = "dTLB load MPKI"
	}
	if !sc.has(id) && !sc.has(probes.WalkCyclesPct) {
		p.why = sc.why(probes.DTLBMissPct, probes.DTLBLoadMisses, probes.DTLBLoads, probes.DTLBMissesPerKInstr)
		return p
	}
	p.spark = sc.line(id, "", stOne, '*')
	p.chart = sc.newChart(format, p.spark, sc.baseline(id, ""))
	now := sc.now(id, "")
	figs := sc.versus(id, "", false)
	if figs != nil {
		p.chart.loose = true
		p.figs = append(sc.comparedNow(now, format, stOne, "now "), figs...)
		return p
	}
	p.figs = sc.nowFig(now, format, stOne, "", 0)
	if walk := sc.now(probes.WalkCyclesPct, ""); walk.OK() {
		p.chart.lines = append(p.chart.lines, sc.line(probes.WalkCyclesPct, "", stTwo, 'o'))
		p.figs = append(p.figs, sc.nowFig(walk, percent, stTwo, "page walks ", 1)...)
	}
	return p
}

// cyclesPane stacks user and kernel: cycles where the CPU counts them, else CPU
// time, which is called time.
func (sc *scene) cyclesPane() pane {
	p := pane{title: "Cycles/s", metrics: []string{
		probes.CyclesUser, probes.CyclesKernel, probes.Cycles, probes.Instructions, probes.CPUUser, probes.CPUKernel, probes.CPUIdle, probes.CPUSteal}}
	user, kernel := probes.CyclesUser, probes.CyclesKernel
	if !sc.has(user) || !sc.has(kernel) {
		user, kernel = probes.CPUUser, probes.CPUKernel
		p.title = "CPU time, no PMU"
	}
	if !sc.has(user) {
		p.title, p.why = "CPU time", sc.why(user)
		return p
	}
	p.spark = sc.line(user, "", stOne, '#')
	p.chart = sc.newChart(trial.Short, sc.line(user, "", stOne, '#'), sc.line(kernel, "", stThree, 'k'))
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
	if figs := sc.versus(kernel, "", false); figs != nil {
		p.title = strings.TrimSuffix(p.title, ", no PMU") // still called time
		p.chart.stack, p.chart.nice = false, nil
		p.chart.lines = append(p.chart.lines, sc.baseline(user, ""), sc.baseline(kernel, ""))
		p.figs = append([]fig{{"kernel", stThree, 1}}, sc.comparedNow(k, trial.Short, stThree, "now ")...)
		p.figs = append(p.figs, figs...)
		return p
	}
	p.figs = append(sc.nowFig(u, trial.Short, stOne, "user ", 1), sc.nowFig(k, trial.Short, stThree, "kernel ", 0)...)
	if sum := u.V + k.V; u.OK() && k.OK() && sum > 0 {
		p.figs = append(p.figs, fig{"(" + percent(100*k.V/sum) + " kernel)", stDim, 3})
	}
	if user == probes.CPUUser && cpus > 0 {
		p.figs = append(p.figs, fig{"of " + trial.Number(cpus) + " CPUs", stDim, 2})
	}
	return p
}
