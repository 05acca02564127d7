package script

import "math/bits"

// hashFNV1a is FNV-1a over the 8 bytes of the value, lowest first, the seed mixed into the offset basis.
func hashFNV1a(v int64, seed int64) int64 {
	h := uint64(0xcbf29ce484222325) ^ uint64(seed)
	for i := range 8 {
		h = (h ^ uint64(v)>>(8*i)&0xff) * 0x100000001b3
	}
	return int64(h)
}

// hashMurmur2 is MurmurHash64A of the 8 bytes of the value.
func hashMurmur2(v int64, seed int64) int64 {
	const m, shift uint64 = 0xc6a4a7935bd1e995, 47
	length := uint64(8) // bytes; a variable, because the product below wraps around
	h := uint64(seed) ^ length*m
	k := uint64(v) * m
	k = (k ^ k>>shift) * m
	h = (h ^ k) * m
	h = (h ^ h>>shift) * m
	return int64(h ^ h>>shift)
}

// permute is where v goes in the pseudorandom permutation of 0..size-1 that belongs to the seed; size is at least 1.
// Six rounds, each a bijection: the lower and then the upper half of the range (the largest power of two that fits,
// from either end) is multiplied by an odd number, xored and rotated, and then the whole is shifted.
func permute(v, size, seed int64) int64 {
	if size < 2 {
		return 0
	}
	r := NewRand(uint64(seed))
	n := uint64(size)
	x := uint64(v) % n
	width := bits.Len64(n) - 1
	mask := uint64(1)<<width - 1
	half := func(x uint64) uint64 {
		m := r.Uint64()&mask | 1
		y := r.Uint64() & mask
		if x > mask {
			return x
		}
		x = (x*m ^ y) & mask
		return x<<1&mask | x>>(width-1)
	}
	for range 6 {
		x = half(x)
		x = n - 1 - half(n-1-x)
		x = (x + r.upTo(n-1)) % n
	}
	return int64(x)
}
