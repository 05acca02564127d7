package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
)

// textWidth is where the text of an exam is wrapped; commands never are.
const textWidth = 100

// Groups are the checks of an exam in the order of their weight: what fails, what
// warns, what could not be seen, what is in order, what does not arise here.
func (e Exam) Groups() [][]Check {
	var out [][]Check
	for _, s := range []Status{Fail, Warn, Unknown, OK, NotHere} {
		var group []Check
		for _, c := range e.Checks {
			if c.Status == s {
				group = append(group, c)
			}
		}
		if len(group) > 0 {
			out = append(out, group)
		}
	}
	return out
}

// WriteText prints an exam for a person. Checks that found nothing get one line
// each, and those that do not arise one together, unless all is set.
func WriteText(w io.Writer, e Exam, all bool) error {
	var b strings.Builder
	b.WriteString(strings.Join(e.Subject(), "\n") + "\n\n")
	b.WriteString(wrapped(e.Verdict, "", "") + "\n")
	var apart []string
	for _, group := range e.Groups() {
		b.WriteString("\n")
		for _, c := range group {
			switch c.Status {
			case Fail, Warn:
				writeCheck(&b, c)
			case Unknown, OK, NotHere:
				switch {
				case all:
					writeCheck(&b, c)
				case c.Status == NotHere:
					apart = append(apart, c.Title)
				default:
					b.WriteString(wrapped(c.Title+": "+c.Found, label(c.Status), indent) + "\n")
				}
			}
		}
	}
	if len(apart) > 0 {
		b.WriteString(wrapped("does not arise here (--all says why): "+strings.Join(apart, "; "), label(NotHere), indent) + "\n")
	}
	if lines := e.Bill.Lines(textWidth); len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Subject says in a few lines what was examined.
func (e Exam) Subject() []string {
	var parts []string
	h := e.Host
	if h.Hostname != "" {
		parts = append(parts, h.Hostname, h.OS, "kernel "+h.Kernel, fmt.Sprintf("%d CPUs", h.CPUs), probes.Memory(float64(h.MemTotalKB)))
		if h.Virtual != "" {
			parts = append(parts, h.Virtual)
		}
	}
	lines := []string{strings.Join(parts, " · ")}
	if e.Server != "" {
		lines = append(lines, e.Server)
	}
	if h.Hostname == "" {
		lines = lines[1:]
	}
	return append(lines, "looked at "+e.Taken.Format("2006-01-02 15:04:05 MST"))
}

// indent is where a check's texts begin, behind its status.
const indent = "         "

func label(s Status) string {
	return fmt.Sprintf("%-*s", len(indent), strings.ToUpper(string(s)))[:len(indent)]
}

func writeCheck(b *strings.Builder, c Check) {
	b.WriteString(label(c.Status) + c.Title + "\n")
	for _, p := range c.Parts() {
		name := fmt.Sprintf("%s%-9s ", indent, p.Name)
		rest := strings.Repeat(" ", len(name))
		for i, l := range p.Lines {
			if i > 0 {
				name = rest
			}
			if p.Code {
				b.WriteString(name + l + "\n")
				continue
			}
			b.WriteString(wrapped(l, name, rest) + "\n")
		}
	}
	b.WriteString("\n")
}

// Part is one part of a check's text under its name.
type Part struct {
	Name  string
	Lines []string
	Code  bool // to be copied: never wrapped
}

// readFirst says why an undo stands before its fix.
const readFirst = "# read this first: the fix takes memory from the rest of the machine, which may become unreachable"

// Parts are the texts of a check in the order to read them. Where the fix may do
// harm the undo comes first.
func (c Check) Parts() []Part {
	var out []Part
	add := func(name, text string) {
		if text != "" {
			out = append(out, Part{Name: name, Lines: []string{text}})
		}
	}
	add("found", c.Found)
	add("expected", c.Expected)
	add("why", c.Why)
	code := func(name string, lines []string) {
		if len(lines) > 0 {
			out = append(out, Part{Name: name, Lines: lines, Code: true})
		}
	}
	if c.UndoFirst && len(c.Undo) > 0 {
		code("undo", append([]string{readFirst}, c.Undo...))
	}
	code("fix", c.Fix)
	if !c.UndoFirst {
		code("undo", c.Undo)
	}
	if len(c.Fix) > 0 {
		add("takes", string(c.Takes))
	}
	add("from", strings.Join(c.Sources, ", "))
	return out
}

// wrapped breaks a text into lines; the first begins with a head, the others with
// a rest.
func wrapped(text, head, rest string) string {
	lines := strings.Split(ansi.Wordwrap(probes.Clean(text), textWidth-len(head), ""), "\n")
	for i := range lines {
		if i > 0 {
			head = rest
		}
		lines[i] = head + strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Lines are the page bill as a table of at most w columns with its heading; none
// where nothing is known. What does not fit is left out from the right.
func (b Bill) Lines(w int) []string {
	if len(b.Sizes) == 0 {
		return nil
	}
	columns := b.columns()
	table := aligned(columns)
	for len(table[0]) > w && len(columns) > 2 {
		columns = columns[:len(columns)-1]
		table = aligned(columns)
	}
	lines := strings.Split(wrapped("Page bill: page tables once every backend has touched all "+probes.Memory(float64(b.SharedMemoryKB))+" of shared memory (computed)", "", ""), "\n")
	lines = append(lines, table...)
	if b.PageTablesKB != nil {
		lines = append(lines, "measured now: "+probes.Memory(float64(*b.PageTablesKB))+" of page tables in all processes of the server")
	}
	return lines
}

// columns are the columns of the bill, the most wanted first, each with its title.
func (b Bill) columns() [][]string {
	column := func(title string, cell func(BillRow) string) []string {
		out := []string{title}
		for _, r := range b.Sizes {
			out = append(out, cell(r))
		}
		return out
	}
	pool := func(text func(BillRow) string) func(BillRow) string {
		return func(r BillRow) string {
			if r.Pages == 0 {
				return "-"
			}
			return text(r)
		}
	}
	out := [][]string{
		column("pages", func(r BillRow) string { return probes.Memory(float64(r.PageKB)) }),
		column("each backend", func(r BillRow) string { return probes.Memory(r.PerBackendKB) }),
	}
	if b.Backends > 0 {
		out = append(out, column(fmt.Sprintf("%d now", b.Backends), func(r BillRow) string { return probes.Memory(r.NowKB) }))
	}
	return append(out,
		column(fmt.Sprintf("%d (max_connections)", b.MaxConnections), func(r BillRow) string { return probes.Memory(r.MaxKB) }),
		column("pool", pool(func(r BillRow) string {
			return probes.Plural(r.Pages, "page") + ", " + probes.Memory(float64(r.PoolKB))
		})),
		column("unused of it", pool(func(r BillRow) string { return probes.Memory(float64(r.SlackKB)) })))
}

// aligned writes columns beside each other, their cells to the right.
func aligned(columns [][]string) []string {
	out := make([]string, len(columns[0]))
	for i, cells := range columns {
		w := 0
		for _, c := range cells {
			w = max(w, len(c))
		}
		if i > 0 {
			w += 3
		}
		for j, c := range cells {
			out[j] += fmt.Sprintf("%*s", w, c)
		}
	}
	return out
}
