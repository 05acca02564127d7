package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"pgtlb/probes"
	"pgtlb/probes/doctor"
	"pgtlb/workload/trial"
)

// doctorScreen is what the doctor found: the verdict, the checks, and all about
// the selected one.
type doctorScreen struct {
	plainOverlay
	at   int  // the selected line; 0 is the page bill where there is one
	open bool // the selected one takes the whole screen
	line int  // its first line shown
}

// newDoctorScreen has the doctor look anew.
func newDoctorScreen(m *Model) *doctorScreen {
	m.engine.Do(trial.Examine{})
	return &doctorScreen{}
}

// entry of the list: a check, or the page bill.
type doctorEntry struct {
	sign, title, found string
	st                 style
	check              *doctor.Check
}

// doctorEntries are the checks, those with findings first; the page bill is the
// first where it is known.
func doctorEntries(e *doctor.Exam) []doctorEntry {
	var out []doctorEntry
	if len(e.Bill.Sizes) > 0 {
		out = append(out, doctorEntry{sign: "bill", title: "Page bill", found: billText(e.Bill), st: stTitle})
	}
	for _, group := range e.Groups() {
		for _, c := range group {
			out = append(out, doctorEntry{string(c.Status), clean(c.Title), clean(c.Found), checkStyle(c.Status), &c})
		}
	}
	return out
}

// billText is the bill in a line: ordinary pages against the smallest huge ones.
func billText(b doctor.Bill) string {
	first := b.Sizes[0]
	text := probes.Memory(float64(first.PageKB)) + " pages at max_connections: " + probes.Memory(first.MaxKB)
	if len(b.Sizes) > 1 {
		text += fmt.Sprintf("; %s: %s", probes.Memory(float64(b.Sizes[1].PageKB)), probes.Memory(b.Sizes[1].MaxKB))
	}
	return text
}

func checkStyle(s doctor.Status) style {
	switch s {
	case doctor.Fail:
		return stBad
	case doctor.Warn:
		return stWarn
	case doctor.OK:
		return stGood
	case doctor.Unknown, doctor.NotHere:
	}
	return stDim
}

// found is what there is to show; nil before the doctor has looked.
func (d *doctorScreen) found(m *Model) (*trial.Examined, []doctorEntry) {
	x := m.st.Examined
	if x == nil || x.Exam == nil {
		return x, nil
	}
	return x, doctorEntries(x.Exam)
}

// places are where the list and the selected check go; one of them may be empty.
func (d *doctorScreen) places(m *Model, entries int) (list, detail rect) {
	l := arrange(m.w, m.h, len(m.notices.lines(m.w, m.h)), 0, warned(m.shown()))
	body := rect{0, l.header, m.w, l.notes - l.header}
	switch {
	case d.open:
		return rect{}, body
	case body.h < 18:
		return body, rect{}
	}
	top := min(entries+5, max(9, body.h*45/100))
	return rect{0, body.y, m.w, top}, rect{0, body.y + top, m.w, body.h - top}
}

func (d *doctorScreen) draw(c *canvas, m *Model) {
	x, entries := d.found(m)
	list, detail := d.places(m, len(entries))
	for _, r := range []rect{list, detail, {0, c.h - 1, c.w, 1}} {
		c.fill(r, " ", stPlain)
	}
	drawHints(c, c.h-1, d.hints())
	if len(entries) == 0 {
		text := para{"Looking at the machine and the server …", stDim}
		if x != nil && x.Err != "" {
			text = para{x.Err, stBad}
		}
		in := part(c, list, true, []fig{{"Doctor", stTitle, 0}}, nil)
		drawParas(c, in, lines([]para{text}, in.w), 0)
		return
	}
	if list.h > 0 {
		d.drawList(c, list, x, entries)
	}
	if detail.h > 0 {
		d.drawDetail(c, detail, x.Exam, entries[min(d.at, len(entries)-1)])
	}
}

// drawList draws the verdict and the list, scrolled so that the selected line is
// in sight.
func (d *doctorScreen) drawList(c *canvas, r rect, x *trial.Examined, entries []doctorEntry) {
	var left []fig
	left = append(left, fig{"Doctor", stTitle, 0})
	for _, s := range []doctor.Status{doctor.Fail, doctor.Warn, doctor.Unknown, doctor.OK} {
		n := 0
		for _, c := range x.Exam.Checks {
			if c.Status == s {
				n++
			}
		}
		if n > 0 {
			left = append(left, fig{fmt.Sprintf("%d %s", n, s), checkStyle(s), 1})
		}
	}
	when := "looked at " + x.Exam.Taken.Format("15:04:05")
	if x.Looking {
		when = "looking again …"
	}
	in := part(c, r, true, left, []fig{{when, stDim, 0}})
	head := lines([]para{{x.Exam.Verdict, stValue}}, in.w)
	if x.Err != "" {
		head = lines([]para{{x.Err, stBad}}, in.w)
	}
	head = head[:min(len(head), max(1, in.h/3))]
	drawParas(c, rect{in.x, in.y, in.w, len(head)}, head, 0)
	in.y, in.h = in.y+len(head), in.h-len(head)
	const signW = 8
	titleW := min(34, in.w/2)
	first := min(max(0, d.at-in.h/2), max(0, len(entries)-in.h))
	for i := 0; i < in.h && first+i < len(entries); i++ {
		e, y := entries[first+i], in.y+i
		c.text(in.x, y, signW-1, e.sign, e.st)
		title := stPlain
		if e.st == stDim {
			title = stDim
		}
		c.text(in.x+signW, y, titleW, truncate(e.title, titleW), title)
		at := in.x + signW + titleW + 2
		c.text(at, y, max(0, in.x+in.w-at), truncate(e.found, in.x+in.w-at), stDim)
		if first+i == min(d.at, len(entries)-1) {
			c.restyle(rect{in.x - 1, y, in.w + 2, 1}, mark)
		}
	}
	if rest := len(entries) - first - in.h; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, fmt.Sprintf(" %d more ↓ ", rest), stDim)
	}
}

// drawDetail draws all about one line of the list.
func (d *doctorScreen) drawDetail(c *canvas, r rect, e *doctor.Exam, en doctorEntry) {
	in := part(c, r, d.open, []fig{{en.title, stTitle, 0}}, []fig{{en.sign, en.st, 0}})
	list := detailLines(e, en, in.w)
	first := max(0, min(d.line, len(list)-in.h))
	drawParas(c, in, list, first)
	if rest := len(list) - first - in.h; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, fmt.Sprintf(" %d more: pgdn ↓ ", rest), stDim)
	}
}

// detailLines are the texts of a check, wrapped, with its commands as they are to
// be typed; or the page bill.
func detailLines(e *doctor.Exam, en doctorEntry, w int) []para {
	var out []para
	if en.check == nil {
		for _, l := range e.Bill.Lines(w) {
			for _, part := range codeLines(l, w) {
				out = append(out, para{part, stPlain})
			}
		}
		return out
	}
	const nameW = 10
	for _, p := range en.check.Parts() {
		name := p.Name
		for _, l := range p.Lines {
			var rows []string
			if p.Code {
				rows = commandLines(l, w-nameW)
			} else {
				rows = wrap(clean(l), w-nameW, 100)
			}
			for _, row := range rows {
				st := stPlain
				if p.Code {
					st = stValue
				}
				out = append(out, para{name + strings.Repeat(" ", nameW-len(name)) + row, st})
				name = ""
			}
		}
	}
	return out
}

// commandLines breaks a command between its words, as a shell takes it: a line that
// goes on ends in a backslash. A comment behind it gets a line of its own.
func commandLines(line string, w int) []string {
	line = clean(line)
	if ansi.StringWidth(line) <= w || strings.HasPrefix(line, " ") { // YAML keeps its indentation
		return codeLines(line, w)
	}
	if text, ok := strings.CutPrefix(line, "# "); ok {
		rows := wrap(text, w-2, 100)
		for i := range rows {
			rows[i] = "# " + rows[i]
		}
		return rows
	}
	command, comment, behind := strings.Cut(line, "   # ")
	var out []string
	now := ""
	for _, word := range shellWords(command) {
		if now != "" && ansi.StringWidth(now)+1+ansi.StringWidth(word)+2 > w {
			out = append(out, codeLines(now+` \`, w)...)
			now = "  " + word
			continue
		}
		if now != "" {
			word = now + " " + word
		}
		now = word
	}
	out = append(out, codeLines(now, w)...)
	if behind {
		out = append(out, commandLines("# "+comment, w)...)
	}
	return out
}

// shellWords takes a command apart at the blanks that are outside of quotes.
func shellWords(command string) []string {
	var out []string
	begin, quote := 0, byte(0)
	for i := range len(command) {
		switch c := command[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ':
			out = append(out, command[begin:i])
			begin = i + 1
		}
	}
	return append(out, command[begin:])
}

// hints are the keys that do something here.
func (d *doctorScreen) hints() []hint {
	if d.open {
		return []hint{{"↑↓", "scroll", 1}, {"esc", "list", 0}}
	}
	return []hint{{"↑↓", "select", 1}, {"enter", "open", 1}, {"pgdn", "read on", 2}, {"r", "look again", 1}, {"esc", "close", 0}}
}

func (d *doctorScreen) key(m *Model, k string) (overlay, tea.Cmd) {
	switch k {
	case "esc", "left", "q", "d":
		if d.open {
			d.open, d.line = false, 0
			return d, nil
		}
		return nil, nil
	case "r":
		m.engine.Do(trial.Examine{})
		return d, nil
	}
	x, entries := d.found(m)
	if len(entries) == 0 {
		return d, nil
	}
	last := len(entries) - 1
	d.at = min(d.at, last) // a new look may have found less
	switch {
	case k == "enter" || k == "right":
		d.open, d.line = true, 0
	case d.open || k == "pgdown" || k == "pgup" || k == "space":
		_, detail := d.places(m, len(entries))
		in := detail.inner()
		d.line = scroll(d.line, k, len(detailLines(x.Exam, entries[d.at], in.w-2)), max(1, in.h))
	case k == "up" || k == "k":
		d.at, d.line = max(0, d.at-1), 0
	case k == "down" || k == "j":
		d.at, d.line = min(last, d.at+1), 0
	case k == "home":
		d.at, d.line = 0, 0
	case k == "end":
		d.at, d.line = last, 0
	}
	return d, nil
}
