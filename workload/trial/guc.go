package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// guc is a setting of the server as pg_settings describes it.
type guc struct {
	Name    string
	Context string // from when on a change counts: "postmaster", "sighup", "user" …
	Type    string // "bool", "enum", "integer", "real", "string"
	Unit    string // of Setting, Min and Max: "8kB", "ms"; empty for a plain number
	Setting string
	Source  string // where the value is from: "configuration file", "database", "user" …
	Min     string
	Max     string
	Choices []string // of an enum
}

// errNoSetting says that the server has no such setting, or shows it to others only.
var errNoSetting = errors.New("the server has no setting of that name, or this user may not see it")

const gucSQL = `SELECT name, context, vartype, coalesce(unit, ''), coalesce(setting, ''), source,
	coalesce(min_val, ''), coalesce(max_val, ''), coalesce(enumvals, '{}')
	FROM pg_settings WHERE lower(name) = lower($1)`

// readSetting asks a session for a setting. The simple protocol leaves no
// prepared statement behind in it.
func readSetting(ctx context.Context, conn *pgx.Conn, name string) (guc, error) {
	var g guc
	err := conn.QueryRow(ctx, gucSQL, pgx.QueryExecModeSimpleProtocol, name).
		Scan(&g.Name, &g.Context, &g.Type, &g.Unit, &g.Setting, &g.Source, &g.Min, &g.Max, &g.Choices)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, fmt.Errorf("%s: %w", name, errNoSetting)
	}
	if err != nil {
		return g, fmt.Errorf("asking the server for %s: %w", name, err)
	}
	return g, nil
}

// normal writes a value as the server understands it, in one way for all ways of
// writing it: on for yes, the number in Unit for one with another unit. The error says
// why the server would not take it.
func (g *guc) normal(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch g.Type {
	case "bool":
		if on, ok := parseBool(value); ok {
			return onOff(on), nil
		}
		return "", fmt.Errorf("%s = %s: it is on or off", g.Name, value)
	case "enum":
		return g.choice(value)
	case "integer", "real":
		n, err := g.number(value)
		if err != nil {
			return "", err
		}
		return strconv.FormatFloat(n, 'g', -1, 64), nil
	}
	return value, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// parseBool reads what the server takes for a boolean: also the beginnings of the
// words as far as they are clear.
func parseBool(s string) (on, ok bool) {
	s = strings.ToLower(s)
	is := func(word string, least int) bool { return len(s) >= least && strings.HasPrefix(word, s) }
	switch {
	case s == "1" || is("true", 1) || is("yes", 1) || is("on", 2):
		return true, true
	case s == "0" || is("false", 1) || is("no", 1) || is("off", 2):
		return false, true
	}
	return false, false
}

// choice finds the value of an enum. Enums with on and off take other words for
// these without listing them.
func (g *guc) choice(value string) (string, error) {
	for _, c := range g.Choices {
		if strings.EqualFold(c, value) {
			return c, nil
		}
	}
	if on, ok := parseBool(value); ok && slices.Contains(g.Choices, onOff(on)) {
		return onOff(on), nil
	}
	return "", fmt.Errorf("%s = %s: it is one of %s", g.Name, value, strings.Join(g.Choices, ", "))
}

// units are factors to the smallest unit of a kind: bytes, or microseconds.
var units = map[string]struct {
	factor float64
	time   bool
}{
	"B": {1, false}, "kB": {1 << 10, false}, "MB": {1 << 20, false}, "GB": {1 << 30, false}, "TB": {1 << 40, false},
	"us": {1, true}, "ms": {1e3, true}, "s": {1e6, true}, "min": {60e6, true}, "h": {3600e6, true}, "d": {86400e6, true},
}

// number reads a number, with or without a unit, as one in the setting's own unit.
func (g *guc) number(value string) (float64, error) {
	digits := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSpace(value[len(digits):])
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s = %s: that is not a number", g.Name, value)
	}
	if unit != "" {
		if n, err = g.convert(n, unit); err != nil {
			return 0, fmt.Errorf("%s = %s: %w", g.Name, value, err)
		}
	}
	if g.Type == "integer" {
		n = math.RoundToEven(n)
	}
	low, errLow := strconv.ParseFloat(g.Min, 64)
	high, errHigh := strconv.ParseFloat(g.Max, 64)
	if errLow == nil && n < low || errHigh == nil && n > high {
		return 0, fmt.Errorf("%s = %s: it is between %s and %s%s", g.Name, value, g.Min, g.Max, inUnit(g.Unit))
	}
	return n, nil
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return ", in units of " + unit
}

// convert brings a number to the setting's own unit.
func (g *guc) convert(n float64, unit string) (float64, error) {
	name := strings.TrimLeft(g.Unit, "0123456789")
	many := 1.0 // "8kB"
	if digits := g.Unit[:len(g.Unit)-len(name)]; digits != "" {
		many, _ = strconv.ParseFloat(digits, 64)
	}
	own, has := units[name]
	from, known := units[unit]
	switch {
	case !has:
		return 0, errors.New("it is a number without a unit")
	case !known || own.time != from.time:
		valid := "B, kB, MB, GB and TB"
		if own.time {
			valid = "us, ms, s, min, h and d"
		}
		return 0, fmt.Errorf("%q is none of its units, %s", unit, valid)
	}
	return n * from.factor / (own.factor * many), nil
}

// same tells whether two ways of writing a value mean the same.
func (g *guc) same(a, b string) bool {
	x, errX := g.normal(a)
	y, errY := g.normal(b)
	return errX == nil && errY == nil && x == y
}

// twin is the one of some values that means the same as another value and is written
// otherwise; empty where there is none.
func (g *guc) twin(values []string, value string) string {
	for _, v := range values {
		if v != value && g.same(v, value) {
			return v
		}
	}
	return ""
}

// owner says where a value comes from that was not asked for; empty where it is
// not from a database or role.
func (g *guc) owner() string {
	switch g.Source {
	case "database":
		return "the database's own setting (ALTER DATABASE … SET)"
	case "user":
		return "the role's own setting (ALTER ROLE … SET)"
	case "database user":
		return "the role's own setting in this database (ALTER ROLE … IN DATABASE … SET)"
	}
	return ""
}
