package wire

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// throttle is one thread's share of a rate: its transactions' scheduled starts
// are a Poisson process. Any goroutine may draw.
type throttle struct {
	mu   sync.Mutex
	mean time.Duration // between two starts
	next time.Duration // the latest start given out
	rng  *rand.Rand
}

func newThrottle(o *Options, thread, threads int) *throttle {
	if o.Rate == 0 {
		return nil
	}
	return &throttle{
		mean: time.Duration(float64(time.Second) * float64(threads) / o.Rate),
		rng:  rand.New(rand.NewPCG(o.Seed, uint64(thread))),
	}
}

// draw returns the next scheduled start.
func (t *throttle) draw() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next += time.Duration(-math.Log(1-t.rng.Float64()) * float64(t.mean))
	return t.next
}
