package script

import "fmt"

// Mode is the protocol by which SQL is sent.
type Mode uint8

// pgbench's protocol modes (-M).
const (
	Simple   Mode = iota // values are written into the text
	Extended             // values are parameters, parsed anew each time
	Prepared             // values are parameters of statements that are prepared once per client
)

// String is the name of the mode as -M has it.
func (m Mode) String() string { return [...]string{"simple", "extended", "prepared"}[m] }

// ParseMode reads the argument of -M.
func ParseMode(s string) (Mode, error) {
	for m := Simple; m <= Prepared; m++ {
		if m.String() == s {
			return m, nil
		}
	}
	return 0, fmt.Errorf("invalid query mode (-M): %q", s)
}

// CommandKind tells commands apart.
type CommandKind uint8

// SQL and the backslash commands. \gset and \aset are no commands of their own: see SQL.Store.
const (
	SQLCommand CommandKind = iota
	SetCommand
	SetShellCommand
	ShellCommand
	SleepCommand
	IfCommand
	ElifCommand
	ElseCommand
	EndifCommand
	StartPipelineCommand
	SyncPipelineCommand
	EndPipelineCommand
)

// String is the name of the command, "SQL" for SQL.
func (k CommandKind) String() string {
	return [...]string{"SQL", "set", "setshell", "shell", "sleep", "if", "elif", "else", "endif",
		"startpipeline", "syncpipeline", "endpipeline"}[k]
}

// Script is a parsed script. It does not change any more and may be used by any number of goroutines.
type Script struct {
	Name     string
	Commands []Command
	src      source
	names    *names
}

// Command is one command of a script.
type Command struct {
	Kind CommandKind
	Line int  // where it begins, from 1
	SQL  *SQL // of an SQLCommand

	pos  int        // byte offset of its beginning
	text string     // of a backslash command: the whole of it
	name string     // \set, \setshell: the variable
	ref  int        // \set: its number in the script, -1 for a name that is not valid
	expr *node      // \set, \if, \elif
	args []argument // \sleep: the number; \shell, \setshell: the words
	unit int64      // \sleep: microseconds
	next int        // \if, \elif: the next branch; \elif, \else: see last
	last int        // \elif, \else: its \endif
}

// argument is a word of a backslash command: a text, or a variable where ref >= 0.
type argument struct {
	text string
	ref  int
}

// maxTitle is how much of an SQL command pgbench shows.
const maxTitle = 127

// Title is the command as the report per command (-r) shows it: a backslash command whole, of SQL the first line.
func (c *Command) Title() string {
	if c.Kind != SQLCommand {
		return c.text
	}
	for i := range len(c.SQL.Text) {
		if b := c.SQL.Text[i]; b == '\n' || b == '\r' || i == maxTitle {
			return c.SQL.Text[:i]
		}
	}
	return c.SQL.Text
}

// Store says which rows of an answer become variables.
type Store uint8

// No row, the only row of the last query (\gset), or the last row of every query (\aset).
const (
	StoreNone Store = iota
	StoreLast
	StoreAll
)

// String is the name of the backslash command.
func (s Store) String() string { return [...]string{"", "gset", "aset"}[s] }

// SQL is one query: what is sent at once and answered at once.
type SQL struct {
	Text       string // as in the script, with its semicolon, without comments in front; \; has become ;
	Parameters string // the text with $1, $2 … for each occurrence of a variable, for the extended protocol
	Statements int    // how many statements that are not empty; more than one after \;
	Store      Store
	Prefix     string // of the variables that are stored

	pieces []argument // the text cut at its variables
	refs   []int      // variables in the order of the parameters
}

// Args is the number of parameters.
func (q *SQL) Args() int { return len(q.refs) }

// MaxArgs is how many variables one SQL command may mention in the extended and prepared modes.
const MaxArgs = 255

// Check tells whether the script can run in a mode.
func (s *Script) Check(mode Mode) error {
	if mode == Simple {
		return nil
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Kind == SQLCommand && len(c.SQL.refs) > MaxArgs {
			return s.src.fault(c.pos, "", fmt.Sprintf("statement has too many arguments (maximum is %d)", MaxArgs))
		}
	}
	return nil
}

// Pipeline lists the SQL commands between a \startpipeline (its index) and the first \endpipeline behind it. In
// prepared mode they have to be prepared before the pipeline starts: preparing takes a snapshot, and with one BEGIN
// ISOLATION LEVEL SERIALIZABLE fails.
func (s *Script) Pipeline(start int) []int {
	var list []int
	for i := start + 1; i < len(s.Commands) && s.Commands[i].Kind != EndPipelineCommand; i++ {
		if s.Commands[i].Kind == SQLCommand {
			list = append(list, i)
		}
	}
	return list
}
