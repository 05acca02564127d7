package tui

import (
	"cmp"
	"slices"
	"strconv"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// tpsPane shows the throughput of the load with the server's total beside it,
// or without a load the server's alone.
func (sc *scene) tpsPane() pane {
	if !sc.load && !sc.aligned() {
		return sc.serverTPSPane()
	}
	labels := sc.labels(probes.TPS)
	main := sc.line(probes.TPS, "", stOne, '*')
	main.area = true
	p := pane{
		title:   "TPS",
		spark:   main,
		chart:   sc.newChart(probes.Short, main, sc.baseline(probes.TPS, "")),
		metrics: []string{probes.TPS, probes.ServerTPS, probes.Failed},
		labels:  labels,
	}
	if sc.compare(&p, probes.TPS, probes.Short, stOne) {
		p.chart.loose = true
		return p
	}
	p.figs = sc.nowFig(sc.now(probes.TPS, ""), probes.Short, stOne, "", 0)
	if len(labels) > 1 {
		sc.byLoad(&p, probes.TPS)
		p.tight = [][]fig{p.figs}
	}
	if server := sc.now(probes.ServerTPS, ""); server.OK() {
		p.figs = append(p.figs, fig{"server " + probes.Short(server.V), stDim, 3})
	}
	if failed := sc.now(probes.Failed, ""); failed.OK() && failed.V > 0 {
		p.figs = append(p.figs, fig{"failed " + probes.Short(failed.V) + "/s", stBad, 1})
	}
	return p
}

func (sc *scene) serverTPSPane() pane {
	p := pane{title: "TPS of the server", metrics: []string{probes.ServerTPS, probes.Commits, probes.Rollbacks}}
	if !sc.has(probes.ServerTPS) {
		p.title, p.why = "TPS", sc.why(probes.ServerTPS)
		return p
	}
	p.spark = sc.line(probes.ServerTPS, "", stOne, '*')
	p.spark.area = true
	p.chart = sc.newChart(probes.Short, p.spark)
	p.figs = sc.nowFig(sc.now(probes.ServerTPS, ""), probes.Short, stOne, "", 0)
	if r := sc.now(probes.Rollbacks, ""); r.OK() && r.V > 0 {
		p.figs = append(p.figs, fig{"rollbacks " + probes.Short(r.V) + "/s", stWarn, 1})
	}
	return p
}

// latencyPane shows the percentiles of the load, one line per scenario when two
// of them run, or without a load the server's own mean.
func (sc *scene) latencyPane() pane {
	if !sc.load && !sc.aligned() {
		return sc.serverLatencyPane()
	}
	p := pane{
		title:   "Latency ms",
		spark:   sc.line(probes.LatencyP99, "", stThree, '^'),
		metrics: []string{probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99},
		labels:  sc.labels(probes.LatencyP99),
	}
	if !sc.comparable(probes.LatencyP99) && sc.comparable(probes.LatencyMean) {
		return sc.meanLatency(p)
	}
	comparing := sc.compare(&p, probes.LatencyP99, probes.Short, stThree)
	if !comparing && len(p.labels) > 1 {
		return sc.latencyByLoad(p)
	}
	if comparing {
		// p95 makes room for the baseline of p50 and p99.
		p.title, p.shorter, p.name = "Latency p99 ms", []string{"p99 ms"}, "p99 ms"
		p.chart = sc.latencyChart(
			sc.line(probes.LatencyP50, "", stOne, '*'), sc.line(probes.LatencyP99, "", stThree, '^'),
			sc.baseline(probes.LatencyP50, ""), sc.baseline(probes.LatencyP99, ""))
		if p50 := sc.now(probes.LatencyP50, ""); p50.OK() {
			p.foot = sc.nowFig(p50, probes.Short, stOne, "p50 ", 9)
		}
		return p
	}
	p.chart = sc.latencyChart(
		sc.line(probes.LatencyP50, "", stOne, '*'),
		sc.line(probes.LatencyP95, "", stTwo, 'o'),
		sc.line(probes.LatencyP99, "", stThree, '^'))
	p.figs = append(p.figs, sc.nowFig(sc.now(probes.LatencyP50, ""), probes.Short, stOne, "p50 ", 1)...)
	p.figs = append(p.figs, sc.nowFig(sc.now(probes.LatencyP95, ""), probes.Short, stTwo, "p95 ", 2)...)
	p.figs = append(p.figs, sc.nowFig(sc.now(probes.LatencyP99, ""), probes.Short, stThree, "p99 ", 0)...)
	for _, l := range running(sc.st) {
		if l.Apdex != nil && l.Status == trial.LoadRunning {
			p.foot = append(p.foot, fig{apdexText(l.Apdex), apdexStyle(l.Apdex), 9})
		}
	}
	return p
}

// meanLatency compares means, where there are too few transactions for a p99.
func (sc *scene) meanLatency(p pane) pane {
	p.title, p.shorter, p.name = "Latency mean ms", []string{"mean ms"}, "mean ms"
	p.spark = sc.line(probes.LatencyMean, "", stOne, '*')
	p.chart = sc.latencyChart(p.spark, sc.baseline(probes.LatencyMean, ""))
	sc.compare(&p, probes.LatencyMean, probes.Short, stOne)
	return p
}

// loadLook is the look of the i-th scenario where several run. The fourth and
// those after it have no line of their own: more could not be told apart.
func loadLook(i int) (st style, glyph byte, drawn bool) {
	looks := [...]style{stTwo, stThree, stBase}
	if i >= len(looks) {
		return stDim, ' ', false
	}
	return looks[i], "ox+"[i], true
}

// byLoad gives each load a line and a name in the legend.
func (sc *scene) byLoad(p *pane, id string) {
	for i, label := range p.labels {
		st, glyph, drawn := loadLook(i)
		if drawn {
			p.chart.lines = append(p.chart.lines, sc.line(id, label, st, glyph))
		}
		sign := "━"
		if sc.ascii || !drawn {
			sign = string(glyph)
		}
		value := "n/a"
		if v := sc.now(id, label); v.OK() {
			value = probes.Short(v.V)
		}
		p.legend = append(p.legend, named{key: sc.digit(label), name: clean(label), value: value, sign: sign, st: st})
	}
}

// digit is the key of a load that has one.
func (sc *scene) digit(label string) string {
	for _, l := range sc.st.Loads {
		if l.Name == label && l.Key <= lastDigit {
			return strconv.Itoa(l.Key)
		}
	}
	return ""
}

// latencyByLoad draws each scenario's p99, and names that of all together.
func (sc *scene) latencyByLoad(p pane) pane {
	p.chart = sc.latencyChart()
	p.title, p.shorter, p.name = "Latency p99 ms", []string{"p99 ms"}, "p99 ms"
	p.figs = sc.nowFig(sc.now(probes.LatencyP99, ""), probes.Short, stPlain, "all ", 0)
	sc.byLoad(&p, probes.LatencyP99)
	return p
}

// latencyChart is a chart of milliseconds: one bad second does not flatten it.
func (sc *scene) latencyChart(lines ...line) *chart {
	ch := sc.newChart(probes.Short, lines...)
	ch.cut = true
	return ch
}

func (sc *scene) serverLatencyPane() pane {
	p := pane{title: "Latency of the server, ms", metrics: []string{probes.ServerLatencyMean, probes.StmtCalls, probes.StmtExecMS}}
	if !sc.has(probes.ServerLatencyMean) {
		p.title, p.why = "Latency ms", sc.why(probes.ServerLatencyMean, probes.StmtCalls)
		return p
	}
	p.spark = sc.line(probes.ServerLatencyMean, "", stOne, '*')
	p.chart = sc.latencyChart(p.spark)
	p.figs = sc.nowFig(sc.now(probes.ServerLatencyMean, ""), probes.Short, stOne, "mean ", 0)
	return p
}

// labels are the instances of a metric in the newest frame, scenarios in the
// order of their keys.
func (sc *scene) labels(id string) []string {
	if sc.last == nil {
		return nil
	}
	labels := sc.last.Labels(id)
	key := func(label string) int {
		for _, l := range sc.st.Loads {
			if l.Name == label {
				return l.Key
			}
		}
		return 0
	}
	slices.SortStableFunc(labels, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	return labels
}

// nowFig is the newest value as a figure; with a perf counter that ran less
// than 90 % of the time the share stands beside it.
func (sc *scene) nowFig(v probes.Value, format func(float64) string, st style, prefix string, drop int) []fig {
	if !v.OK() {
		return []fig{{prefix + "n/a", stDim, drop}}
	}
	figs := []fig{{prefix + format(v.V), st, drop}}
	if v.RunningPct > 0 && v.RunningPct < runningFloor {
		figs = append(figs, fig{"(" + probes.Short(v.RunningPct) + " % running)", stWarn, drop})
	}
	return figs
}

// runningFloor is the share of time in percent below which a perf counter's
// share is shown beside its figure.
const runningFloor = 90
