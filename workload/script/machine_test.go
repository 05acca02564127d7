package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// trace runs a script and writes down what it asks for, and its variable :v at the end.
func trace(t *testing.T, mode Mode, text string) string {
	t.Helper()
	m := client(t, mode, mustParse(t, text))
	var b strings.Builder
	for {
		step, err := m.Next()
		if err != nil {
			return b.String() + "! " + err.Error()
		}
		switch step.Action {
		case EndOfScript:
			v, _ := m.Vars().Text("v")
			return b.String() + "v=" + v
		case SendSQL:
			if mode == Simple {
				fmt.Fprintf(&b, "[%s] ", step.Text)
			} else {
				fmt.Fprintf(&b, "[%s %q] ", step.SQL.Parameters, step.Args)
			}
		case SleepFor:
			fmt.Fprintf(&b, "%s ", step.Delay)
		case RunShell:
			fmt.Fprintf(&b, "$(%s) ", step.Text)
			if err := m.ShellDone(" 42 \nmore", nil); err != nil {
				return b.String() + "! " + err.Error()
			}
		default:
			fmt.Fprintf(&b, "%s ", step.Action)
		}
	}
}

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		mode       Mode
		text, want string
	}{
		{Simple, "\\set v 1\n\\if :v = 1\n\\set v 2\n\\elif 1/0\n\\set v 3\n\\else\n\\set v 4\n\\endif\n", "v=2"},
		{Simple, "\\set v 1\n\\if null\n\\set v 2\n\\elif :v\n\\set v 3\n\\elif 1/0\n\\else\n\\set v 4\n\\endif\n", "v=3"},
		{Simple, "\\if 0\n\\set v 2\n\\elif 0.0\n\\set v 3\n\\else\n\\set v 4\n\\endif\n", "v=4"},
		{Simple, "\\if 0\n\\if 1/0\n\\elif 1/0\n\\else\n\\set v 1/0\n\\endif\n\\elif 1\n\\if 1\n\\set v 5\n\\else\n\\set v 6\n\\endif\n\\else\n\\if 1\n\\set v 7\n\\endif\n\\endif\nselect :v;", "[select 5;] v=5"},
		{Simple, "\\if 1\n\\else\n\\if 1\n\\set v 1\n\\endif\n\\endif\n\\if 0\n\\endif", "v="},
		{Simple, "\\if 0\n\\elif true and 1\n\\endif", "! s.sql:2:12: cannot coerce int to boolean in command \"elif\""},
		{Simple, "\\if 0\nselect 1;\n\\sleep 1\n\\shell x\n\\gone\\endif", ""},
		{Simple, "\\sleep 1\n\\sleep 2 s\n\\sleep 3ms\n\\sleep 4 US\n\\sleep -5\n\\set w 6.9\n\\sleep :w ms\n\\sleep 007us", "1s 2s 3ms 4µs 0s 6ms 7µs v="},
		{Simple, "\\sleep :nope ms", "! s.sql:1:1: undefined variable \"nope\" in command \"sleep\""},
		{Simple, "\\set w true\n\\sleep :w", "! s.sql:2:1: invalid sleep time \"true\" for variable \"w\" in command \"sleep\""},
		{Simple, "\\sleep 9999999999999", "! s.sql:1:1: sleep time \"9999999999999\" is out of range in command \"sleep\""},
		{Simple, "\\set w 6.5\n\\setshell v echo :w ::x a:w\\\n   b\n\\shell  true", "$(echo 6.5 :x a:w b) $(true) v=42"},
		{Simple, "\\shell echo :nope", "! s.sql:1:1: undefined variable \":nope\" in command \"shell\""},
		{Simple, "\\set 1v 3", "! s.sql:1:1: invalid variable name: \"1v\" in command \"set\""},
		{Simple, "\\SET v 3\n\\ set v :v+1", "v=4"},
		{Simple, "\\\n\\set v 3 + \\\n   4", "v=7"},
		{Simple, "\\startpipeline\n", "! s.sql:1:1: cannot use pipeline mode with the simple query protocol in command \"startpipeline\""},
		{Extended, "\\startpipeline\nselect 1;\n\\syncpipeline\n\\set v 1\nselect :v;\n\\endpipeline\nselect 3;", "startpipeline [select 1; []] syncpipeline [select $1; [\"1\"]] endpipeline [select 3; []] v=1"},
		{Extended, "\\startpipeline\n\\startpipeline", "startpipeline ! s.sql:2:1: already in pipeline mode in command \"startpipeline\""},
		{Extended, "\\endpipeline", "! s.sql:1:1: not in pipeline mode in command \"endpipeline\""},
		{Extended, "\\syncpipeline", "! s.sql:1:1: not in pipeline mode in command \"syncpipeline\""},
		{Extended, "\\startpipeline\nselect 1;", "startpipeline [select 1; []] ! s.sql: end of script reached with pipeline open"},
		{Extended, "\\startpipeline\nselect 1 \\gset", "startpipeline ! s.sql:2:1: \\gset is not allowed in pipeline mode in command \"gset\""},
		{Prepared, "\\set v null\n\\set w 2.50\nselect :v, :nope, :w, :scale;", `[select $1, $2, $3, $4; ["NULL" "" "2.5" "1"]] v=NULL`},
		{Simple, "\\set v null\nselect :v, :nope;", `[select NULL, :nope;] v=NULL`},
	} {
		if c.want == "" {
			if _, err := Parse("s.sql", c.text); err == nil {
				t.Errorf("%q parses", c.text)
			}
			continue
		}
		if got := trace(t, c.mode, c.text); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.mode, c.text, got, c.want)
		}
	}
}

func row(columns string, values ...string) Result {
	r := Result{Rows: 1, Columns: strings.Fields(columns)}
	for _, v := range values {
		r.Last = append(r.Last, []byte(v))
	}
	return r
}

func TestResults(t *testing.T) {
	two := row("a", "2")
	two.Rows = 2
	for _, c := range []struct {
		text    string
		results []Result
		want    string // a, p_a, b
	}{
		{"select 1 \\gset", []Result{row("a b", "1", "x")}, "1  x"},
		{"select 1 \\gset p_", []Result{row("a b", "1", "x")}, " 1 "},
		{"select 1 \\; select 2 \\gset", []Result{row("b", "1"), row("a", "2")}, "2  "},
		{"select 1 \\aset", []Result{row("b", "1"), {}, row("a", "2")}, "2  1"},
		{"select 1 \\aset", []Result{two, {Columns: []string{"b"}}}, "2  "},
		{"select 1 \\aset", nil, "  "},
		{"select 1 \\gset", nil, `s.sql:1:1: query 0: expected one row, got 0 in command "gset"`},
		{"select 1 \\gset", []Result{row("a", "1"), {}}, `s.sql:1:1: query 1: expected one row, got 0 in command "gset"`},
		{"select 1 \\gset", []Result{two}, `s.sql:1:1: query 0: expected one row, got 2 in command "gset"`},
		{"select 1 \\gset", []Result{row("?column?", "1")}, `s.sql:1:1: invalid variable name: "?column?" in command "gset"`},
		{"select 1 \\aset", []Result{{Rows: 1, Columns: []string{"a"}}}, `s.sql:1:1: the row has 0 values for 1 columns in command "aset"`},
		{"select 1 \\gset", []Result{row("a a", "1", "2")}, "2  "},
	} {
		m := client(t, Simple, mustParse(t, c.text))
		if _, err := m.Next(); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := m.Results(c.results); err != nil {
			got = err.Error()
		} else {
			a, _ := m.Vars().Text("a")
			p, _ := m.Vars().Text("p_a")
			b, _ := m.Vars().Text("b")
			got = a + " " + p + " " + b
		}
		if got != c.want {
			t.Errorf("%q %v: %s, want %s", c.text, c.results, got, c.want)
		}
	}
}

// TestOrder: what is fed back has to be waited for, and nothing goes on before it is there.
func TestOrder(t *testing.T) {
	m := client(t, Simple, mustParse(t, "select 1 \\gset\n\\setshell v x\nselect 2;"))
	if err := m.Results(nil); err == nil {
		t.Error("results before the query")
	}
	if _, err := m.Next(); err != nil {
		t.Fatal(err)
	}
	if err := m.ShellDone("1", nil); err == nil {
		t.Error("a shell result for a query")
	}
	if _, err := m.Next(); err == nil {
		t.Error("went on without the result")
	}
	if err := m.Results([]Result{row("a", "1")}); err != nil {
		t.Fatal(err)
	}
	if step, err := m.Next(); err != nil || step.Action != RunShell {
		t.Fatal(step, err)
	}
	if err := m.ShellDone("", errors.New("exit status 1")); err == nil || err.Error() != `s.sql:2:1: exit status 1 in command "setshell"` {
		t.Error(err)
	}
	for output, want := range map[string]string{"12x\n": "shell command must return an integer (not \"12x\")", "": "could not read result of shell command"} {
		m.Begin(0)
		m.at = 1
		if _, err := m.Next(); err != nil {
			t.Fatal(err)
		}
		if err := m.ShellDone(output, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", output, err, want)
		}
	}
}

// TestAgain: a transaction that is tried again gets the same random numbers, the next one does not.
func TestAgain(t *testing.T) {
	m := client(t, Simple, mustParse(t, "\\set v random(1, 1000000000)\nselect :v;"))
	draw := func() string {
		step, err := m.Next()
		if err != nil {
			t.Fatal(err)
		}
		return string(step.Text)
	}
	first := draw()
	m.Again()
	if again := draw(); again != first {
		t.Errorf("again %s, at first %s", again, first)
	}
	m.Begin(0)
	if next := draw(); next == first {
		t.Errorf("the next transaction has %s again", next)
	}
}

func TestDebug(t *testing.T) {
	p, err := Link(Simple, mustParse(t, "select 1;"), mustParse(t, "\\set a debug(null)\n\\set a debug(1=1)\n\\set a debug(5)\n\\set a debug(1/3.0)\n\\if 0\n\\elif debug(2)\n\\endif"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	m := p.Machine(Client{Vars: p.NewVars(), Rand: NewRand(1), Debug: &out})
	m.Begin(1)
	if step, err := m.Next(); err != nil || step.Action != EndOfScript || step.Command != 7 {
		t.Fatal(step, err)
	}
	want := "debug(script=1,command=1): null\ndebug(script=1,command=2): boolean true\ndebug(script=1,command=3): int 5\n" +
		"debug(script=1,command=4): double 0.333333333333333\ndebug(script=1,command=6): int 2\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestSharedVariables: scripts of one client share variables, clients do not.
func TestSharedVariables(t *testing.T) {
	p, err := Link(Simple, mustParse(t, "\\set a 1"), mustParse(t, "\\set b 2\n\\set a :a + :b"))
	if err != nil {
		t.Fatal(err)
	}
	vars := p.NewVars()
	if err := vars.SetText("extra", "x"); err != nil {
		t.Fatal(err)
	}
	one := p.Machine(Client{Vars: vars, Rand: NewRand(1)})
	two := p.Machine(Client{Vars: vars.Clone(), Rand: NewRand(1)})
	for _, script := range []int{0, 1} {
		one.Begin(script)
		if _, err := one.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if a, _ := one.Vars().Text("a"); a != "3" {
		t.Errorf("a = %s", a)
	}
	two.Begin(1)
	if _, err := two.Next(); err == nil || !strings.Contains(err.Error(), `s.sql:2:8: undefined variable "a"`) {
		t.Error(err)
	}
	if x, ok := two.Vars().Text("extra"); !ok || x != "x" {
		t.Errorf("extra = %q", x)
	}
	if _, err := two.Vars().Value("none"); err == nil {
		t.Error("a variable that nobody set")
	}
	if err := vars.SetText("a-b", "1"); err == nil {
		t.Error("a-b is a name")
	}
}

func TestLimits(t *testing.T) {
	text := "select 1 -- " + strings.Repeat(":v ", MaxArgs)
	if err := mustParse(t, text).Check(Prepared); err != nil {
		t.Error(err)
	}
	s := mustParse(t, "select 0;\n"+text+" :v")
	if err := s.Check(Simple); err != nil {
		t.Error(err)
	}
	if _, err := Link(Extended, s); err == nil || err.Error() != "s.sql:2:1: statement has too many arguments (maximum is 255)" {
		t.Error(err)
	}
	if _, err := Link(Simple); err == nil {
		t.Error("a program of nothing")
	}
	many := make([]*Script, MaxScripts+1)
	for i := range many {
		many[i] = s
	}
	if _, err := Link(Simple, many...); err == nil {
		t.Error("129 scripts")
	}
	if title := s.Commands[1].Title(); title != text[:127] {
		t.Errorf("title %q", title)
	}
	s = mustParse(t, "\\set a 1 \\\n + 1\r\nselect\n2;\n\\startpipeline\n\\if 1\nselect 3;\n\\endif\nselect 4;\n\\endpipeline\nselect 5;")
	if title := s.Commands[0].Title(); title != "\\set a 1 \\\n + 1" {
		t.Errorf("title %q", title)
	}
	if title, line := s.Commands[1].Title(), s.Commands[1].Line; title != "select" || line != 3 {
		t.Errorf("title %q in line %d", title, line)
	}
	if got := fmt.Sprint(s.Pipeline(2)); got != "[4 6]" {
		t.Errorf("pipeline %s", got)
	}
}
