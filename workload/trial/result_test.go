package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
)

func publishedResult() workload.Result {
	h := probes.NewHistogram()
	for range 990 {
		h.Record(147 * time.Microsecond)
	}
	for range 10 {
		h.Record(600 * time.Millisecond)
	}
	return workload.Result{
		Transactions: 54263 * 25, Failed: 3, FailedBy: map[string]int64{"40001": 2, "40P01": 1},
		InitialConnect: 12_300 * time.Microsecond, Elapsed: 25 * time.Second, Latency: h,
	}
}

func TestResultGoldens(t *testing.T) {
	b := BuildBench(published4kB().run(), publishedResult(), 0)
	var text bytes.Buffer
	if err := WriteResultText(&text, b, Asked{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.txt", text.Bytes())

	watch := published2MB()
	watch.tps = 0
	watch.meta.Loads, watch.meta.Kind = nil, "watch"
	text.Reset()
	if err := WriteObservedText(&text, BuildObserved(watch.run())); err != nil {
		t.Fatal(err)
	}
	golden(t, "record.txt", text.Bytes())
}

// The keys are a contract: scripts read them.
func TestResultKeys(t *testing.T) {
	b := BuildBench(published4kB().run(), publishedResult(), 0)
	observed := []string{"catalog", "counters", "duration_s", "gaps", "huge_pages", "page_tables", "run", "server_version", "unavailable"}
	load := []string{"apdex", "client_cpu_us_per_txn", "clients", "failed", "failed_by", "initial_connect_ms", "latency_ms", "random_seed", "scenario", "tps", "transactions"}
	haveKeys(t, "bench", b, append(load, observed...)...)
	haveKeys(t, "record", BuildObserved(published4kB().run()), observed...)
	haveKeys(t, "latency_ms", b.Latency, "mean", "stddev", "min", "p50", "p90", "p95", "p99", "max")
	haveKeys(t, "apdex", b.Apdex, "t_ms", "score", "rating")
	haveKeys(t, "page_tables", b.PageTables, "start_kb", "end_kb", "max_backend_kb", "others_kb", "growth_kb_per_backend_min", "growth_window_s",
		"growth_backends", "ceiling_backend_kb", "at_max_connections_kb", "at_max_connections_now_kb", "missing")
	if why := b.PageTables.Missing["exhausted_in_s"]; b.PageTables.Exhausted != nil || !strings.Contains(why, "30 s") {
		t.Errorf("a forecast of 24 s: %v, %q", b.PageTables.Exhausted, why)
	}
	haveKeys(t, "catalog", b.Catalog, "start_kb", "end_kb")
	haveKeys(t, "huge_pages", b.HugePages, "requested", "in_use", "page_kb")
	haveKeys(t, "a counter", b.Counters[probes.PageFaults], "value", "per_second", "per_txn", "unit", "scope")
	haveKeys(t, "a gauge", b.Counters[probes.PageTables], "value", "unit", "scope")
}

func haveKeys(t *testing.T, what string, v any, want ...string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
		t.Errorf("%s has the keys %q, want %q", what, got, want)
	}
}

func TestResultOfAKnownRun(t *testing.T) {
	b := BuildBench(published4kB().run(), publishedResult(), 0)
	near(t, "TPS", b.TPS, 54263)
	near(t, "page faults", b.Counters[probes.PageFaults].Value, 1397551)
	near(t, "page faults per transaction", *b.Counters[probes.PageFaults].PerTxn, 1397551./(54263*25))
	near(t, "own CPU", *b.ClientCPU, 3000./54263) // 3 ms a second
	near(t, "PageTables at the start", *b.PageTables.Start, 40_000)
	near(t, "PageTables at the end", *b.PageTables.End, 434_176)
	near(t, "largest backend", *b.PageTables.MaxBackend, 5268)
	// 990 satisfied, 10 tolerated, 3 failed
	near(t, "apdex", b.Apdex.Score, (990+5)/1003.)
	for id := range b.Counters {
		if ofLoad(id) {
			t.Errorf("%s is among the counters", id)
		}
	}
}

func TestApdexRatings(t *testing.T) {
	for want, latency := range map[string]time.Duration{
		"Excellent": 9 * time.Millisecond, "Poor": 39 * time.Millisecond, "Unacceptable": 41 * time.Millisecond,
	} {
		h := probes.NewHistogram()
		h.Record(latency)
		if a := apdex(h, 0, 10*time.Millisecond); a.Rating != want || a.TMS != 10 {
			t.Errorf("%v against 10 ms: %+v, want %s", latency, a, want)
		}
	}
}

func TestResultWithoutATransaction(t *testing.T) {
	b := BuildBench(&Run{Meta: published4kB().meta}, workload.Result{Failed: 7}, 0)
	if b.Latency != nil || b.Apdex == nil || b.Apdex.Score != 0 || b.Apdex.Rating != "Unacceptable" || b.ClientCPU != nil || b.PageTables.End != nil {
		t.Errorf("figures out of nothing: %+v", b)
	}
	if none := BuildBench(&Run{Meta: published4kB().meta}, workload.Result{Cancelled: true}, 0); none.Apdex != nil || !none.Interrupted {
		t.Errorf("of no transaction: %+v", none)
	}
	if _, err := json.Marshal(b); err != nil {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := WriteResultText(&text, b, Asked{}); err != nil {
		t.Fatal(err)
	}
}

// The average that pgbench takes from the time of the run holds connecting, the measured
// latencies do not: the text says so, and has an average that belongs to them.
func TestResultWithConnecting(t *testing.T) {
	load := publishedResult()
	load.Connections, load.ConnectMean = load.Transactions, 2500*time.Microsecond
	b := BuildBench(published4kB().run(), load, 0)
	const note = " (without connecting, which took 2.500 ms on average)"
	average := fmt.Sprintf("\nlatency average = %.3f ms, stddev = %.3f ms%s\n", b.Latency.Mean, b.Latency.Stddev, note)
	for name, c := range map[string]struct {
		asked   Asked
		average bool
		notes   int
	}{
		"as pgbench has it": {Asked{Pgbench: true, Reconnect: true}, true, 2},
		"with progress":     {Asked{Pgbench: true, Reconnect: true, Progress: true}, false, 1},
		"of a scenario":     {Asked{Reconnect: true}, false, 1},
		"with a rate":       {Asked{Pgbench: true, Reconnect: true, Rate: 100}, false, 0},
		"connected once":    {Asked{Pgbench: true}, false, 0},
	} {
		var text bytes.Buffer
		if err := WriteResultText(&text, b, c.asked); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); strings.Contains(got, average) != c.average || strings.Count(got, note) != c.notes {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
