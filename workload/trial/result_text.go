package trial

import (
	"fmt"
	"io"
	"strings"

	"pgtlb/probes"
)

// WriteResultText writes the result of a load: first what pgbench prints, in its
// words and number formats, then what it does not tell.
func WriteResultText(w io.Writer, b Bench, a Asked) error {
	var t strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) }
	b.pgbench(line, a)
	b.beyond(line, a)
	line("")
	b.text(line)
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// beyond writes what pgbench does not tell of a load.
func (b Bench) beyond(line text, a Asked) {
	if b.Interrupted {
		line("interrupted: the figures are those of the first %.1f s", b.DurationS)
	}
	if l := b.Latency; l != nil {
		apart := b.connectingApart(a)
		if !a.measured() && apart == "" {
			line("latency stddev = %.3f ms", l.Stddev)
		}
		line("latency min = %.3f ms, p50 = %.3f ms, p90 = %.3f ms, p95 = %.3f ms, p99 = %.3f ms, max = %.3f ms%s%s",
			l.Min, l.P50, l.P90, l.P95, l.P99, l.Max, apart, l.few())
		if !a.measured() && apart != "" {
			line("latency average = %.3f ms, stddev = %.3f ms%s", l.Mean, l.Stddev, apart)
		}
	} else {
		line("latency: n/a, no transaction finished")
	}
	if a := b.Apdex; a != nil {
		line("apdex = %.3f (T = %s ms, %s)", a.Score, probes.Number(a.TMS), a.Rating)
	}
	line("random seed: %d", b.Seed)
	if b.ClientCPU != nil {
		line("client CPU time = %.2f us per transaction", *b.ClientCPU)
	}
	if b.Driver != nil && !b.Driver.Direct && b.Connections == 0 {
		line("driver: slower than it can be: %s", probes.Clean(b.Driver.Why))
	}
	if w := b.Warmup; w != nil {
		line("%s", w.text())
	}
	for _, state := range keys(b.FailedBy, nil) {
		line("failed with SQLSTATE %s: %d", state, b.FailedBy[state])
	}
	if n := len(b.Aborted); n > 0 {
		line("clients that ended early: %d of %d", n, b.Clients)
	}
}

// connectingApart says of measured latencies that connecting is not in them, empty
// where it is or nobody connected: with a rate they count from the scheduled start. The
// average that pgbench takes from the time of the run does hold connecting.
func (b Bench) connectingApart(a Asked) string {
	if !a.Reconnect || a.Rate > 0 || b.ConnectMeanMS == nil {
		return ""
	}
	return fmt.Sprintf(" (without connecting, which took %.3f ms on average)", *b.ConnectMeanMS)
}

// few says of which percentiles there were too few transactions; empty where there
// were enough.
func (l *LatencyMS) few() string {
	if len(l.TooFewFor) == 0 {
		return ""
	}
	return fmt.Sprintf(" (of only %s: too few for %s)", probes.Plural(int(l.count), "transaction"), strings.Join(l.TooFewFor, ", "))
}

// text is a line on the warm-up.
func (w *WarmupShare) text() string {
	text := fmt.Sprintf("warm-up: %.1f s, not in the figures above, tps = %.6f", w.Seconds, w.TPS)
	if l := w.Latency; l != nil {
		text += fmt.Sprintf(", p50 = %.3f ms, p99 = %.3f ms%s", l.P50, l.P99, l.few())
	}
	if w.Settled {
		text += "; page faults had settled"
	}
	return text
}

// WriteObservedText writes the result of watching without a load.
func WriteObservedText(w io.Writer, o Observed) error {
	var t strings.Builder
	o.text(func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) })
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// settlesAfter is the length in seconds from which on the delay of the server's own
// counts does not bend them much.
const settlesAfter = 10

// text writes server, counters, page tables, huge pages and what is missing.
func (o Observed) text(line func(format string, args ...any)) {
	if o.Run == "" {
		line("run: not kept; it was too short for figures of the server")
		return
	}
	line("server: PostgreSQL %s, %s", orNone(o.Server), orNone(probes.Clean(o.meta.Server.Where)))
	line("measured: %s", Seconds(o.DurationS))
	if o.Counting.Scope != "" {
		line("events counted: %s", probes.Clean(o.Counting.String()))
	}
	for _, id := range []string{
		probes.ServerTPS, probes.ServerPageFaults, probes.PageFaults, probes.PageFaultsMinor, probes.PageFaultsMajor, probes.DTLBLoads, probes.DTLBLoadMisses,
		probes.DTLBMissPct, probes.DTLBMissesPerKInstr, probes.WalkCyclesPct, probes.CyclesUser, probes.CyclesKernel,
		probes.CPUUser, probes.CPUKernel, probes.ContextSwitches, probes.TLBShootdowns,
		probes.BlksHit, probes.BlksRead, probes.TempFiles, probes.TempBytes,
	} {
		if c, ok := o.Counters[id]; ok {
			text := countedText(probes.MustLookup(id), c)
			if c.Scope != "" && o.Counting.Scope != "" && c.Scope != o.Counting.Scope {
				text += " (" + probes.Clean(c.Scope) + ")"
			}
			if id == probes.ServerTPS && o.DurationS < settlesAfter {
				text += fmt.Sprintf(" (backends report with up to a second of delay: too low in a run below %d s)", settlesAfter)
			}
			line("%s", text)
		}
	}
	if c, ok := o.Counters[probes.WalkCeilingPct]; ok {
		opened, _ := find(o.meta.Metrics, probes.WalkCeilingPct)
		line("ceiling: %s", probes.WalkCeilingText(c.Value, opened))
	}
	line("PageTables: %s at the start, %s at the end; largest backend %s",
		memoryText(o.PageTables.Start), memoryText(o.PageTables.End), memoryText(o.PageTables.MaxBackend))
	if o.PageTables.Others != nil {
		line("page tables of other processes: %s at the end", memoryText(o.PageTables.Others))
	}
	for _, f := range ForecastFacts(o.forecast, &o.meta.Server) {
		line("page tables, %s: %s", f.Label, f.Value)
	}
	if o.Catalog.Start != nil {
		line("system catalog: %s at the start, %s at the end", memoryText(o.Catalog.Start), memoryText(o.Catalog.End))
	}
	line("huge pages: %s", hugePagesText(o.meta.Server.HugePages))
	for _, l := range lacks(o.Unavailable) {
		line("unavailable: %s", probes.Clean(l.String()))
	}
	for _, g := range gapTexts(o.Gaps) {
		line("gap: %s", probes.Clean(g))
	}
	line("run: %s", o.Run)
}

func countedText(m probes.Metric, c Counted) string {
	if c.PerSecond == nil {
		return fmt.Sprintf("%s: %s", m.Title, Level(m, c.Value))
	}
	text := fmt.Sprintf("%s: %s", m.Title, FigureText(m, Figure{Total: c.Value, Value: *c.PerSecond, Uncovered: c.UncoveredS}))
	switch {
	case c.PerTxn == nil:
	case m.Unit == "s":
		text += ", " + probes.Number(*c.PerTxn*1e6) + " us per transaction"
	default:
		text += ", " + probes.Count(*c.PerTxn) + " per transaction"
	}
	if c.RunningPct != nil && *c.RunningPct < leastRunning {
		text += fmt.Sprintf(", counted %.0f %% of the time and scaled up", *c.RunningPct)
	}
	return text
}

// hugePagesText is one line on what was asked for, what is in use, and how that
// is known.
func hugePagesText(h probes.HugePages) string {
	asked := "huge_pages = " + fmt.Sprint(orNone(h.Requested))
	switch {
	case h.FellBack() && h.Short > 0:
		return fmt.Sprintf("%s FELL BACK to small pages: the pool was %s pages short", asked, probes.Number(float64(h.Short)))
	case h.FellBack():
		return asked + " FELL BACK to small pages (" + h.Proof + ")"
	case h.InUse == "":
		return asked + ", in use: not known: " + h.Proof
	case h.PageKB > 0:
		return fmt.Sprintf("%s, pages of %s in use (%s)", asked, probes.Memory(float64(h.PageKB)), h.Proof)
	}
	return fmt.Sprintf("%s, in use: %s (%s)", asked, h.InUse, h.Proof)
}

func memoryText(kB *float64) string {
	if kB == nil {
		return "n/a"
	}
	return probes.Memory(*kB)
}
