package script

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestParseSpec(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"file", "file 1 <nil>"}, {"file@3", "file 3 <nil>"}, {"a@b@0", "a@b 0 <nil>"}, {"f@ +7", "f 7 <nil>"}, {"@2", " 2 <nil>"},
		{"f@one", " 0 invalid weight specification: @one"}, {"f@", " 0 invalid weight specification: @"}, {"f@-1", " 0 weight specification out of range (0 .. 2147483647): -1"},
		{"f@2147483648", " 0 weight specification out of range (0 .. 2147483647): 2147483648"}, {"f@3x", " 0 invalid weight specification: @3x"},
	} {
		name, weight, err := ParseSpec(c.spec)
		if got := fmt.Sprint(name, " ", weight, " ", err); got != c.want {
			t.Errorf("%s: %s, want %s", c.spec, got, c.want)
		}
	}
	for _, c := range []struct{ define, want string }{
		{"a=1", "a 1 <nil>"}, {"a=b=c", "a b=c <nil>"}, {"a", `  invalid variable definition: "a"`}, {"=1", `  invalid variable definition: "=1"`}, {"a=", `  invalid variable definition: "a="`},
		{"1a=1", `1a 1 invalid variable name: "1a"`}, {"é_1=1", "é_1 1 <nil>"},
	} {
		name, value, err := ParseDefine(c.define)
		if got := fmt.Sprint(name, " ", value, " ", err); got != c.want {
			t.Errorf("%s: %s, want %s", c.define, got, c.want)
		}
	}
	for m := Simple; m <= Prepared; m++ {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("%s: %s, %v", m, got, err)
		}
	}
	if _, err := ParseMode("none"); err == nil {
		t.Error("mode none")
	}
}

func TestChooser(t *testing.T) {
	if _, err := NewChooser(0, 0); err == nil {
		t.Error("weights of 0")
	}
	c, err := NewChooser(1, 0, 6, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRand(3)
	var n [4]int
	const draws = 100_000
	for range draws {
		n[c.Choose(&r)]++
	}
	for i, got := range n { // 5 standard deviations
		if want := c.Share(i) * draws; float64(got) < want-800 || float64(got) > want+800 {
			t.Errorf("script %d: %d of %d, want %.0f", i, got, draws, want)
		}
	}
	if n[1] != 0 {
		t.Errorf("weight 0 was drawn %d times", n[1])
	}
	one, err := NewChooser(5)
	if err != nil {
		t.Fatal(err)
	}
	if before := r; one.Choose(&r) != 0 || r != before {
		t.Error("one script needs no draw")
	}
}

func TestBuiltin(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"t", "tpcb-like"}, {"si", "simple-update"}, {"se", "select-only"}, {"select-only", "select-only"},
		{"s", `ambiguous builtin name: 2 builtin scripts found for prefix "s"`}, {"x", `no builtin script found for name "x"`},
	} {
		b, err := Builtin(c.name)
		if got := b.Name; err == nil && got != c.want || err != nil && err.Error() != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
	for _, b := range Builtins() {
		s, err := Parse(b.Description, b.Text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Link(Prepared, s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBuiltinAsPgbench: the texts are those that pgbench --show-script gives, apart from how numbers are written.
func TestBuiltinAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	for _, b := range Builtins() {
		out, err := exec.Command(ref.pgbench, "--show-script", b.Name).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		want := "-- " + b.Name + ": " + b.Description + "\n" + b.Text
		if got := string(out); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", want, got)
		}
	}
}
