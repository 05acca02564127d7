package script

import (
	"fmt"
	"math"
	"strconv"
)

// Kind is the type of a Value.
type Kind uint8

// The types of pgbench's expressions.
const (
	Null Kind = iota
	Bool
	Int    // 64 bits, signed
	Double // IEEE 754, 64 bits
)

// String is the type's name in error messages.
func (k Kind) String() string { return [...]string{"null", "boolean", "int", "double"}[k] }

// Value is what an expression gives. The zero Value is null.
type Value struct {
	kind Kind
	bits uint64 // 0 or 1, the integer, or the double's bits
}

// BoolValue is a boolean.
func BoolValue(b bool) Value {
	if b {
		return Value{Bool, 1}
	}
	return Value{Bool, 0}
}

// IntValue is an integer.
func IntValue(i int64) Value { return Value{Int, uint64(i)} }

// DoubleValue is a double.
func DoubleValue(d float64) Value { return Value{Double, math.Float64bits(d)} }

// Kind tells the type.
func (v Value) Kind() Kind { return v.kind }

func (v Value) int() int64      { return int64(v.bits) }
func (v Value) double() float64 { return math.Float64frombits(v.bits) }

// Truth is the value as a condition: numbers other than 0 are true, null is false.
func (v Value) Truth() bool {
	if v.kind == Double {
		return v.double() != 0
	}
	return v.bits != 0 // null has no bits
}

// Append adds the text that pgbench puts into SQL: NULL, true, false, the integer, or 15 digits of the double.
func (v Value) Append(dst []byte) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.bits != 0)
	case Int:
		return strconv.AppendInt(dst, v.int(), 10)
	case Double:
		return appendDouble(dst, v.double(), 'g', 15)
	default:
		return append(dst, "NULL"...)
	}
}

// String is the text of Append.
func (v Value) String() string { return string(v.Append(nil)) }

// appendDouble writes a double as PostgreSQL's own printf does.
func appendDouble(dst []byte, d float64, format byte, precision int) []byte {
	switch {
	case math.IsNaN(d):
		return append(dst, "NaN"...)
	case math.IsInf(d, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(d, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, d, format, precision, 64)
}

// fixed is a double in C's %f.
func fixed(d float64) string { return string(appendDouble(nil, d, 'f', 6)) }

// asBool, asInt and asDouble are pgbench's implicit casts.
func (v Value) asBool() (bool, error) {
	if v.kind != Bool {
		return false, fmt.Errorf("cannot coerce %s to boolean", v.kind)
	}
	return v.bits != 0, nil
}

func (v Value) asInt() (int64, error) {
	switch v.kind {
	case Int:
		return v.int(), nil
	case Double:
		d := math.RoundToEven(v.double())
		// the upper bound is 2^63, which itself does not fit; NaN fails both comparisons
		if d >= math.MinInt64 && d < -math.MinInt64 {
			return int64(d), nil
		}
		return 0, fmt.Errorf("double to int overflow for %s", fixed(d))
	}
	return 0, fmt.Errorf("cannot coerce %s to int", v.kind)
}

func (v Value) asDouble() (float64, error) {
	switch v.kind {
	case Int:
		return float64(v.int()), nil
	case Double:
		return v.double(), nil
	}
	return 0, fmt.Errorf("cannot coerce %s to double", v.kind)
}
