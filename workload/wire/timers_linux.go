package wire

import "time"

// timer wakes a client.
type timer struct {
	at     time.Duration
	client *client
}

// timers is a heap, the earliest first. A client has at most one in it.
type timers []timer

func (h *timers) push(at time.Duration, c *client) {
	*h = append(*h, timer{at, c})
	t := *h
	for i := len(t) - 1; i > 0; {
		up := (i - 1) / 2
		if t[up].at <= t[i].at {
			return
		}
		t[up], t[i] = t[i], t[up]
		i = up
	}
}

// pop takes the earliest away. The heap must not be empty.
func (h *timers) pop() timer {
	t := *h
	first, last := t[0], len(t)-1
	t[0] = t[last]
	t[last] = timer{}
	t = t[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= len(t) {
			break
		}
		if down+1 < len(t) && t[down+1].at < t[down].at {
			down++
		}
		if t[i].at <= t[down].at {
			break
		}
		t[i], t[down] = t[down], t[i]
		i = down
	}
	*h = t
	return first
}
