package script

// op is what a node of an expression does.
type op uint8

const (
	opConstant op = iota
	opVariable
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opEq
	opNe
	opLt
	opLe
	opBitAnd
	opBitOr
	opBitXor
	opShiftLeft
	opShiftRight
	opAnd
	opOr
	opNot
	opIs
	opCase
	opAbs
	opDebug
	opDouble
	opExp
	opGreatest
	opHashFNV1a
	opHashMurmur2
	opInt
	opLeast
	opLn
	opPermute
	opPi
	opPower
	opRandom
	opRandomExponential
	opRandomGaussian
	opRandomZipfian
	opSqrt
)

// function is a function that scripts can call.
type function struct {
	op       op
	min, max int  // number of arguments; max below 0 has no limit before the call
	seeded   bool // one argument less than max adds :default_seed
}

// functions by name, in lower case. mod is the % operator.
var functions = map[string]function{
	"abs":                {op: opAbs, min: 1, max: 1},
	"debug":              {op: opDebug, min: 1, max: 1},
	"double":             {op: opDouble, min: 1, max: 1},
	"exp":                {op: opExp, min: 1, max: 1},
	"greatest":           {op: opGreatest, min: 1, max: -1},
	"hash":               {op: opHashMurmur2, min: 1, max: 2, seeded: true},
	"hash_fnv1a":         {op: opHashFNV1a, min: 1, max: 2, seeded: true},
	"hash_murmur2":       {op: opHashMurmur2, min: 1, max: 2, seeded: true},
	"int":                {op: opInt, min: 1, max: 1},
	"least":              {op: opLeast, min: 1, max: -1},
	"ln":                 {op: opLn, min: 1, max: 1},
	"mod":                {op: opMod, min: 2, max: 2},
	"permute":            {op: opPermute, min: 2, max: 3, seeded: true},
	"pi":                 {op: opPi},
	"pow":                {op: opPower, min: 2, max: 2},
	"power":              {op: opPower, min: 2, max: 2},
	"random":             {op: opRandom, min: 2, max: 2},
	"random_exponential": {op: opRandomExponential, min: 3, max: 3},
	"random_gaussian":    {op: opRandomGaussian, min: 3, max: 3},
	"random_zipfian":     {op: opRandomZipfian, min: 3, max: 3},
	"sqrt":               {op: opSqrt, min: 1, max: 1},
}

// maxArguments is what pgbench can evaluate; it says so when the call runs.
const maxArguments = 16

// binary is an infix operator.
type binary struct {
	op         op
	precedence int
	swapped    bool // a > b is b < a, also in the order of evaluation
}

// Levels of precedence, loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelNot
	levelIs
	levelCompare // not associative
	levelBit
	levelAdd
	levelMultiply
	levelUnary
)

var binaries = map[string]binary{
	"or":  {op: opOr, precedence: levelOr},
	"and": {op: opAnd, precedence: levelAnd},
	"=":   {op: opEq, precedence: levelCompare},
	"<>":  {op: opNe, precedence: levelCompare},
	"!=":  {op: opNe, precedence: levelCompare},
	"<":   {op: opLt, precedence: levelCompare},
	"<=":  {op: opLe, precedence: levelCompare},
	">":   {op: opLt, precedence: levelCompare, swapped: true},
	">=":  {op: opLe, precedence: levelCompare, swapped: true},
	"|":   {op: opBitOr, precedence: levelBit},
	"#":   {op: opBitXor, precedence: levelBit},
	"&":   {op: opBitAnd, precedence: levelBit},
	"<<":  {op: opShiftLeft, precedence: levelBit},
	">>":  {op: opShiftRight, precedence: levelBit},
	"+":   {op: opAdd, precedence: levelAdd},
	"-":   {op: opSub, precedence: levelAdd},
	"*":   {op: opMul, precedence: levelMultiply},
	"/":   {op: opDiv, precedence: levelMultiply},
	"%":   {op: opMod, precedence: levelMultiply},
}
