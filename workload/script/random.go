package script

import (
	"math"
	"math/bits"
)

// Rand is PostgreSQL's generator (xoroshiro128**, from version 15 on). Copying it copies its state: a copy gives the
// same numbers again. The zero Rand must not be used; see NewRand.
type Rand struct{ s0, s1 uint64 }

// NewRand is the generator that PostgreSQL makes of a seed.
func NewRand(seed uint64) Rand {
	r := Rand{splitmix(&seed), splitmix(&seed)}
	if r.s0 == 0 && r.s1 == 0 { // the one state that gives zeroes for ever
		r = Rand{0x5851F42D4C957F2D, 0x14057B7EF767814F}
	}
	return r
}

// splitmix is one step of splitmix64, which fills the state from the seed.
func splitmix(state *uint64) uint64 {
	*state += 0x9E3779B97F4A7C15
	v := *state
	v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
	v = (v ^ v>>27) * 0x94D049BB133111EB
	return v ^ v>>31
}

// Uint64 is the next number.
func (r *Rand) Uint64() uint64 {
	s0, sx := r.s0, r.s1^r.s0
	r.s0 = bits.RotateLeft64(s0, 24) ^ sx ^ sx<<16
	r.s1 = bits.RotateLeft64(sx, 37)
	return bits.RotateLeft64(s0*5, 7) * 9
}

// upTo is uniform from 0 to top inclusive: the leading bits, drawn again while they exceed top.
func (r *Rand) upTo(top uint64) uint64 {
	if top == 0 {
		return 0
	}
	shift := bits.LeadingZeros64(top)
	for {
		if v := r.Uint64() >> shift; v <= top {
			return v
		}
	}
}

// Float64 is uniform from 0 to below 1, with 52 bits.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>12) / (1 << 52) }

// normal is one value of the standard normal distribution (Box and Muller).
func (r *Rand) normal() float64 {
	u1 := 1 - r.Float64()
	u2 := 1 - r.Float64()
	return math.Sqrt(-2*math.Log(u1)) * math.Sin(2*math.Pi*u2)
}

// Seeds hands out generators in pgbench's order: first one per client, then the default_seed (Uint64), then three per
// thread (choice of script, throttling, sampling of the log). With the same seed and the same order, random functions
// give the numbers that pgbench 15 and later gives.
type Seeds struct{ base Rand }

// NewSeeds starts from the value of --random-seed.
func NewSeeds(seed uint64) *Seeds { return &Seeds{NewRand(seed)} }

// Uint64 draws a number from the common sequence.
func (s *Seeds) Uint64() uint64 { return s.base.Uint64() }

// Rand draws a generator of its own.
func (s *Seeds) Rand() Rand { return NewRand(s.base.Uint64()) }
