package trial

import (
	"fmt"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

// Observed is what record --json prints: what the machine and the server did
// while nothing, or a load, was driven.
type Observed struct {
	DurationS float64            `json:"duration_s"`
	Server    string             `json:"server_version"`
	Counters  map[string]Counted `json:"counters"`
	// Counting is whose kernel events were counted; scope "none" with the reason
	// where perf events count none.
	Counting    probes.CountingScope `json:"counting,omitzero"`
	Unavailable []probes.Miss        `json:"unavailable"`
	Gaps        []Gap                `json:"gaps"`
	PageTables  PageTableLevels      `json:"page_tables"`
	Catalog     CatalogLevels        `json:"catalog"`
	HugePages   HugePagesUse         `json:"huge_pages"`
	Run         string               `json:"run"`
	meta        Meta                 // for the text, as forecast
	forecast    probes.PageTableForecast
}

// Counted is one metric over the run, by its id. Rates are there for counters
// only, per transaction only where a load of pgtlb's ran.
type Counted struct {
	// Value is a counter's growth, a ratio, or a gauge's level as in Figure.
	Value     float64  `json:"value"`
	PerSecond *float64 `json:"per_second,omitempty"`
	PerTxn    *float64 `json:"per_txn,omitempty"`
	Unit      string   `json:"unit"`
	// Scope says whose events a figure counts, where that may differ from one
	// figure to the next: "system wide". Counting's is that of perf events.
	Scope string `json:"scope,omitempty"`
	// RunningPct is the share of time in which a perf counter really ran.
	RunningPct *float64 `json:"running_pct,omitempty"`
	// UncoveredS is how many seconds of the run a counter's growth leaves out,
	// because they could not be read. There is nothing per transaction then.
	UncoveredS float64 `json:"uncovered_s,omitempty"`
}

// PageTableLevels are in kB; null where they were not measured.
type PageTableLevels struct {
	Start      *float64 `json:"start_kb"`
	End        *float64 `json:"end_kb"`
	MaxBackend *float64 `json:"max_backend_kb"`
	// Others is what other processes took at the end: PageTables less the server's.
	Others *float64 `json:"others_kb"`
	// Growth is the mean of client backends that were there for GrowthWindowS at
	// the end of the run, in kB per minute.
	Growth         *float64 `json:"growth_kb_per_backend_min"`
	GrowthWindowS  float64  `json:"growth_window_s,omitempty"`
	GrowthBackends int      `json:"growth_backends,omitempty"`
	// Ceiling is computed: one client backend with all shared memory touched.
	Ceiling *float64 `json:"ceiling_backend_kb"`
	// AtMaxNow and AtMaxFull are all of the server's page tables with
	// max_connections clients: like those now, and at their ceiling.
	AtMaxNow  *float64 `json:"at_max_connections_now_kb"`
	AtMaxFull *float64 `json:"at_max_connections_kb"`
	// Exhausted is in how many seconds the available memory is gone; absent where
	// there is no ground for a forecast.
	Exhausted *float64 `json:"exhausted_in_s,omitempty"`
	// Missing says of each of these that is not known why, by its key.
	Missing map[string]string `json:"missing,omitempty"`
}

// CatalogLevels are sizes of the system catalog in kB; null where they were not
// measured.
type CatalogLevels struct {
	Start *float64 `json:"start_kb"`
	End   *float64 `json:"end_kb"`
}

// HugePagesUse is what the server was asked to use and what it does use.
type HugePagesUse struct {
	Requested string `json:"requested"`
	InUse     string `json:"in_use"` // "on", "off"; empty where nothing proves it
	PageKB    int    `json:"page_kb"`
}

// Bench is what bench --json prints: one load and what it cost.
type Bench struct {
	Scenario     string `json:"scenario"`
	Clients      int    `json:"clients"`
	Threads      int    `json:"threads,omitempty"` // of the load driver
	Mode         string `json:"mode,omitempty"`    // protocol, as -M has it
	Seed         int64  `json:"random_seed"`
	Transactions int64  `json:"transactions"` // without an error
	Failed       int64  `json:"failed"`
	// Interrupted tells that the load was ended before its time.
	Interrupted      bool             `json:"interrupted,omitempty"`
	FailedBy         map[string]int64 `json:"failed_by,omitempty"` // by SQLSTATE
	Retried          int64            `json:"retried,omitempty"`   // needed more than one try
	Retries          int64            `json:"retries,omitempty"`   // tries beyond the first
	Skipped          int64            `json:"skipped,omitempty"`   // not begun: too late already
	Late             int64            `json:"late,omitempty"`      // above the latency limit
	TPS              float64          `json:"tps"`                 // connecting left out, unless each transaction connects
	Latency          *LatencyMS       `json:"latency_ms"`          // null where no transaction finished
	Lag              *LagMS           `json:"lag_ms,omitempty"`    // with a rate
	Warmup           *WarmupShare     `json:"warmup,omitempty"`    // came before, and is in none of the other figures
	Apdex            *Apdex           `json:"apdex"`
	InitialConnectMS float64          `json:"initial_connect_ms"`
	// Connections were opened for a transaction each.
	Connections   int64    `json:"connections,omitempty"`
	ConnectMeanMS *float64 `json:"connect_ms_mean,omitempty"`
	// ClientCPU is pgtlb's own CPU time per transaction in µs, watching included.
	ClientCPU *float64       `json:"client_cpu_us_per_txn"`
	Driver    *Driver        `json:"driver,omitempty"`
	Scripts   []ScriptShare  `json:"scripts,omitempty"`
	Aborted   []AbortedShare `json:"aborted,omitempty"` // clients that ended early
	Observed
}

// Driver is how the clients were driven.
type Driver struct {
	Direct bool   `json:"direct"` // from the descriptors of their connections
	Why    string `json:"why,omitempty"`
}

// WarmupShare is what the load did before it was measured.
type WarmupShare struct {
	Seconds      float64    `json:"seconds"`
	Transactions int64      `json:"transactions"`
	Failed       int64      `json:"failed"`
	TPS          float64    `json:"tps"`
	Latency      *LatencyMS `json:"latency_ms"` // null where no transaction finished
	// Settled tells that it ended because page faults had settled, not because
	// its time was over.
	Settled bool `json:"settled"`
}

// LagMS is how far behind their schedule transactions began, in milliseconds.
type LagMS struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// ScriptShare is one script's part of a load.
type ScriptShare struct {
	Name         string         `json:"name"`
	Weight       int            `json:"weight"`
	SharePct     float64        `json:"share_pct"` // of all transactions, by weight
	Transactions int64          `json:"transactions"`
	TPS          float64        `json:"tps"`
	Latency      *MeanMS        `json:"latency_ms,omitempty"`
	Failed       int64          `json:"failed"`
	Retried      int64          `json:"retried"`
	Retries      int64          `json:"retries"`
	Commands     []CommandShare `json:"commands,omitempty"`

	serialization, deadlock int64 // of the failed
}

// MeanMS is in milliseconds.
type MeanMS struct {
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
}

// CommandShare is one command of a script.
type CommandShare struct {
	Title   string   `json:"title"`
	Count   int64    `json:"count"` // without an error
	MeanMS  *float64 `json:"mean_ms,omitempty"`
	Failed  int64    `json:"failed"`  // and not tried again
	Retried int64    `json:"retried"` // failed, and tried again
}

// AbortedShare is a client, from 0, that ended early.
type AbortedShare struct {
	Client int    `json:"client"`
	Error  string `json:"error"`
}

// LatencyMS is in milliseconds, over all finished transactions.
type LatencyMS struct {
	Mean   float64 `json:"mean"`
	Stddev float64 `json:"stddev"`
	Min    float64 `json:"min"`
	P50    float64 `json:"p50"`
	P90    float64 `json:"p90"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	// TooFewFor names the percentiles for which there were too few transactions to
	// say something; such a one is near the slowest.
	TooFewFor []string `json:"too_few_for,omitempty"`
	count     int64
}

// Apdex is the application performance index: the share of transactions within
// T, plus half the share between T and 4 T. Failed ones count as too slow.
type Apdex struct {
	TMS    float64 `json:"t_ms"`
	Score  float64 `json:"score"`
	Rating string  `json:"rating"`
}

// DefaultApdexT is the usual threshold of the Apdex.
const DefaultApdexT = 500 * time.Millisecond

// BuildBench makes the result of a run with one load from its recording and
// from what the load driver counted. apdexT is the threshold of the Apdex;
// 0 means DefaultApdexT.
func BuildBench(run *Run, load workload.Result, apdexT time.Duration) Bench {
	frames := Frames(run)
	s := summaryOf(run.Meta, frames)
	b := Bench{
		Scenario: scenarios(run.Meta), Transactions: load.Transactions, Failed: load.Failed, FailedBy: load.FailedBy,
		Retried: load.Retried, Retries: load.Retries, Skipped: load.Skipped, Late: load.Late, Threads: load.Threads,
		TPS: load.TPS(), InitialConnectMS: milliseconds(load.InitialConnect),
		Observed: observed(run, frames, s, float64(load.Transactions)),
	}
	b.DurationS = load.Elapsed.Seconds()
	rated := false
	for _, l := range run.Meta.Loads {
		b.Clients += l.Clients
		b.Seed = l.Seed
		b.Mode, rated = l.Mode, rated || l.Rate > 0
	}
	if rated && load.Transactions > 0 {
		b.Lag = &LagMS{milliseconds(load.LagMean), milliseconds(load.LagMax)}
	}
	b.detail(load)
	b.Interrupted = load.Cancelled
	b.Latency = latencyMS(load.Latency)
	b.Apdex = apdex(load.Latency, load.Failed, apdexT)
	if w := load.Warmup; w != nil {
		b.Warmup = &WarmupShare{Seconds: w.Elapsed.Seconds(), Transactions: w.Transactions, Failed: w.Failed, TPS: w.TPS(),
			Latency: latencyMS(w.Latency), Settled: w.Settled}
	}
	// The recording's transactions are those of the same window as its CPU time.
	if done := s.Get(probes.Transactions); done.OK() && done.Total > 0 && done.Uncovered == 0 {
		us := ownCPU(frames).Seconds() * 1e6 / done.Total
		b.ClientCPU = &us
	}
	return b
}

// latencyMS is nil where no transaction finished.
func latencyMS(h *probes.Histogram) *LatencyMS {
	if h == nil || h.Count() == 0 {
		return nil
	}
	l := &LatencyMS{
		Mean: h.MeanMS(), Stddev: h.StddevMS(), Min: h.MinMS(), Max: h.MaxMS(),
		P50: h.QuantileMS(0.50), P90: h.QuantileMS(0.90), P95: h.QuantileMS(0.95), P99: h.QuantileMS(0.99), count: h.Count(),
	}
	for _, q := range []float64{0.50, 0.90, 0.95, 0.99} {
		if fewText(q, l.count) != "" {
			l.TooFewFor = append(l.TooFewFor, fmt.Sprintf("p%.0f", 100*q))
		}
	}
	return l
}

// BuildObserved makes the result of a run without a load.
func BuildObserved(run *Run) Observed {
	frames := Frames(run)
	return observed(run, frames, summaryOf(run.Meta, frames), 0)
}

// observed is everything but the load; transactions is 0 where none ran.
func observed(run *Run, frames []probes.Frame, s *Summary, transactions float64) Observed {
	meta := withoutSecrets(run.Meta)
	hp := meta.Server.HugePages
	o := Observed{
		DurationS: s.Seconds, Server: meta.Server.Version, Run: meta.Name, meta: meta,
		Counters: map[string]Counted{}, Counting: meta.Counting, Unavailable: unavailable(meta, frames, s), Gaps: gaps(frames, s),
		HugePages: HugePagesUse{hp.Requested, hp.InUse, hp.PageKB},
	}
	if o.Counting.Scope == "" {
		o.Counting = countingNone(meta)
	}
	scopes := map[string]string{}
	for _, m := range meta.Metrics {
		scopes[m.ID] = m.Scope
	}
	known := map[string]bool{}
	for _, u := range o.Unavailable {
		known[u.ID] = true
	}
	for _, m := range probes.Catalogue() {
		f, measured := s.Figures[probes.Key{ID: m.ID}]
		switch {
		case !measured || ofLoad(m.ID):
		case f.OK():
			c := counted(m, f, transactions)
			c.Scope = scopes[m.ID]
			o.Counters[m.ID] = c
		case !known[m.ID] && !probes.PerTransaction(m.ID): // their counters are named
			o.Unavailable = append(o.Unavailable, probes.MissOf(m.ID, f.Missing))
		}
	}
	for i := range o.Unavailable { // of what a source has, and gave no figure of this time
		if u := &o.Unavailable[i]; u.State == "" {
			u.State = probes.NotCounted
		}
	}
	if f := s.Get(probes.PageTables); f.OK() {
		o.PageTables.Start, o.PageTables.End = &f.Start, &f.End
	}
	if f := s.Get(probes.Catalog); f.OK() {
		o.Catalog.Start, o.Catalog.End = &f.Start, &f.End
	}
	if f := s.Get(probes.PageTableMaxBackend); f.OK() {
		o.PageTables.MaxBackend = &f.Max
	}
	if f := s.Get(probes.PageTableOthers); f.OK() {
		o.PageTables.Others = &f.End
	}
	o.forecast = forecastOf(meta, frames)
	o.PageTables.forecast(o.forecast)
	return o
}

// countingNone is the scope of a run in which perf events counted nothing, with
// the reason; empty where the run does not tell it.
func countingNone(meta Meta) probes.CountingScope {
	for _, m := range meta.Unavailable {
		// They are counted wherever perf events are.
		if m.ID == probes.ContextSwitches {
			return probes.CountingScope{Scope: "none", Why: m.Text()}
		}
	}
	return probes.CountingScope{}
}

// ofLoad tells which metrics the result has keys of its own for.
func ofLoad(id string) bool {
	return fromTotals(id) || id == probes.Transactions || id == probes.Failed
}

func counted(m probes.Metric, f Figure, transactions float64) Counted {
	c := Counted{Value: f.Value, Unit: m.Unit}
	if m.Kind == probes.Counter {
		rate := f.Value
		c.Value, c.PerSecond, c.UncoveredS = f.Total, &rate, f.Uncovered
		if transactions > 0 && f.Uncovered == 0 {
			per := f.Total / transactions
			c.PerTxn = &per
		}
	}
	if f.RunningPct > 0 {
		c.RunningPct = &f.RunningPct
	}
	return c
}

// apdex scores the latencies against a threshold; it is nil where no transaction
// came to an end.
func apdex(h *probes.Histogram, failed int64, t time.Duration) *Apdex {
	if t <= 0 {
		t = DefaultApdexT
	}
	if h == nil {
		h = probes.NewHistogram()
	}
	satisfied, tolerating := h.AtMost(t), h.AtMost(4*t)
	all := float64(h.Count() + failed)
	if all == 0 {
		return nil
	}
	score := (float64(satisfied) + float64(tolerating-satisfied)/2) / all
	return &Apdex{TMS: milliseconds(t), Score: score, Rating: rating(score)}
}

// rating is the word that the Apdex standard has for a score.
func rating(score float64) string {
	switch {
	case score >= 0.94:
		return "Excellent"
	case score >= 0.85:
		return "Good"
	case score >= 0.70:
		return "Fair"
	case score >= 0.50:
		return "Poor"
	}
	return "Unacceptable"
}

// ownCPU is pgtlb's own CPU time over the load window.
func ownCPU(frames []probes.Frame) time.Duration {
	var sum float64
	from, to, _ := LoadWindow(frames)
	for i := from; i < to; i++ {
		sum += frames[i].OwnCPUPct / 100 * float64(frames[i].Elapsed)
	}
	return time.Duration(sum)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
