package workload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgtlb/workload/script"
	"pgtlb/workload/wire"
)

// strict is scripted as pgbench's scripts are.
func strict(conns Connect, clients int, w Work, text string) Load {
	w.Strict, w.Scripts = true, []Script{{Name: "test.sql", Text: text, Weight: 1}}
	return Load{Connect: conns, Clients: clients, Scenario: Scenario{Name: "test", Work: func(Values) (Work, error) { return w, nil }}}
}

// abortedText lists who ended and why.
func abortedText(res Result) string {
	var lines []string
	for _, a := range res.Aborted {
		lines = append(lines, fmt.Sprintf("%d %v", a.Client, a.Err))
	}
	return strings.Join(lines, "\n")
}

// testDurationOver: a transaction that only the end keeps from another try has not
// failed; one whose tries are used up has.
func testDurationOver(t *testing.T, s server) {
	conns := s.database(t)
	load := strict(conns, 3, Work{PerCommand: true}, "BEGIN;\nDO $$BEGIN RAISE EXCEPTION 'again' USING errcode = '40001'; END$$;\nEND;\n")
	load.Duration, load.MaxTries = 100*time.Millisecond, -1
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	if err != nil || res.Failed != 0 || res.Transactions != 0 || len(res.Aborted) > 0 || res.Retried != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if c := res.Scripts[0].Commands[1]; c.Failed == 0 || c.Failed != c.Retried {
		t.Errorf("the command: %+v", c)
	}
	load.MaxTries, load.Duration, load.Transactions = 2, time.Minute, 4
	res, err = NewRunner(NewMeter("test")).Run(t.Context(), load)
	if c := res.Scripts[0].Commands[1]; err != nil || res.Failed != 12 || res.Retries != 12 || c.Failed != 24 || c.Retried != 12 {
		t.Errorf("%+v, %v", res, err)
	}
}

const terminated = "lost its connection: FATAL: terminating connection due to administrator command (SQLSTATE 57P01)"

// testLostAlone: a script's client that loses its connection ends, the others go on.
func testLostAlone(t *testing.T, s server) {
	conns := s.database(t)
	for _, w := range []Work{{}, {Reconnect: true}, {Mode: script.Prepared}} {
		load := strict(conns, 3, w, "SELECT 1;\n\\if :client_id = 1\nSELECT pg_terminate_backend(pg_backend_pid());\n\\endif\n")
		load.Transactions = 5
		res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
		if want := "1 test.sql:3: " + terminated; err != nil || res.Transactions != 10 || res.Failed != 0 || abortedText(res) != want {
			t.Errorf("%+v: %d transactions, %d failed, %v, aborted %s", w, res.Transactions, res.Failed, err, abortedText(res))
		}
	}
	load := strict(conns, 2, Work{}, "SELECT pg_terminate_backend(pg_backend_pid());\n")
	if res, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err == nil || !strings.Contains(err.Error(), terminated) || len(res.Aborted) != 1 {
		t.Errorf("all lost: %v, aborted %s", err, abortedText(res))
	}
	// Those that ended in the warm-up do not change the numbers.
	load = strict(conns, 4, Work{}, "\\set n :n + 1\n\\if :client_id = 0\nSELECT 1/0;\n\\endif\nSELECT pg_sleep(0.01) \\gset\n"+
		"\\if :client_id = 2 and :n > 40\nSELECT pg_terminate_backend(pg_backend_pid());\n\\endif\n")
	load.Defines, load.Transactions, load.Warmup = []Define{{"n", "0"}}, 50, &Warmup{Most: 300 * time.Millisecond}
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	if want := "0 test.sql:3: ERROR: division by zero (SQLSTATE 22012)\n2 test.sql:7: " + terminated; err != nil || abortedText(res) != want {
		t.Errorf("after a warm-up: %v, aborted %s", err, abortedText(res))
	}
}

func testCopyInScript(t *testing.T, s server) {
	conns := s.database(t)
	mustRun(t, open(t, conns), "CREATE TABLE copied (n int)")
	for _, mode := range allModes {
		for command, want := range map[string]string{
			"COPY copied FROM STDIN;": "COPY FROM STDIN is not supported", "COPY copied TO STDOUT;": "COPY TO STDOUT is not supported",
		} {
			load := strict(conns, 2, Work{Mode: mode}, "\\if :client_id = 1\nSELECT 1;\n"+command+"\n\\endif\nSELECT 2;\n")
			load.Transactions = 3
			res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
			if err != nil || res.Transactions != 3 || !strings.HasPrefix(abortedText(res), "1 test.sql:3: "+want) {
				t.Errorf("%s: %d transactions, %v, aborted %s", command, res.Transactions, err, abortedText(res))
			}
		}
	}
}

// testPipelineBlame: an error belongs to the command that failed.
func testPipelineBlame(t *testing.T, s server) {
	conns := s.database(t)
	mustRun(t, open(t, conns), "CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO late VALUES (1)")
	for text, line := range map[string]int{
		"\\startpipeline\nSELECT 1/0;\nSELECT 2;\n\\endpipeline":                                            2,
		"\\startpipeline\nSELECT 1;\nSELECT 2;\nSELECT 1/0;\n\\endpipeline":                                 4,
		"\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\nSELECT 1/0;\nSELECT 3;\n\\endpipeline":      5,
		"\\startpipeline\nSELECT 1/0;\nSELECT 1;\n\\syncpipeline\nSELECT 2;\nSELECT 1/0;\n\\endpipeline":    2,
		"\\startpipeline\nSELECT 1;\n\\endpipeline\n\\startpipeline\nSELECT 1;\nSELECT 1/0;\n\\endpipeline": 6,
		"\\startpipeline\nINSERT INTO late VALUES (1);\n\\syncpipeline\nSELECT 1;\n\\endpipeline":           2,
		"\\startpipeline\nSELECT 1;\nSELECT nothing;\nSELECT 2;\n\\endpipeline":                             3,
		"\\startpipeline\nSELECT 1;\n\\endpipeline\nSELECT 1/0;":                                            4,
	} {
		for _, mode := range extended {
			load := strict(conns, 1, Work{Mode: mode}, text)
			load.Transactions = 2
			res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
			if want := fmt.Sprintf("0 test.sql:%d: ERROR: ", line); err != nil || !strings.HasPrefix(abortedText(res), want) {
				t.Errorf("%s %q: %v, aborted %q, want %q", mode, text, err, abortedText(res), want)
			}
		}
	}
}

func testCommandTimes(t *testing.T, s server) {
	load := strict(s.database(t), 2, Work{PerCommand: true, Mode: script.Extended},
		"\\set n 1\n\\if :n = 2\nSELECT 1;\n\\else\n\\sleep 2 ms\n\\endif\n\\sleep 0\n\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n")
	load.Transactions = 20
	res, err := NewRunner(NewMeter("test")).Run(t.Context(), load)
	if err != nil || res.Transactions != 40 {
		t.Fatalf("%+v, %v", res, err)
	}
	commands := res.Scripts[0].Commands
	for i, c := range commands {
		if c.Took.Sum < 0 {
			t.Errorf("%s took %v", c.Title, c.Took.Sum)
		}
		if reached := i == 4 || i == 6 || i == 11; reached && c.Took.Count != 40 {
			t.Errorf("%s was measured %d times", c.Title, c.Took.Count)
		}
	}
	if slept := commands[4].Took.Mean(); slept < 2*time.Millisecond {
		t.Errorf("slept %v", slept)
	}
}

// TestTaskClockNeverGoesBack: it begins later than the run's.
func TestTaskClockNeverGoesBack(t *testing.T) {
	c := &task{clock: time.Now(), load: &loading{work: Work{PerCommand: true}}, stats: []scriptStats{{commands: make([]commandStats, 1)}}}
	at := wire.Moment{Now: time.Hour}
	for range 3 {
		c.sent = c.now(at)
		c.observe(0)
		at.Now += time.Minute
	}
	if got := c.stats[0].commands[0].took; got.Count != 3 || got.Sum < 0 || got.Sum > time.Minute {
		t.Errorf("%+v", got)
	}
}

// TestSkippedIsOfTheRightClient: the run counts only those that are still there.
func TestSkippedIsOfTheRightClient(t *testing.T) {
	var log bytes.Buffer
	l := &loading{meter: NewMeter("test"), log: newTxnLog(&log, &Load{Clients: 3})}
	l.recorder(0, []int{0, 2}).Skipped(1)
	if err := l.log.close(); err != nil || !strings.HasPrefix(log.String(), "2 1 skipped 0 ") {
		t.Errorf("%q, %v", log.String(), err)
	}
}

// testLogNumbers: transactions are numbered from 1 by client, as in pgbench.
func testLogNumbers(t *testing.T, s server) {
	var log bytes.Buffer
	load := strict(s.database(t), 2, Work{}, "SELECT 1;\n")
	load.Transactions, load.Log = 3, &log
	if _, err := NewRunner(NewMeter("test")).Run(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	next := map[int]int{0: 1, 1: 1}
	for line := range strings.Lines(log.String()) {
		var client, number int
		if _, err := fmt.Sscan(line, &client, &number); err != nil || number != next[client] {
			t.Errorf("%q, %v, want number %d", line, err, next[client])
		}
		next[client]++
	}
	if next[0] != 4 || next[1] != 4 {
		t.Errorf("numbers end at %v", next)
	}
}
