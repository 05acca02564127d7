package script

import (
	"strings"
	"testing"
)

// FuzzParse: any text either parses or gives an error with a spot inside of it, and what parses runs to an end.
func FuzzParse(f *testing.F) {
	for _, c := range faulty {
		f.Add(c.text)
	}
	for _, c := range splits {
		f.Add(c.text)
	}
	for _, b := range Builtins() {
		f.Add(b.Text)
	}
	f.Add("\\if random(0, 1) = 1\nselect 1 \\gset a_\n\\else\n\\shell echo :a_b\n\\sleep :x ms\n\\startpipeline\n\\endpipeline\n\\endif\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f", text)
		if err != nil {
			checkSpot(t, text, err)
			return
		}
		pieces := 0
		for i := range s.Commands {
			c := &s.Commands[i]
			if c.Line < 1 || c.Line > 1+strings.Count(text, "\n") {
				t.Errorf("line %d", c.Line)
			}
			if c.Title() == "" || c.Kind == SQLCommand && c.SQL.Text == "" {
				t.Errorf("command %d is empty", i)
			}
			if c.SQL != nil {
				joined := ""
				for _, p := range c.SQL.pieces {
					joined += p.text
				}
				if joined != c.SQL.Text {
					t.Errorf("pieces %q of %q", joined, c.SQL.Text)
				}
				pieces += len(c.SQL.pieces)
			}
		}
		for mode := Simple; mode <= Prepared; mode++ {
			drive(t, text, mode, s)
		}
	})
}

// checkSpot: the error is one of ours, with a position inside of the text.
func checkSpot(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	if e.Line > 1+strings.Count(text, "\n") || e.Column > len(text)+1 || e.Line > 0 && !strings.Contains(text, e.Text) {
		t.Errorf("%v, text %q", e, e.Text)
	}
	if e.Line > 0 && e.Column > 0 && !strings.HasSuffix(e.Spot(), "^ error found here") {
		t.Errorf("spot %q", e.Spot())
	}
}

// drive runs a script to its end; no script loops.
func drive(t *testing.T, text string, mode Mode, s *Script) {
	t.Helper()
	p, err := Link(mode, s)
	if err != nil {
		checkSpot(t, text, err)
		return
	}
	vars := p.NewVars()
	if err := vars.SetText("x", " 12"); err != nil {
		t.Fatal(err)
	}
	m := p.Machine(Client{Mode: mode, Vars: vars, Rand: NewRand(1)})
	m.Begin(0)
	for range len(s.Commands) + 1 {
		step, err := m.Next()
		switch {
		case err != nil:
			checkSpot(t, text, err)
			return
		case step.Action == EndOfScript:
			return
		case step.Action == RunShell:
			err = m.ShellDone("3\n", nil)
		case step.Action == SendSQL && step.SQL.Store != StoreNone:
			err = m.Results([]Result{{Rows: 1, Columns: []string{"b"}, Last: [][]byte{[]byte("1e2")}}})
		case step.Action == SleepFor && step.Delay < 0:
			t.Errorf("sleep %s", step.Delay)
		}
		if err != nil {
			checkSpot(t, text, err)
			return
		}
	}
	t.Error("no end")
}

// FuzzExpression: any expression is an error or a value whose text reads as the same value again.
func FuzzExpression(f *testing.F) {
	for _, e := range wildList(200) {
		f.Add(e)
	}
	for _, e := range grid()[:400] {
		f.Add(e)
	}
	f.Add("random_zipfian(1, 9223372036854775807, 1.001) + random_gaussian(-5, 5, 1e300) + random_exponential(0, 9223372036854775806, 1e-300)")
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse("f", `\set v `+expr)
		if err != nil {
			checkSpot(t, `\set v `+expr, err)
			return
		}
		m := client(t, Simple, s, defines...)
		for {
			step, err := m.Next()
			if err != nil {
				checkSpot(t, `\set v `+expr, err)
				return
			}
			if step.Action == EndOfScript {
				break
			}
			if step.Action == RunShell || step.SQL != nil && step.SQL.Store != StoreNone {
				return
			}
		}
		v, err := m.Vars().Value("v")
		if err != nil {
			t.Skip("the script does not come to its \\set")
		}
		again, err := readValue(v.String())
		if err != nil && v.kind == Double && v.double() > 1e300 {
			return // rounded to 15 digits it can be beyond the largest double
		}
		if err != nil || again.String() != v.String() {
			if d := v.double(); v.kind == Double && d < 0x1p-1022 && d > -0x1p-1022 {
				return // reading reports what is below the normal range
			}
			t.Errorf("%s reads as %s (%v)", v, again, err)
		}
	})
}
