package doctor

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

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
	if lines := e.Bill.Lines(); len(lines) > 0 {
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
	if c.UndoFirst {
		code("undo", c.Undo)
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

// Lines are the page bill as a table with its heading; none where nothing is known.
func (b Bill) Lines() []string {
	if len(b.Sizes) == 0 {
		return nil
	}
	var s strings.Builder
	t := tabwriter.NewWriter(&s, 0, 0, 3, ' ', tabwriter.AlignRight)
	head := "pages\teach backend"
	if b.Backends > 0 {
		head += fmt.Sprintf("\tnow (%d)", b.Backends)
	}
	_, _ = fmt.Fprintf(t, "%s\tmax_connections (%d)\tpool\tunused of it\t\n", head, b.MaxConnections)
	mem := func(kb float64) string { return probes.Memory(kb) }
	for _, r := range b.Sizes {
		row := mem(float64(r.PageKB)) + "\t" + mem(r.PerBackendKB)
		if b.Backends > 0 {
			row += "\t" + mem(r.NowKB)
		}
		pool, slack := "-", "-"
		if r.Pages > 0 {
			pool, slack = fmt.Sprintf("%d pages, %s", r.Pages, mem(float64(r.PoolKB))), mem(float64(r.SlackKB))
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", row, mem(r.MaxKB), pool, slack)
	}
	_ = t.Flush() // into memory
	lines := []string{"Page bill: page tables once every backend has touched all " + mem(float64(b.SharedMemoryKB)) + " of shared memory (computed)"}
	for l := range strings.Lines(s.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	if b.PageTablesKB != nil {
		lines = append(lines, "measured now: "+mem(float64(*b.PageTablesKB))+" of page tables in all processes of the server")
	}
	return lines
}
