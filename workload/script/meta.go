package script

import (
	"strings"
)

// maxWords is pgbench's bound on the words of a backslash command, its name included.
const maxWords = 256

var metaCommands = map[string]CommandKind{
	"set": SetCommand, "setshell": SetShellCommand, "shell": ShellCommand, "sleep": SleepCommand,
	"if": IfCommand, "elif": ElifCommand, "else": ElseCommand, "endif": EndifCommand,
	"startpipeline": StartPipelineCommand, "syncpipeline": SyncPipelineCommand, "endpipeline": EndPipelineCommand,
}

// word is a word of a backslash command with its offset.
type word struct {
	text string
	pos  int
}

// metaParser reads one backslash command.
type metaParser struct {
	*parser
	start int // of the backslash
	pos   int
	name  word
}

// backslash reads the command behind the backslash that the SQL scanner stopped at, up to the end of its line.
func (p *parser) backslash() error {
	m := &metaParser{parser: p, start: p.sql.pos - 1, pos: p.sql.pos}
	var ok bool
	if m.name, ok = m.word(); !ok {
		p.sql.pos = m.pos
		return nil
	}
	c := Command{Line: p.line(m.start), pos: m.start}
	low := lower(m.name.text)
	var err error
	if c.Kind, ok = metaCommands[low]; ok && (c.Kind == SetCommand || c.Kind == IfCommand || c.Kind == ElifCommand) {
		err = m.expression(&c)
	} else {
		err = m.plain(&c, low, ok)
	}
	if err != nil {
		return err
	}
	p.sql.pos = m.pos
	if low == "gset" || low == "aset" {
		return nil
	}
	c.text = strings.TrimRight(p.src.text[m.start:m.pos], "\r\n")
	p.Commands = append(p.Commands, c)
	return nil
}

// word is the next word of the line; a line that ends in a backslash goes on. At the end of the command it passes the
// newline.
func (m *metaParser) word() (word, bool) {
	text := m.src.text
	m.pos = skipBlanks(text, m.pos)
	start := m.pos
	for m.pos < len(text) && !isSpace(text[m.pos]) && continuation(text, m.pos) == 0 {
		m.pos++
	}
	if m.pos > start {
		return word{text[start:m.pos], start}, true
	}
	if m.pos < len(text) {
		m.pos++
	}
	return word{}, false
}

func (m *metaParser) words() []word {
	var list []word
	for {
		w, ok := m.word()
		if !ok {
			return list
		}
		list = append(list, w)
	}
}

// fault is an error at an offset; at the backslash where pgbench names no column.
func (m *metaParser) fault(pos int, message string) error {
	return m.src.fault(pos, m.name.text, message)
}

func (m *metaParser) expression(c *Command) (err error) {
	if c.Kind == SetCommand {
		w, ok := m.word()
		if !ok {
			return m.fault(m.start, "missing argument")
		}
		c.name, c.ref = w.text, -1 // a name that is not valid is an error when it runs
		if validName(w.text) {
			c.ref = m.names.add(w.text)
		}
	}
	c.expr, m.pos, err = parseExpr(&m.src, m.names, m.pos, m.name.text)
	return err
}

// plain reads the commands that are made of words.
func (m *metaParser) plain(c *Command, name string, known bool) error {
	args := m.words()
	switch {
	case len(args) >= maxWords:
		return m.fault(m.start, "too many arguments")
	case name == "gset", name == "aset":
		return m.store(name, args)
	case !known:
		return m.fault(m.start, "invalid command")
	case c.Kind == SleepCommand:
		return m.sleep(c, args)
	case c.Kind == ShellCommand:
		if len(args) < 1 {
			return m.fault(m.start, "missing command")
		}
	case c.Kind == SetShellCommand:
		if len(args) < 2 {
			return m.fault(m.start, "missing argument")
		}
		c.name, args = args[0].text, args[1:]
	case len(args) > 0:
		return m.fault(m.start, "unexpected argument")
	}
	for _, w := range args {
		c.args = append(c.args, m.argument(w.text))
	}
	return nil
}

// argument is a word of a shell command: :name is a variable, ::text a text that begins with one colon.
func (m *metaParser) argument(text string) argument {
	name, colon := strings.CutPrefix(text, ":")
	switch {
	case !colon:
		return argument{text, -1}
	case strings.HasPrefix(name, ":"):
		return argument{name, -1}
	}
	return argument{text, m.names.add(name)}
}

// store adds \gset or \aset to the SQL command before it.
func (m *metaParser) store(name string, args []word) error {
	if len(args) > 1 {
		return m.fault(m.start, "too many arguments")
	}
	message := `\gset must follow an SQL command`
	if len(m.Commands) == 0 {
		return m.src.fault(m.start, "", message)
	}
	c := &m.Commands[len(m.Commands)-1]
	if c.Kind != SQLCommand || c.SQL.Store != StoreNone {
		return m.src.fault(m.start, "", message)
	}
	c.SQL.Store = StoreLast
	if name == "aset" {
		c.SQL.Store = StoreAll
	}
	if len(args) == 1 {
		c.SQL.Prefix = args[0].text
	}
	return nil
}

// sleep reads a number and a unit, which may also be one word, or a variable and a unit.
func (m *metaParser) sleep(c *Command, args []word) error {
	switch {
	case len(args) == 0:
		return m.fault(m.start, "missing argument")
	case len(args) > 2:
		return m.fault(args[2].pos, "too many arguments")
	}
	number := args[0]
	if !strings.HasPrefix(number.text, ":") {
		unsigned := strings.TrimLeft(number.text[:1], "+-") + number.text[1:]
		digits := len(unsigned) - len(strings.TrimLeft(unsigned, "0123456789"))
		if rest := unsigned[digits:]; rest != "" {
			if len(args) > 1 || digits == 0 {
				return m.fault(number.pos, "invalid sleep time, must be an integer ("+number.text+")")
			}
			cut := len(number.text) - len(rest)
			args = append(args, word{rest, number.pos + cut})
			number.text = number.text[:cut]
		}
	}
	c.unit = 1_000_000
	if len(args) == 2 {
		switch lower(args[1].text) {
		case "us":
			c.unit = 1
		case "ms":
			c.unit = 1000
		case "s":
		default:
			return m.fault(args[1].pos, "unrecognized time unit, must be us, ms or s ("+args[1].text+")")
		}
	}
	c.args = []argument{m.sleepArgument(number.text)}
	return nil
}

// sleepArgument differs from argument: here a second colon is a part of the variable's name.
func (m *metaParser) sleepArgument(text string) argument {
	if name, ok := strings.CutPrefix(text, ":"); ok {
		return argument{text, m.names.add(name)}
	}
	return argument{text, -1}
}
