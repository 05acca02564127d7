package script

import (
	"slices"
	"strings"
	"testing"
)

// splits are scripts and the SQL that they send in simple and in extended mode ("" where it is the same), with n
// statements each.
var splits = []struct {
	text       string
	simple     []string
	parameters []string
	statements []int
}{
	{"select 1;;\n ; /* c */ ;\n-- x\nselect 2 -- hello\n as a; -- trailing\nselect 3",
		[]string{"select 1;", ";", ";", "/* c */ ;", "select 2 -- hello\n as a;", "select 3"}, nil, []int{1, 0, 0, 0, 1, 1}},
	{"\\set x 5\nselect :x, ':x', $$ :x $$, :x::text, x[1::2], \"a:x\", :nope -- :x\n from (select 1 as x) s;\nselect :x\n",
		[]string{"select 5, '5', $$ 5 $$, 5::text, x[1::2], \"a5\", :nope -- 5\n from (select 1 as x) s;", "select 5\n"},
		[]string{"select $1, '$2', $$ $3 $$, $4::text, x[1::2], \"a$5\", $6 -- $7\n from (select 1 as x) s;", "select $1\n"}, []int{1, 1}},
	{"\\set x 5\nselect a:::x, ::x, :1x, ': x', :x:x;", []string{"select a:::x, ::x, :1x, ': x', 55;"}, []string{"select a:::x, ::x, :1x, ': x', $1$2;"}, []int{1}},
	{`select 1 \; select 2 \; \; -- c` + "\n" + `\; select 3;`, []string{"select 1 ; select 2 ; ; -- c\n; select 3;"}, nil, []int{3}},
	{`\; select 1 \;`, []string{"; select 1 ;"}, nil, []int{1}},
	{`select (1; 2); select 3;`, []string{"select (1; 2);", " select 3;"}, nil, []int{1, 1}},
	{`select ';', ";", E'\';', 'a\'; select ''';', $a$;$$;$b$;$a$, $1;`, []string{`select ';', ";", E'\';', 'a\';`, `select ''';', $a$;$$;$b$;$a$, $1;`}, nil, []int{1, 1}},
	{"select E'a'\n  -- c;\n 'b\\';', 1; select 'a' 'b;'; select e'\\\\';", []string{"select E'a'\n  -- c;\n 'b\\';', 1;", "select 'a' 'b;';", `select e'\\';`}, nil, []int{1, 1, 1}},
	{`select U&"a;\"; select n';', B'1', x';', u&';';`, []string{`select U&"a;\";`, `select n';', B'1', x';', u&';';`}, nil, []int{1, 1}},
	{`select /* ; /* ' */ ; */ 1; select 2 /* open`, []string{"select /* ; /* ' */ ; */ 1;", "select 2 /* open"}, nil, []int{1, 1}},
	{`select a$b$; select $1$; select 1+--;` + "\n1;", []string{"select a$b$;", "select $1$;", "select 1+--;\n1;"}, nil, []int{1, 1, 1}},
	{"select 'open; select 1;\n", []string{"select 'open; select 1;\n"}, nil, []int{1}},
	{`select \:x;`, []string{"select :x;"}, []string{"select $1;"}, []int{1}},
	{"create function f() returns int begin atomic select 1; select case when true then 2 end; end; select 1;",
		[]string{"create function f() returns int begin atomic select 1; select case when true then 2 end; end;", "select 1;"}, nil, []int{1, 1}},
	{"Create Or Replace Procedure p(a int = case 1 when 1 then 2 end) begin atomic; end; begin; end;",
		[]string{"Create Or Replace Procedure p(a int = case 1 when 1 then 2 end) begin atomic; end;", "begin;", "end;"}, nil, []int{1, 1, 1}},
	{"create or replace view v as select 1; begin; create table function (a int); begin; commit;",
		[]string{"create or replace view v as select 1;", "begin;", "create table function (a int);", "begin;", "commit;"}, nil, []int{1, 1, 1, 1, 1}},
	{"select 1 as a \\gset\nselect :a;", []string{"select 1 as a ", "select 1;"}, []string{"", "select $1;"}, []int{1, 1}},
	{"select 1 \\\nselect 2;", []string{"select 1 ", "select 2;"}, nil, []int{1, 1}},
}

func TestSplit(t *testing.T) {
	for _, c := range splits {
		s := mustParse(t, c.text)
		var params []string
		var statements []int
		for i := range s.Commands {
			if q := s.Commands[i].SQL; q != nil {
				params = append(params, strings.TrimSpace(q.Parameters))
				statements = append(statements, q.Statements)
			}
		}
		var sent []string
		m := client(t, Simple, s)
		for step := range steps(t, m) {
			sent = append(sent, strings.TrimSpace(string(step.Text)))
			answer(t, m, step)
		}
		simple, want := trimmed(c.simple), trimmed(c.parameters)
		for i := range simple {
			if i >= len(want) {
				want = append(want, simple[i])
			} else if want[i] == "" {
				want[i] = simple[i]
			}
		}
		if !slices.Equal(sent, simple) {
			t.Errorf("%q: sends %q, want %q", c.text, sent, simple)
		}
		if !slices.Equal(params, want) {
			t.Errorf("%q: parameters %q, want %q", c.text, params, want)
		}
		if !slices.Equal(statements, c.statements) {
			t.Errorf("%q: statements %v, want %v", c.text, statements, c.statements)
		}
	}
}

// trimmed is without the blanks at both ends, which the table leaves out.
func trimmed(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

// answer gives the machine one row with a = 1 where it waits for one.
func answer(t *testing.T, m *Machine, step Step) {
	t.Helper()
	if step.SQL == nil || step.SQL.Store == StoreNone {
		return
	}
	if err := m.Results([]Result{{Rows: 1, Columns: []string{"a"}, Last: [][]byte{[]byte("1")}}}); err != nil {
		t.Fatal(err)
	}
}

// TestSQLAsPgbench compares what pgbench says that it sends. An error of the server ends its run early; up to there all
// has to be the same.
func TestSQLAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	whole := 0
	for _, mode := range []Mode{Simple, Extended} {
		for _, c := range splits {
			lines, code := ref.run(t, c.text, "--debug", "-t", "1", "-M", mode.String())
			var theirs []string
			open := false
			for _, line := range lines {
				if text, ok := strings.CutPrefix(line, "client 0 sending "); ok {
					theirs = append(theirs, text)
					open = true
				} else if strings.HasPrefix(line, "client 0 ") {
					open = false
				} else if open {
					theirs[len(theirs)-1] += "\n" + line
				}
			}
			s := mustParse(t, c.text)
			var ours []string
			m := client(t, mode, s)
			for step := range steps(t, m) {
				text := string(step.Text)
				if mode == Extended {
					text = step.SQL.Parameters
				}
				ours = append(ours, strings.TrimSuffix(text, "\n"))
				answer(t, m, step)
			}
			if len(theirs) == 0 || len(theirs) > len(ours) || !slices.Equal(theirs, ours[:len(theirs)]) || code == 0 && len(theirs) != len(ours) {
				t.Errorf("%s %q: sends %q, pgbench %q", mode, c.text, ours, theirs)
			}
			if code == 0 {
				whole++
			}
		}
	}
	if whole < 12 {
		t.Errorf("only %d scripts ran to their end in pgbench", whole)
	}
}
