package script

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of this file run the installed pgbench and this package on the same input.

var defines = []string{"foo=-10.1", "bla=false", "i=+3", "n=null", "t=t", "f=of", "d=1.0", "ye=YE", "inf=inf", "nan=NaN", "hex=0x10", "sp= 7", "e=1e3", "neg=-5", "zero=0"}

func defineOptions() []string {
	options := []string{"-t", "1", "--random-seed=42"}
	for _, d := range defines {
		options = append(options, "-D", d)
	}
	return options
}

// grid is every operator and function over operands of every type and edge.
func grid() []string {
	operands := []string{"null", "true", "false", "0", "1", "-1", "7", "-7", "64", "2.5", "-2.5", "0.0", "1e308", "1e19", "0.0/0", "9223372036854775807", "-9223372036854775808",
		"4611686018427387904", "-3037000500", "3037000500", ":n", ":t", ":i", ":foo", ":inf", ":nope"}
	var list []string
	for _, a := range operands {
		for _, f := range []string{"-(%s)", "+(%s)", "~(%s)", "not (%s)", "(%s) is null", "(%s) is not null", "(%s) isnull", "(%s) notnull", "(%s) is true", "(%s) is not true", "(%s) is false", "(%s) is not false",
			"debug(%s)", "double(%s)", "exp(%s)", "int(%s)", "ln(%s)", "sqrt(%s)", "hash(%s)", "hash_fnv1a(%s)", "hash_murmur2(%s)", "case when %s then 1 else 2 end", "case when true then %s end",
			"greatest(%s)", "least(%s)", "random(1, %s)", "random_gaussian(1, 100, %s)", "random_exponential(1, 100, %s)", "random_zipfian(1, 100, %s)", "permute(3, %s)"} {
			list = append(list, fmt.Sprintf(f, a))
		}
		if a != "true" && a != "false" && a != ":t" { // there pgbench reads an undefined number
			list = append(list, "abs("+a+")")
		}
		for _, b := range operands {
			for _, op := range []string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "!=", "&", "|", "#", "<<", ">>", "and", "or"} {
				list = append(list, "("+a+") "+op+" ("+b+")")
			}
			for _, f := range []string{"mod", "pow", "least", "greatest", "random", "hash", "permute"} {
				list = append(list, f+"("+a+", "+b+")")
			}
		}
	}
	return list
}

// wild makes expressions of random tokens in the grammar, without parentheses for the most part: their values depend on
// precedence.
func wild(r *rand.Rand, depth int) string {
	binary := []string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "!=", "&", "|", "#", "<<", ">>", "and", "or", "+", "-", "*", "|", "and", "or"}
	atoms := []string{"0", "1", "2", "3", "5", "11", "-4", "2.5", ".5", "1e2", "true", "false", "null", ":i", ":t", ":f", ":neg", ":zero", "random(1,9)", "hash(3)", "pi()"}
	if depth <= 0 || r.IntN(5) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	sub := func() string { return wild(r, depth-1) }
	switch r.IntN(16) {
	case 0:
		return "not " + sub()
	case 1:
		return "- " + sub()
	case 2:
		return "~ " + sub()
	case 3:
		return sub() + []string{" is null", " is not null", " isnull", " notnull", " is true", " is not false"}[r.IntN(6)]
	case 4:
		return "(" + sub() + ")"
	case 5:
		return "case when " + sub() + " then " + sub() + " when " + sub() + " then " + sub() + " else " + sub() + " end"
	case 6:
		return []string{"abs", "int", "double", "sqrt", "debug", "least", "greatest"}[r.IntN(7)] + "(" + sub() + ")"
	case 7:
		return "+ " + sub()
	}
	return sub() + " " + binary[r.IntN(len(binary))] + " " + sub()
}

// undefined tells whether pgbench has no defined value: abs of a boolean reads another number's bits, and with NaN or
// infinity as their parameter the random functions give nonsense or do not come back.
func undefined(e string, err error) bool {
	if strings.Contains(e, "abs(") {
		return err != nil && strings.Contains(err.Error(), "coerce boolean to double")
	}
	return strings.HasPrefix(e, "random_") && (strings.Contains(e, "0.0/0") || strings.Contains(e, ":inf"))
}

// sorted splits expressions into those that have a value here, those whose evaluation fails, and those that do not
// parse.
func sorted(t *testing.T, list []string) (good, bad, wrong []string) {
	t.Helper()
	for _, e := range list {
		if _, err := Parse("s.sql", `\set v `+e); err != nil {
			wrong = append(wrong, e)
		} else if _, err := evaluate(t, e, defines...); undefined(e, err) {
			continue
		} else if err != nil {
			bad = append(bad, e)
		} else {
			good = append(good, e)
		}
	}
	return good, bad, wrong
}

func wildList(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	var list []string
	for range n {
		list = append(list, wild(r, 4))
	}
	return list
}

// TestValuesAsPgbench runs one script in pgbench and here. It stores each value in a table of its own; the rows have to
// be the same, those of the random functions too.
func TestValuesAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	good, _, _ := sorted(t, append(grid(), wildList(3000)...))
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 { // the last digits of the functions of real numbers
		x := r.NormFloat64() * 20
		good = append(good, fmt.Sprintf("exp(%.17g)", x), fmt.Sprintf("ln(%.17g)", x*x), fmt.Sprintf("pow(%.17g, %.17g)", x*x, r.NormFloat64()*30), fmt.Sprintf("sqrt(%.17g)", x*x))
	}
	for range 500 {
		good = append(good, "random(-5000, 5000)", "random(1, 9223372036854775807)", "random_exponential(1, 100000, 2.5)", "random_gaussian(-10, 100000, 4)", "random_zipfian(1, 1000000, 1.07)", "random_zipfian(5, 50, 3)",
			fmt.Sprintf("permute(%d, %d)", r.Int64N(1e6), 1+r.Int64N(1e6)), fmt.Sprintf("hash(%d)", int64(r.Uint64())), fmt.Sprintf("hash_fnv1a(%d, %d)", int64(r.Uint64()>>1), r.Int64()))
	}
	if len(good) < 15000 {
		t.Fatalf("only %d expressions", len(good))
	}
	conn := ref.connect(t)
	for _, sql := range []string{"create table theirs (n int, v text)", "create table ours (n int, v text)"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	// in parts: for each command pgbench takes the length of all of the script before it
	const part = 2000
	for first := 0; first < len(good); first += part {
		text := storing(good[first:min(first+part, len(good))], first)
		if lines, code := ref.run(t, text, append(defineOptions(), "-D", "table=theirs")...); code != 0 {
			t.Fatalf("pgbench: %s", lines[max(0, len(lines)-5):])
		}
		m := client(t, Simple, mustParse(t, text), append([]string{"table=ours"}, defines...)...)
		for step := range steps(t, m) {
			if _, err := conn.Exec(t.Context(), string(step.Text)); err != nil {
				t.Fatalf("%s: %v", step.Text, err)
			}
		}
	}
	rows, err := conn.Query(t.Context(), "select n, o.v, t.v from ours o full join theirs t using (n) where o.v is distinct from t.v order by n limit 40")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var ours, theirs *string
		if err := rows.Scan(&n, &ours, &theirs); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: %s, pgbench has %s", good[n], deref(ours), deref(theirs))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d values compared", len(good))
}

// storing is a script that writes the values of expressions into the table :table, numbered from first.
func storing(list []string, first int) string {
	var text, rows strings.Builder
	text.WriteString("begin;\n")
	for i, e := range list {
		fmt.Fprintf(&text, "\\set v%d %s\n", i%20, e)
		fmt.Fprintf(&rows, ", (%d, ':v%d')", first+i, i%20)
		if i%20 == 19 || i == len(list)-1 {
			fmt.Fprintf(&text, "insert into :table values %s;\n", rows.String()[2:])
			rows.Reset()
		}
	}
	text.WriteString("commit;\n")
	return text.String()
}

// steps runs a machine to the end of its script.
func steps(t *testing.T, m *Machine) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for {
			step, err := m.Next()
			if err != nil {
				t.Fatal(err)
			}
			if step.Action == EndOfScript || !yield(step) {
				return
			}
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "nothing"
	}
	return *s
}

// TestErrorsAsPgbench compares the messages of evaluations that fail. Each is a client of its own, since an error ends
// a client.
func TestErrorsAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	_, bad, _ := sorted(t, append(grid(), wildList(3000)...))
	// the random functions draw from another client's numbers there
	bad = keep(bad, func(e string) bool { return !strings.Contains(e, "random(1,9)") })
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(bad), func(i, j int) { bad[i], bad[j] = bad[j], bad[i] })
	// of each message a few
	seen := map[string]int{}
	bad = keep(bad, func(e string) bool {
		_, err := evaluate(t, e, defines...)
		message := strings.TrimRight(err.(*Error).Message, "0123456789.)")
		seen[message]++
		return seen[message] <= 12
	})
	const clients = 70
	compared := 0
	for len(bad) > 0 {
		batch := bad[:min(clients, len(bad))]
		bad = bad[len(batch):]
		var text strings.Builder
		for i, e := range batch {
			fmt.Fprintf(&text, "\\if :client_id = %d\n\\set v %s\n\\endif\n", i, e)
		}
		lines, code := ref.run(t, text.String(), append(defineOptions(), "-c", fmt.Sprint(len(batch)))...)
		if code != 2 {
			t.Fatalf("exit code %d: %s", code, lines)
		}
		message := ""
		for _, line := range lines {
			var id int
			if _, err := fmt.Sscanf(line, "client %d aborted in command", &id); err != nil {
				message = line
				continue
			}
			_, err := evaluate(t, batch[id], defines...)
			if e, ok := err.(*Error); !ok || e.Message != message {
				t.Errorf("%s: %v, pgbench says %s", batch[id], err, message)
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("only %d compared", compared)
	}
	t.Logf("%d errors compared", compared)
}

func keep(list []string, want func(string) bool) []string {
	var kept []string
	for _, s := range list {
		if want(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// TestSeedsAsPgbench: with the same seed every client draws its own numbers of pgbench, and the same scripts are
// chosen.
func TestSeedsAsPgbench(t *testing.T) {
	ref := needPgbench(t)
	conn := ref.connect(t)
	if _, err := conn.Exec(t.Context(), "create table drawn (n serial, what text)"); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		var all string
		if err := conn.QueryRow(t.Context(), "select coalesce(string_agg(what, ',' order by n), '') from drawn").Scan(&all); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "delete from drawn"); err != nil {
			t.Fatal(err)
		}
		return all
	}
	const count = 3
	text := "\\set v random(1, 1000000000)\ninsert into drawn values (:client_id, ':v :default_seed :random_seed');\n"
	if lines, code := ref.run(t, text, "-t", "1", "-c", fmt.Sprint(count), "--random-seed=42"); code != 0 {
		t.Fatal(lines)
	}
	seeds := NewSeeds(42)
	var draws []int64
	for range count {
		r := seeds.Rand()
		draws = append(draws, r.uniform(1, 1000000000))
	}
	hashSeed := int64(seeds.Uint64())
	var want []string
	for _, d := range draws {
		want = append(want, fmt.Sprintf("%d %d 42", d, hashSeed))
	}
	if got := read(); got != strings.Join(want, ",") {
		t.Errorf("pgbench draws %s, here %s", got, want)
	}

	second := filepath.Join(t.TempDir(), "two.sql")
	if err := os.WriteFile(second, []byte("insert into drawn (what) values ('b');"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines, code := ref.run(t, "insert into drawn (what) values ('a');", "-t", "60", "--random-seed=42", "-f", second+"@3"); code != 0 {
		t.Fatal(lines)
	}
	seeds = NewSeeds(42)
	seeds.Rand()
	seeds.Uint64()
	choice := seeds.Rand()
	chooser, err := NewChooser(3, 1) // run puts its own script behind the options
	if err != nil {
		t.Fatal(err)
	}
	want = nil
	for range 60 {
		want = append(want, [...]string{"b", "a"}[chooser.Choose(&choice)])
	}
	if got := read(); got != strings.Join(want, ",") {
		t.Errorf("pgbench chooses %s, here %s", got, want)
	}
}
