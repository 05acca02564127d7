package experiment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Order is how the arms follow each other.
type Order string

const (
	// ABBA turns the order around from block to block, so that a machine that
	// becomes slower bends all arms alike.
	ABBA Order = "abba"
	// Random draws the order of each block.
	Random Order = "random"
)

// ParseOrder reads an order as people write it.
func ParseOrder(s string) (Order, error) {
	switch o := Order(strings.ToLower(s)); o {
	case ABBA, Random:
		return o, nil
	}
	return "", fmt.Errorf("unknown order %q: abba or random", s)
}

// Identical is how many runs of the first arm come before the first change: their
// spread says what the machine does by itself.
const Identical = 2

// MostPairs is how many pairs an experiment may have, AutoPairs how many it gets at
// most where the number comes from the noise floor and not from a person.
const (
	MostPairs = 200
	AutoPairs = 30
)

// Plan is an experiment as it is to be made.
type Plan struct {
	Name    string    `json:"name"` // "20261130-141205-huge_pages"
	Created time.Time `json:"created"`
	// Factor is the setting that is varied, Values what it becomes; the first is the
	// base. All the same value is an A/A experiment: nothing is varied.
	Factor string   `json:"factor"`
	Values []string `json:"values"`
	// Pairs is the number of blocks; each has a run of every arm.
	Pairs int   `json:"pairs"`
	Order Order `json:"order"`
	Seed  int64 `json:"seed"` // of Random
	// Detect is the relative effect that the experiment is to find, 0.03 for 3 %.
	Detect float64 `json:"detect"`
	// Margin is the relative difference below which arms count as the same.
	Margin float64 `json:"margin"`
	// Limit is how long a step may take before it counts as hung.
	Limit time.Duration `json:"limit_ns"`
	// RepeatFailed makes failed steps again at the end.
	RepeatFailed bool `json:"repeat_failed,omitempty"`
	// System is the system identifier of a server that pgtlb did not make; empty for a
	// lab, and where the user may not ask for it.
	System string `json:"system,omitempty"`
	// Arguments are the command line that began it, for going on and for repeating.
	Arguments []string `json:"arguments"`
}

// ParseVary reads what --vary gives: "huge_pages=4kB,2MB".
func ParseVary(s string) (factor string, values []string, err error) {
	factor, list, ok := strings.Cut(s, "=")
	factor = strings.TrimSpace(factor)
	if !ok || factor == "" {
		return "", nil, fmt.Errorf("--vary %s: write a setting and its values, as in huge_pages=4kB,2MB", factor)
	}
	for v := range strings.SplitSeq(list, ",") {
		values = append(values, strings.TrimSpace(v))
	}
	switch {
	case slices.Contains(values, ""):
		return "", nil, fmt.Errorf("--vary %s: a value is empty", factor)
	case len(values) < 2:
		return "", nil, fmt.Errorf("--vary %s: name at least two values; the same one twice is an A/A experiment", factor)
	}
	return factor, values, nil
}

// AA tells whether nothing is varied.
func (p Plan) AA() bool {
	return !slices.ContainsFunc(p.Values, func(v string) bool { return v != p.Values[0] })
}

// Arms are the names of the arms: the values, with a letter where the same value
// comes twice.
func (p Plan) Arms() []string {
	out := make([]string, len(p.Values))
	for i, v := range p.Values {
		out[i] = v
		same := func(o string) bool { return o == v }
		if slices.ContainsFunc(p.Values[:i], same) || slices.ContainsFunc(p.Values[i+1:], same) {
			out[i] = fmt.Sprintf("%s (%c)", v, 'A'+i)
		}
	}
	return out
}

// Check refuses a plan that cannot be made.
func (p Plan) Check() error {
	switch {
	case p.Factor == "" || len(p.Values) < 2:
		return errors.New("an experiment varies a setting over at least two values")
	case p.Pairs < 1:
		return fmt.Errorf("%d pairs: at least one", p.Pairs)
	case !(p.Detect > 0 && p.Detect < 1): // NaN too
		return fmt.Errorf("an effect of %g %% cannot be planned for: choose more than 0 and less than 100 %%", p.Detect*100)
	case !(p.Margin > 0 && p.Margin < 1):
		return fmt.Errorf("a margin of %g %%: choose more than 0 and less than 100 %%", p.Margin*100)
	case p.Limit <= 0:
		return errors.New("a step needs a time limit")
	}
	return nil
}

// Step is one run to be made.
type Step struct {
	Position int `json:"position"` // from 1, in the order of making
	// Block counts from 1; 0 are the identical runs before the first change.
	Block int `json:"block"`
	Arm   int `json:"arm"` // index into Plan.Values
	// Repeat is set where a failed step is made again at the end, out of order.
	Repeat bool `json:"repeat,omitempty"`
}

// Steps are the runs of the plan in their order.
func (p Plan) Steps() []Step {
	var out []Step
	add := func(block, arm int) { out = append(out, Step{Position: len(out) + 1, Block: block, Arm: arm}) }
	for range Identical {
		add(0, 0)
	}
	rng := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	for block := 1; block <= p.Pairs; block++ {
		for _, arm := range p.arms(block, rng) {
			add(block, arm)
		}
	}
	return out
}

// arms is the order within a block.
func (p Plan) arms(block int, rng *rand.Rand) []int {
	n := len(p.Values)
	if p.Order == Random {
		return rng.Perm(n)
	}
	order := make([]int, n)
	// With more than two arms each comes first, in the middle and last alike: they
	// move on by one place every second block.
	shift := 0
	if n > 2 {
		shift = (block - 1) / 2
	}
	for i := range order {
		order[i] = (i + shift) % n
	}
	if block%2 == 0 {
		slices.Reverse(order)
	}
	return order
}
