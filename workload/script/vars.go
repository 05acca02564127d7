package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// names numbers the variables that a script mentions.
type names struct {
	list  []string
	index map[string]int
}

func newNames() *names { return &names{index: map[string]int{}} }

func (n *names) add(name string) int {
	i, ok := n.index[name]
	if !ok {
		i = len(n.list)
		n.list = append(n.list, name)
		n.index[name] = i
	}
	return i
}

// Vars are the variables of one client. They are not safe for use by several goroutines.
type Vars struct {
	program *names // those that the scripts mention, shared between clients
	extra   *names // those that came up in the run: column names behind \gset and \aset; nil at first
	slots   []variable
}

// variable has a text, a value, or both once the text has been used as a value.
type variable struct {
	text             string
	hasText, hasData bool
	data             Value
}

// NewVars makes variables for a client of the program; none is set.
func (p *Program) NewVars() *Vars {
	return &Vars{program: p.names, slots: make([]variable, len(p.names.list))}
}

// Clone copies the variables for another client.
func (v *Vars) Clone() *Vars {
	c := &Vars{program: v.program, slots: append([]variable(nil), v.slots...)}
	if v.extra != nil {
		c.extra = newNames()
		for _, name := range v.extra.list {
			c.extra.add(name)
		}
	}
	return c
}

// slot finds a variable, or makes room for it.
func (v *Vars) slot(name string) int {
	if i, ok := v.program.index[name]; ok {
		return i
	}
	if v.extra == nil {
		v.extra = newNames()
	}
	i := len(v.program.list) + v.extra.add(name)
	if i == len(v.slots) {
		v.slots = append(v.slots, variable{})
	}
	return i
}

// find is slot without making room.
func (v *Vars) find(name string) (*variable, bool) {
	i, ok := v.program.index[name]
	if !ok && v.extra != nil {
		i, ok = v.extra.index[name]
		i += len(v.program.list)
	}
	if !ok || !v.slots[i].set() {
		return nil, false
	}
	return &v.slots[i], true
}

func (x *variable) set() bool { return x.hasText || x.hasData }

// Has tells whether the variable is set.
func (v *Vars) Has(name string) bool {
	_, ok := v.find(name)
	return ok
}

func checkName(name string) error {
	if !validName(name) {
		return fmt.Errorf("invalid variable name: %q", name)
	}
	return nil
}

// SetText sets a variable to a text, as -D and \gset do. What the text means as a value shows when an expression uses
// it.
func (v *Vars) SetText(name, text string) error {
	if err := checkName(name); err != nil {
		return err
	}
	v.slots[v.slot(name)] = variable{text: text, hasText: true}
	return nil
}

// Set sets a variable to a value, as \set does.
func (v *Vars) Set(name string, value Value) error {
	if err := checkName(name); err != nil {
		return err
	}
	v.slots[v.slot(name)] = variable{data: value, hasData: true}
	return nil
}

// Default sets a variable that is not set yet. pgbench sets so, after -D: scale, client_id (from 0), default_seed (of
// the hash functions, the same for all clients, from Seeds.Uint64) and random_seed.
func (v *Vars) Default(name string, value Value) error {
	if v.Has(name) {
		return nil
	}
	return v.Set(name, value)
}

// Text is the variable as it goes into SQL.
func (v *Vars) Text(name string) (text string, ok bool) {
	x, ok := v.find(name)
	if !ok {
		return "", false
	}
	return string(x.append(nil)), true
}

// Value is the variable as expressions see it.
func (v *Vars) Value(name string) (Value, error) {
	if _, ok := v.find(name); !ok {
		return Value{}, fmt.Errorf("undefined variable %q", name)
	}
	return v.value(v.slot(name))
}

func (x *variable) append(dst []byte) []byte {
	if x.hasText {
		return append(dst, x.text...)
	}
	return x.data.Append(dst)
}

func (v *Vars) name(slot int) string {
	if n := len(v.program.list); slot >= n {
		return v.extra.list[slot-n]
	}
	return v.program.list[slot]
}

// value is the value in a slot; a text is read once.
func (v *Vars) value(slot int) (Value, error) {
	x := &v.slots[slot]
	if x.hasData {
		return x.data, nil
	}
	name := v.name(slot)
	if !x.hasText {
		return Value{}, fmt.Errorf("undefined variable %q", name)
	}
	data, err := readValue(x.text)
	if errors.Is(err, errMalformed) {
		err = fmt.Errorf("malformed variable %q value: %q", name, x.text)
	}
	if err != nil {
		return Value{}, err
	}
	x.data, x.hasData = data, true
	return data, nil
}

var errMalformed = errors.New("malformed")

// readValue reads the text of a variable: null, a boolean or the beginning of one, an integer, or a double.
func readValue(text string) (Value, error) {
	low := lower(text)
	switch {
	case text == "":
		return Value{}, errMalformed
	case low == "null":
		return Value{}, nil
	case strings.HasPrefix("true", low), strings.HasPrefix("yes", low), low == "on":
		return BoolValue(true), nil
	case strings.HasPrefix("false", low), strings.HasPrefix("no", low), low == "off", low == "of":
		return BoolValue(false), nil
	case looksInt(text):
		i, err := strconv.ParseInt(strings.TrimLeftFunc(text, isSpaceRune), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return Value{}, fmt.Errorf("value %q is out of range for type bigint", text)
		}
		if err != nil { // a sign alone
			return Value{}, fmt.Errorf("invalid input syntax for type bigint: %q", text)
		}
		return IntValue(i), nil
	}
	d, ok := readDouble(low)
	if !ok {
		return Value{}, errMalformed
	}
	return DoubleValue(d), nil
}

func isSpaceRune(r rune) bool { return r < 0x80 && isSpace(byte(r)) }

// looksInt: spaces, a sign, digits, and nothing else.
func looksInt(text string) bool {
	text = strings.TrimLeftFunc(text, isSpaceRune)
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return strings.Trim(text, "0123456789") == ""
}

// readDouble reads what C's strtod reads of a whole text in lower case: a decimal or hexadecimal number, inf, infinity
// or nan.
func readDouble(text string) (float64, bool) {
	text = strings.TrimLeftFunc(text, isSpaceRune)
	bare := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(bare) > 1 || strings.Contains(text, "_") {
		return 0, false
	}
	if strings.HasPrefix(bare, "nan") {
		rest := bare[3:]
		return math.NaN(), rest == "" || rest[0] == '(' && strings.IndexByte(rest, ')') == len(rest)-1
	}
	if hex, ok := strings.CutPrefix(bare, "0x"); ok {
		if !strings.Contains(hex, "p") {
			text += "p0"
		}
		d, err := strconv.ParseFloat(text, 64)
		return d, err == nil
	}
	d, err := parseDecimal(text)
	return d, err == nil
}
