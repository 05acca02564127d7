package script

import (
	"errors"
	"math"
	"math/bits"
)

// twoInts and twoDoubles cast the first two arguments.
func twoInts(args []Value) (a, b int64, err error) {
	if a, err = args[0].asInt(); err == nil {
		b, err = args[1].asInt()
	}
	return a, b, err
}

func twoDoubles(args []Value) (a, b float64, err error) {
	if a, err = args[0].asDouble(); err == nil {
		b, err = args[1].asDouble()
	}
	return a, b, err
}

// doubles computes an operator of which one side is a double. Nothing overflows: infinities and NaN are values.
func doubles(o op, args []Value) (Value, error) {
	a, b, err := twoDoubles(args)
	if err != nil {
		return Value{}, err
	}
	switch o {
	case opAdd:
		return DoubleValue(a + b), nil
	case opSub:
		return DoubleValue(a - b), nil
	case opMul:
		return DoubleValue(a * b), nil
	case opDiv:
		return DoubleValue(a / b), nil
	case opEq:
		return BoolValue(a == b), nil
	case opNe:
		return BoolValue(a != b), nil
	case opLe:
		return BoolValue(a <= b), nil
	}
	return BoolValue(a < b), nil
}

// integers computes an operator on 64 bits, with checks for overflow.
func integers(o op, args []Value) (Value, error) {
	a, b, err := twoInts(args)
	if err != nil {
		return Value{}, err
	}
	switch o {
	case opAdd:
		sum := a + b
		return checked(sum, (sum > a) == (b > 0), "bigint add out of range")
	case opSub:
		difference := a - b
		return checked(difference, (difference < a) == (b > 0), "bigint sub out of range")
	case opMul:
		product, ok := multiply(a, b)
		return checked(product, ok, "bigint mul out of range")
	case opDiv, opMod:
		return divide(o, a, b)
	case opEq:
		return BoolValue(a == b), nil
	case opNe:
		return BoolValue(a != b), nil
	case opLe:
		return BoolValue(a <= b), nil
	}
	return BoolValue(a < b), nil
}

func checked(i int64, ok bool, message string) (Value, error) {
	if !ok {
		return Value{}, errors.New(message)
	}
	return IntValue(i), nil
}

// multiply tells whether the product fits 64 bits, by the 128 bits of the product of the magnitudes.
func multiply(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		return -int64(lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo < 1<<63
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

// divide truncates towards zero; the remainder has the sign of the dividend.
func divide(o op, a, b int64) (Value, error) {
	switch {
	case b == 0:
		return Value{}, errors.New("division by zero")
	case o == opMod:
		return IntValue(a % b), nil
	}
	return checked(a/b, a != math.MinInt64 || b != -1, "bigint div out of range")
}

// bitwise computes on 64 bits. Of a shift only the lowest 6 bits count, as on the processors that pgbench runs on.
func bitwise(o op, args []Value) (Value, error) {
	a, b, err := twoInts(args)
	if err != nil {
		return Value{}, err
	}
	switch o {
	case opBitAnd:
		return IntValue(a & b), nil
	case opBitOr:
		return IntValue(a | b), nil
	case opBitXor:
		return IntValue(a ^ b), nil
	case opShiftLeft:
		return IntValue(a << (uint64(b) & 63)), nil
	}
	return IntValue(a >> (uint64(b) & 63)), nil
}

// abs keeps the type. The smallest integer stays as it is, for want of a positive counterpart.
func abs(v Value) (Value, error) {
	if v.kind == Int {
		return IntValue(int64(magnitude(v.int()))), nil
	}
	d, err := v.asDouble()
	if d < 0 {
		d = -d
	}
	return DoubleValue(d), err
}

func monadic(o op, d float64) float64 {
	switch o {
	case opSqrt:
		return math.Sqrt(d)
	case opLn:
		return exactLog(d)
	case opExp:
		return exactExp(d)
	}
	return d
}

// extreme is greatest and least: of doubles if one argument is a double. A NaN loses against what follows it and wins
// against what precedes it, since every comparison with it is false.
func extreme(o op, args []Value) (Value, error) {
	double := false
	for _, a := range args {
		double = double || a.kind == Double
	}
	if double {
		return extremeDouble(o, args)
	}
	best, err := args[0].asInt()
	for _, a := range args[1:] {
		var i int64
		if err == nil {
			i, err = a.asInt()
		}
		if (o == opLeast) == (i < best) && i != best {
			best = i
		}
	}
	return IntValue(best), err
}

func extremeDouble(o op, args []Value) (Value, error) {
	best, err := args[0].asDouble()
	for _, a := range args[1:] {
		var d float64
		if err == nil {
			d, err = a.asDouble()
		}
		if o == opLeast && !(best < d) || o == opGreatest && !(best > d) {
			best = d
		}
	}
	return DoubleValue(best), err
}
