package script

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// scope is what an expression is evaluated in.
type scope struct {
	vars            *Vars
	slots           []int // slots of the script's variables in vars
	rand            *Rand
	debug           io.Writer
	script, command int // for debug(), both from 0
}

// spotError is an error of an evaluation with the offset of its operator.
type spotError struct {
	pos int
	err error
}

func (e *spotError) Error() string { return e.err.Error() }

// eval gives the value of an expression. It allocates only for an error.
func (s *scope) eval(n *node) (Value, error) {
	switch n.op {
	case opConstant:
		return n.value, nil
	case opVariable:
		v, err := s.vars.value(s.slots[n.ref])
		return v, at(n, err)
	case opAnd, opOr:
		return s.logical(n)
	case opCase:
		return s.cases(n)
	}
	var buf [maxArguments]Value
	args := buf[:0]
	null := false
	for _, a := range n.args {
		if len(args) == maxArguments {
			return Value{}, at(n, fmt.Errorf("too many function arguments, maximum is %d", maxArguments))
		}
		v, err := s.eval(a)
		if err != nil {
			return Value{}, err
		}
		args = append(args, v)
		null = null || v.kind == Null
	}
	switch {
	case n.op == opIs:
		return BoolValue(args[0] == args[1]), nil
	case n.op == opDebug:
		s.show(args[0])
		return args[0], nil
	case null:
		return Value{}, nil
	}
	v, err := s.apply(n.op, args)
	return v, at(n, err)
}

func at(n *node, err error) error {
	if err == nil {
		return nil
	}
	return &spotError{n.pos, err}
}

func (s *scope) show(v Value) {
	if s.debug == nil {
		return
	}
	text := v.String()
	if v.kind == Null {
		text = ""
	} else {
		text = " " + text
	}
	// a lost line of debug output must not end the load
	_, _ = fmt.Fprintf(s.debug, "debug(script=%d,command=%d): %s%s\n", s.script, s.command+1, v.kind, text)
}

// logical is AND and OR: the right side is looked at only where it decides, and null on the left is null at once.
func (s *scope) logical(n *node) (Value, error) {
	for i, a := range n.args {
		v, err := s.eval(a)
		if err != nil {
			return Value{}, err
		}
		if v.kind == Null {
			return v, nil
		}
		b, err := v.asBool()
		if err != nil {
			return Value{}, at(n, err)
		}
		if i == 1 || b == (n.op == opOr) {
			return v, nil
		}
	}
	return Value{}, nil
}

// cases is CASE: conditions and results in turn, then the result of ELSE.
func (s *scope) cases(n *node) (Value, error) {
	last := len(n.args) - 1
	for i := 0; i < last; i += 2 {
		v, err := s.eval(n.args[i])
		if err != nil {
			return Value{}, err
		}
		if v.Truth() {
			return s.eval(n.args[i+1])
		}
	}
	return s.eval(n.args[last])
}

// apply computes everything that needs all its arguments, none of which is null.
func (s *scope) apply(o op, args []Value) (Value, error) {
	switch o {
	case opAdd, opSub, opMul, opDiv, opMod, opEq, opNe, opLt, opLe:
		if (args[0].kind == Double || args[1].kind == Double) && o != opMod {
			return doubles(o, args)
		}
		return integers(o, args)
	case opBitAnd, opBitOr, opBitXor, opShiftLeft, opShiftRight:
		return bitwise(o, args)
	case opNot:
		b, err := args[0].asBool()
		return BoolValue(!b), err
	case opAbs:
		return abs(args[0])
	case opDouble, opSqrt, opLn, opExp:
		d, err := args[0].asDouble()
		return DoubleValue(monadic(o, d)), err
	case opInt:
		i, err := args[0].asInt()
		return IntValue(i), err
	case opGreatest, opLeast:
		return extreme(o, args)
	case opPi:
		return DoubleValue(math.Pi), nil
	case opPower:
		x, y, err := twoDoubles(args)
		return DoubleValue(exactPow(x, y)), err
	case opHashFNV1a, opHashMurmur2:
		return hash(o, args)
	case opPermute:
		return permuted(args)
	}
	return s.random(o, args)
}

func hash(o op, args []Value) (Value, error) {
	v, seed, err := twoInts(args)
	if err != nil {
		return Value{}, err
	}
	if o == opHashFNV1a {
		return IntValue(hashFNV1a(v, seed)), nil
	}
	return IntValue(hashMurmur2(v, seed)), nil
}

func permuted(args []Value) (Value, error) {
	v, size, err := twoInts(args)
	if err != nil {
		return Value{}, err
	}
	seed, err := args[2].asInt()
	if err != nil {
		return Value{}, err
	}
	if size <= 0 {
		return Value{}, errors.New("permute size parameter must be greater than zero")
	}
	return IntValue(permute(v, size, seed)), nil
}

func (s *scope) random(o op, args []Value) (Value, error) {
	lo, hi, err := twoInts(args)
	if err == nil {
		err = checkRange(lo, hi)
	}
	if err != nil {
		return Value{}, err
	}
	if o == opRandom {
		return IntValue(s.rand.uniform(lo, hi)), nil
	}
	p, err := args[2].asDouble()
	if err != nil {
		return Value{}, err
	}
	var i int64
	switch o {
	case opRandomExponential:
		i, err = s.rand.exponential(lo, hi, p)
	case opRandomGaussian:
		i, err = s.rand.gaussian(lo, hi, p)
	default:
		i, err = s.rand.zipfian(lo, hi, p)
	}
	return IntValue(i), err
}
