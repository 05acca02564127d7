//go:build linux

package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRowsAndCommands(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		s, err := runSteps(t, with,
			queryRows("SELECT 1 AS one, NULL AS nothing; SELECT 'x' AS letter FROM generate_series(1, 2)"),
			query("SELECT 5 AS unseen"),
			query(""),
			query("BEGIN"), query("CREATE TEMP TABLE twelve AS SELECT generate_series(1, 12)"), query("ROLLBACK"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(s.names, s.rows, s.commands), "[one nothing letter] [[1 ] [x] [x]] [0 1 1]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		var got []string
		for _, r := range s.results {
			got = append(got, fmt.Sprintf("%c%d:%d", r.Status, r.Commands, r.Affected))
		}
		if want := "I2:2 I1:1 I1:0 T1:0 T1:12 I1:0"; strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	})
}

func TestErrorsAreResults(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		extended := func(b []byte) ([]byte, Action) {
			b, mark := BeginBind(AppendParse(b, "", "SELECT 1 / $1::int"), "", 1)
			return appendExecuteSync(EndBind(appendParam(b, "0"), mark)), Send(1)
		}
		s, err := runSteps(t, with, query("SELECT 1 / 0"), query("SELECT 1"), extended, query("BEGIN"), query("nonsense"), query("SELECT 1"), query("ROLLBACK"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range s.results {
			got = append(got, fmt.Sprintf("%c%s", r.Status, r.State))
		}
		if want := "I22012 I I22012 T E42601 E25P02 I"; strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
		if s.errs[0].Message != "division by zero" || s.errs[1] != nil || s.errs[4].Position != 1 {
			t.Errorf("%v", s.errs)
		}
	})
}

func TestPipelineOfSeveralSyncs(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		if _, err := runSteps(t, with, func(b []byte) ([]byte, Action) { return b, Send(1) }); err == nil {
			t.Error("a request of no bytes is no error")
		}
		s, err := runSteps(t, with, func(b []byte) ([]byte, Action) {
			for _, sql := range []string{"SELECT 1", "SELECT 1 / 0", "SELECT 3"} {
				var mark int
				b = AppendParse(b, "", sql)
				b, mark = BeginBind(b, "", 0)
				b = AppendExecute(EndBind(b, mark))
				b = AppendSync(b)
			}
			return b, SendRows(3)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.results) != 3 || s.results[0].State.String() != "" || s.results[1].State.String() != "22012" || s.results[2].State.String() != "" {
			t.Errorf("%+v", s.results)
		}
		if got := fmt.Sprint(s.rows); got != "[[1] [3]]" {
			t.Errorf("rows %s", got)
		}
	})
}

func TestBigAnswersAndRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const rows, size = 100, 1 << 20
		big := fmt.Sprintf("SELECT repeat('x', %d) FROM generate_series(1, %d)", size, rows)
		long := "SELECT length('" + strings.Repeat("y", 9<<20) + "')"
		s, err := runSteps(t, with, query(big), queryRows(big), queryRows(long))
		if err != nil {
			t.Fatal(err)
		}
		if s.bytes != rows*size+int64(len("9437184")) || s.results[0].Affected != rows || s.results[1].Affected != rows || s.rows[rows][0] != "9437184" {
			t.Errorf("%d bytes, %+v", s.bytes, s.results)
		}
	})
}

func TestNoticesInBetween(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		notices := "DO $$BEGIN FOR i IN 1..20000 LOOP RAISE NOTICE 'number % %', i, repeat('n', i % 100); END LOOP; END$$"
		s, err := runSteps(t, with, query("LISTEN ear"), query("SET client_min_messages = notice"), query(notices), query("NOTIFY ear, 'word'"),
			queryRows("SELECT 1"), query("SET application_name = 'told'"))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.results {
			if r.State != (State{}) || r.Commands != 1 {
				t.Errorf("request %d: %+v", i, r)
			}
		}
	})
}

func TestCopyIsAnError(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		if _, err := runSteps(t, with, query("CREATE TEMP TABLE c (i int)"), query("COPY c FROM STDIN")); !errors.Is(err, errCopy) {
			t.Errorf("%v", err)
		}
		s, err := runSteps(t, with, query("COPY (SELECT generate_series(1, 1000)) TO STDOUT"))
		if err != nil || s.results[0].Affected != 1000 || !s.results[0].Copied {
			t.Errorf("%v %+v", err, s.results)
		}
	})
}

// TestBothSidesSendAtOnce: the server's answers fill every buffer before it has read
// the whole request.
func TestBothSidesSendAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, with connector) {
		const requests, size = 40, 1 << 18
		s, err := runSteps(t, with, func(b []byte) ([]byte, Action) {
			for range requests {
				b = AppendParse(b, "", "SELECT $1::text")
				var mark int
				b, mark = BeginBind(b, "", 1)
				b = appendParam(b, strings.Repeat("z", size))
				b = appendExecuteSync(EndBind(b, mark))
			}
			return b, SendRows(requests)
		})
		if err != nil || s.bytes != requests*size || len(s.results) != requests {
			t.Errorf("%v, %d bytes, %d results", err, s.bytes, len(s.results))
		}
	})
}
