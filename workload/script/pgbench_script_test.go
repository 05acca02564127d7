package script

import (
	"fmt"
	"strings"
	"testing"
)

// fault is a script that does not parse and the error.
type fault struct {
	text, message string
	line, column  int
}

// faulty are scripts that do not parse, with pgbench's message. column is where the caret stands, in the line of the
// backslash and from it, 0 where pgbench shows none.
var faulty = []fault{
	{"\\set i 1 +\n", "syntax error", 1, 11},
	{"\\set i 1 +", "syntax error", 1, 10},
	{"\\set i 1 + + * 2\n", "syntax error", 1, 14},
	{"\\set i foo(1)\n", "unexpected function name (foo)", 1, 10},
	{"\\set i FOO\n", "unexpected function name (FOO)", 1, 10},
	{"\\set i least( )\n", "at least one argument expected (least)", 1, 15},
	{"\\set i GREATEST()\n", "at least one argument expected (greatest)", 1, 17},
	{"\\set i hash(1,2,3) + 1\n", "unexpected number of arguments (hash)", 1, 18},
	{"\\set i hash()\n", "unexpected number of arguments (hash)", 1, 13},
	{"\\set i permute(1)\n", "unexpected number of arguments (permute)", 1, 17},
	{"\\set i permute(1, 2, 3, 4)\n", "unexpected number of arguments (permute)", 1, 26},
	{"\\set i pi(1)\n", "unexpected number of arguments (pi)", 1, 12},
	{"\\set i mod(1)\n", "unexpected number of arguments (mod)", 1, 13},
	{"\\set i 1 ! 2\n", "unexpected character (!)", 1, 10},
	{"\\set i 1 : 2\n", "unexpected character (:)", 1, 10},
	{"\\set i 1 \\ 2\n", "unexpected character (\\)", 1, 10},
	{"\\set i 1 < 2 < 3\n", "syntax error", 1, 14},
	{"\\set i 1 = 2 <> 3\n", "syntax error", 1, 15},
	{"\\set i 100000000000000000000 + 1\n", "bigint constant overflow (100000000000000000000)", 1, 28},
	{"\\set i 9223372036854775808\n", "syntax error", 1, 26},
	{"\\set i 5 - 9223372036854775808\n", "syntax error", 1, 30},
	{"\\set i 09223372036854775808\n", "bigint constant overflow (09223372036854775808)", 1, 27},
	{"\\set i 1.0E309\n", "double constant overflow (1.0E309)", 1, 14},
	{"\\set i .1E310\n", "double constant overflow (.1E310)", 1, 13},
	{"\\set x 1e-400\n", "double constant overflow (1e-400)", 1, 13},
	{"\\set x 1e-320\n", "double constant overflow (1e-320)", 1, 13},
	{"\\set x 1e\n", "syntax error", 1, 9},
	{"\\set x 1..2\n", "syntax error", 1, 11},
	{"\\set x 5 5\n", "syntax error", 1, 10},
	{"\\set x (5\n", "syntax error", 1, 10},
	{"\\set x 5)\n", "syntax error", 1, 9},
	{"\\set x\n", "syntax error", 1, 7},
	{"\\set x", "syntax error", 1, 6},
	{"\\set x least(1,)\n", "syntax error", 1, 16},
	{"\\set x least(1,,2)\n", "syntax error", 1, 16},
	{"\\set x least 1\n", "syntax error", 1, 14},
	{"\\set x case end\n", "syntax error", 1, 15},
	{"\\set x case when 1 then 2\n", "syntax error", 1, 26},
	{"\\set x case 1 when 1 then 2 end\n", "syntax error", 1, 13},
	{"\\set x case when 1 else 2 end\n", "syntax error", 1, 23},
	{"\\set x 1 is 2\n", "syntax error", 1, 13},
	{"\\set x 1 is not\n", "syntax error", 1, 16},
	{"\\set x not\n", "syntax error", 1, 11},
	{"\\set x 1 and\n", "syntax error", 1, 13},
	{"\\set x 1 not 2\n", "syntax error", 1, 12},
	{"\\set x when\n", "syntax error", 1, 11},
	{"\\set i 1 \\\n + \\\n  * 3\n", "syntax error", 1, 19},
	{"\\set i 1 \\\r\n + foo(1)\n", "unexpected function name (foo)", 1, 18},
	{"\nselect 1 \\set i 1 +\n", "syntax error", 2, 11},
	{"select 1;\n\n/* a\n b */ \\set i 1 +\n", "syntax error", 4, 11},
	{"\nselect 1; \\sleep 1 2 3\n", "too many arguments", 2, 12},
	{"\\sleep x\n", "invalid sleep time, must be an integer (x)", 1, 8},
	{"\\sleep 1ms 3\n", "invalid sleep time, must be an integer (1ms)", 1, 8},
	{"\\sleep +ms\n", "invalid sleep time, must be an integer (+ms)", 1, 8},
	{"\\sleep 1 m\n", "unrecognized time unit, must be us, ms or s (m)", 1, 10},
	{"\\sleep 1x\n", "unrecognized time unit, must be us, ms or s (x)", 1, 9},
	{"\\sleep -1.5\n", "unrecognized time unit, must be us, ms or s (.5)", 1, 10},
	{"\\sleep :v h\n", "unrecognized time unit, must be us, ms or s (h)", 1, 11},
	{"\\sleep\n", "missing argument", 1, 0},
	{"\\set\n", "missing argument", 1, 0},
	{"\\shell\n", "missing command", 1, 0},
	{"\\setshell x\n", "missing argument", 1, 0},
	{"\\foo bar\n", "invalid command", 1, 0},
	{"select 1;\n\\else foo\n", "unexpected argument", 2, 0},
	{"\\startpipeline now\n", "unexpected argument", 1, 0},
	{"select 1 as a \\gset a b\n", "too many arguments", 1, 0},
	{"\\shell" + strings.Repeat(" a", 256) + "\n", "too many arguments", 1, 0},
	{"\\gset\n", "\\gset must follow an SQL command", 1, 0},
	{"\\set x 1\n\\gset\n", "\\gset must follow an SQL command", 2, 0},
	{"select 1 as a \\gset\n\\gset\n", "\\gset must follow an SQL command", 2, 0},
	{"select 1;\n\\endif\n", "\\endif without matching \\if", 0, 0},
	{"\\elif 1\n", "\\elif without matching \\if", 0, 0},
	{"\\else\n", "\\else without matching \\if", 0, 0},
	{"\\if 1\n", "\\if without matching \\endif", 0, 0},
	{"\\if 1\n\\if 1\n\\endif\n", "\\if without matching \\endif", 0, 0},
	{"\\if 1\n\\else\n\\elif 1\n\\endif\n", "\\elif after \\else", 0, 0},
	{"\\if 1\n\\else\n\\else\n\\endif\n", "\\else after \\else", 0, 0},
	{"\n -- nothing\n", "empty command list", 0, 0},
}

// spot is where the error stands counted as pgbench does: the line of the backslash, and the offset from it over line
// ends.
func spot(t *testing.T, text string, e *Error) (line, column int) {
	t.Helper()
	offset := 0
	for range e.Line - 1 {
		offset += strings.IndexByte(text[offset:], '\n') + 1
	}
	offset += e.Column - 1
	start := strings.LastIndex(text[:min(offset+1+len(e.Command), len(text))], `\`+e.Command)
	if start < 0 {
		t.Fatalf("%q: no %s before the spot", text, e.Command)
	}
	return strings.Count(text[:start], "\n") + 1, offset - start + 1
}

// several are faults of which pgbench, which reads on to show the whole line, reports the last bad character; here it
// is the first fault.
var several = []fault{
	{"\\set i foo !\n", "unexpected function name (foo)", 1, 10},
	{"\\set i 'a'\n", "unexpected character (')", 1, 8},
}

func TestParseErrors(t *testing.T) {
	for _, c := range append(faulty, several...) {
		_, err := Parse("s.sql", c.text)
		e, ok := err.(*Error)
		if !ok || e.Message != c.message || e.File != "s.sql" {
			t.Errorf("%q: %v, want %s", c.text, err, c.message)
			continue
		}
		if c.message != "empty command list" && (e.Line == 0 || e.Column == 0) {
			t.Errorf("%q: no position in %v", c.text, e)
		}
		if c.line == 0 || e.Command == "" {
			continue
		}
		if line, column := spot(t, c.text, e); line != c.line || c.column != 0 && column != c.column {
			t.Errorf("%q: %d:%d, want %d:%d", c.text, line, column, c.line, c.column)
		}
	}
}

// TestParseErrorsAsPgbench asks pgbench for the same errors, and for those of random expressions that do not parse.
func TestParseErrorsAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	list := faulty
	_, _, wrong := sorted(t, wildList(4000))
	for _, e := range wrong[:min(len(wrong), 60)] {
		text := "\\set v " + e + "\n"
		_, err := Parse("s.sql", text)
		at := err.(*Error)
		line, column := spot(t, text, at)
		list = append(list, fault{text, at.Message, line, column})
	}
	if len(list) < len(faulty)+30 {
		t.Errorf("only %d random expressions do not parse", len(list)-len(faulty))
	}
	for _, c := range list {
		lines, code := ref.run(t, c.text)
		head := fmt.Sprintf("s.sql:%d: %s", c.line, c.message)
		if c.line == 0 {
			head = c.message
		}
		caret := 0
		for _, line := range lines {
			if at := strings.Index(line, "^ error found here"); at >= 0 {
				caret = at + 1
			}
		}
		if all := strings.Join(lines, "\n"); code != 1 || !strings.Contains(all, head) || caret != c.column {
			t.Errorf("%q: exit code %d, caret at %d, want %s, caret at %d\n%s", c.text, code, caret, head, c.column, all)
		}
	}
	t.Logf("%d errors compared", len(list))
}

func TestSpot(t *testing.T) {
	_, err := Parse("s.sql", "select 1;\n\tselect 'é' \\set x 1 + \x01 2\nselect 2;")
	e := err.(*Error)
	if got, want := e.Error(), `s.sql:2:24: unexpected character (`+"\x01"+`) in command "set"`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := e.Spot(), "\tselect 'é' \\set x 1 + ? 2\n\t"+strings.Repeat(" ", 22)+"^ error found here"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, err = Parse("s.sql", "")
	if e := err.(*Error); e.Error() != "s.sql: empty command list" || e.Spot() != "" {
		t.Errorf("%q with spot %q", e.Error(), e.Spot())
	}
	_, err = Parse("s.sql", "select 1;\nselect \x00;")
	if e := err.(*Error); e.Line != 2 || e.Column != 8 || !strings.Contains(e.Message, "zero byte") {
		t.Errorf("%v", e)
	}
}
