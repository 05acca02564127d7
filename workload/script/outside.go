package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// sleep is the delay of a \sleep; a negative one is none.
func (m *Machine) sleep(c *Command) (time.Duration, error) {
	a := &c.args[0]
	text := a.text
	if a.ref >= 0 {
		x := m.variable(a.ref)
		name := strings.TrimPrefix(a.text, ":")
		if !x.set() {
			return 0, fmt.Errorf("undefined variable %q", name)
		}
		text = string(x.append(nil))
		if leadingInt(text) == 0 && (text == "" || !isDigit(text[0])) {
			return 0, fmt.Errorf("invalid sleep time %q for variable %q", text, name)
		}
	}
	n := max(leadingInt(text), 0)
	if n > math.MaxInt64/c.unit/int64(time.Microsecond) {
		return 0, fmt.Errorf("sleep time %q is out of range", text)
	}
	return time.Duration(n*c.unit) * time.Microsecond, nil
}

// leadingInt is the number at the beginning of a text, 0 where there is none, as C's atoi has it.
func leadingInt(text string) int64 {
	n, _ := splitInt(text)
	return n
}

// splitInt reads a number at the beginning of a text, and what follows it. Too large a number is the largest.
func splitInt(text string) (int64, string) {
	body := strings.TrimLeftFunc(text, isSpaceRune)
	sign := 0
	if body != "" && (body[0] == '-' || body[0] == '+') {
		sign = 1
	}
	digits := len(body) - sign - len(strings.TrimLeft(body[sign:], "0123456789"))
	if digits == 0 {
		return 0, text
	}
	n, err := strconv.ParseInt(body[:sign+digits], 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, text
	}
	return n, body[sign+digits:]
}

// shell joins the words of a \shell or \setshell.
func (m *Machine) shell(c *Command, step *Step) error {
	m.text = m.text[:0]
	for i := range c.args {
		if i > 0 {
			m.text = append(m.text, ' ')
		}
		if !m.piece(&c.args[i]) {
			return fmt.Errorf("undefined variable %q", c.args[i].text)
		}
	}
	step.Text = m.text
	m.waiting = RunShell
	return nil
}

// maxShellLine is how much of its output \setshell looks at.
const maxShellLine = 63

// ShellDone takes the result of RunShell: an error where the command could not be started or its exit code is not 0
// (the latter \setshell lets pass, as pgbench does: give nil), and what it wrote to its standard output. \setshell
// stores the number that the first line consists of.
func (m *Machine) ShellDone(output string, err error) error {
	if m.waiting != RunShell {
		return errors.New("no shell command is being waited for")
	}
	m.waiting = EndOfScript
	c := &m.script.Commands[m.scope.command]
	if err == nil && c.Kind == SetShellCommand {
		err = m.setShell(c, output)
	}
	if err != nil {
		return m.fail(err)
	}
	return nil
}

func (m *Machine) setShell(c *Command, output string) error {
	if output == "" {
		return errors.New("could not read result of shell command")
	}
	line := output[:min(len(output), maxShellLine)]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end+1]
	}
	n, rest := splitInt(line)
	if rest = strings.TrimLeftFunc(rest, isSpaceRune); rest != "" {
		return fmt.Errorf("shell command must return an integer (not %q)", strings.TrimRight(line, "\n"))
	}
	return m.scope.vars.Set(c.name, IntValue(n))
}

// Result is the answer to one statement.
type Result struct {
	Rows    int      // 0 where the statement returns none
	Columns []string // nil where the statement returns no rows at all, not even none of them
	Last    [][]byte // the last row as text; a null is the empty text
}

// Results takes the answers to a SendSQL whose SQL.Store is not StoreNone, one for each statement.
func (m *Machine) Results(results []Result) error {
	if m.waiting != SendSQL {
		return errors.New("no results are being waited for")
	}
	m.waiting = EndOfScript
	q := m.script.Commands[m.scope.command].SQL
	if q.Store == StoreLast {
		last := max(len(results)-1, 0)
		rows := 0
		if len(results) > 0 {
			rows = results[last].Rows
		}
		if rows != 1 {
			return m.fail(fmt.Errorf("query %d: expected one row, got %d", last, rows))
		}
		results = results[last:]
	}
	for _, r := range results {
		if r.Rows == 0 {
			continue
		}
		if err := m.store(q.Prefix, r); err != nil {
			return m.fail(err)
		}
	}
	return nil
}

func (m *Machine) store(prefix string, r Result) error {
	if len(r.Last) != len(r.Columns) {
		return fmt.Errorf("the row has %d values for %d columns", len(r.Last), len(r.Columns))
	}
	for i, column := range r.Columns {
		if err := m.scope.vars.SetText(prefix+column, string(r.Last[i])); err != nil {
			return err
		}
	}
	return nil
}
