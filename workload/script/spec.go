package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseSpec reads the argument of -f and -b: a name and, behind the last @, a weight, which is 1 where it is left out.
func ParseSpec(spec string) (name string, weight int, err error) {
	at := strings.LastIndexByte(spec, '@')
	if at < 0 {
		return spec, 1, nil
	}
	text := strings.TrimLeftFunc(spec[at+1:], isSpaceRune)
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("invalid weight specification: %s", spec[at:])
	case n < 0 || n > math.MaxInt32:
		return "", 0, fmt.Errorf("weight specification out of range (0 .. %d): %d", math.MaxInt32, n)
	}
	return spec[:at], int(n), nil
}

// ParseDefine reads the argument of -D: name=value.
func ParseDefine(define string) (name, value string, err error) {
	name, value, _ = strings.Cut(define, "=")
	if name == "" || value == "" {
		return "", "", fmt.Errorf("invalid variable definition: %q", define)
	}
	return name, value, checkName(name)
}

// Chooser draws scripts by their weights. It does not change and may be used by any number of goroutines.
type Chooser struct {
	weights []int
	total   int64
}

// NewChooser takes the weights in the order of the scripts.
func NewChooser(weights ...int) (*Chooser, error) {
	c := &Chooser{weights: weights}
	for _, w := range weights {
		c.total += int64(w)
	}
	if c.total <= 0 {
		return nil, errors.New("total script weight must not be zero")
	}
	return c, nil
}

// Share is the share of a script in all transactions, from 0 to 1.
func (c *Chooser) Share(script int) float64 { return float64(c.weights[script]) / float64(c.total) }

// Choose draws the index of a script. Where there is only one, nothing is drawn.
func (c *Chooser) Choose(r *Rand) int {
	if len(c.weights) == 1 {
		return 0
	}
	n := int64(r.upTo(uint64(c.total - 1)))
	for i, w := range c.weights {
		if n -= int64(w); n < 0 {
			return i
		}
	}
	return len(c.weights) - 1
}
