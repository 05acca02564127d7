package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// machine makes runs that vary: each by a noise of its own, all by a drift.
type machine struct {
	noise func() float64 // of the logarithm of a run
	drift float64        // of the logarithm from one run to the next
	at    int
}

func (m *machine) run(effect float64) float64 {
	m.at++
	return 1000 * math.Exp(effect+m.noise()+m.drift*float64(m.at))
}

// experiment makes pairs in the order A B, B A, A B …
func (m *machine) experiment(pairs int, effect float64) []Pair {
	m.at = 0
	out := make([]Pair, pairs)
	for i := range out {
		if i%2 == 0 {
			out[i].Base = m.run(0)
			out[i].Cand = m.run(effect)
			continue
		}
		out[i].Cand = m.run(effect)
		out[i].Base = m.run(0)
	}
	return out
}

// bases are the base's runs.
func bases(pairs []Pair) (out []float64) {
	for _, p := range pairs {
		out = append(out, p.Base)
	}
	return out
}

// ruled is the rule with the noise floor of the base's runs.
func ruled(pairs []Pair) Rule {
	_, floor, _ := Floor(bases(pairs))
	return Usual(floor)
}

// decided is the outcome by that rule.
func decided(t *testing.T, pairs []Pair) Outcome {
	t.Helper()
	o, ok := Paired(pairs, ruled(pairs))
	if !ok {
		t.Fatal("not decided")
	}
	return o
}

// normal and heavy noises, scaled to a standard deviation; heavy is Student's t with
// three degrees of freedom, whose variance is 3.
func normal(rng *rand.Rand, sd float64) func() float64 {
	return func() float64 { return sd * rng.NormFloat64() }
}

func heavy(rng *rand.Rand, sd float64) func() float64 {
	return func() float64 {
		chi := 0.0
		for range 3 {
			z := rng.NormFloat64()
			chi += z * z
		}
		return sd / math.Sqrt(3) * rng.NormFloat64() / math.Sqrt(chi/3)
	}
}

const simulated = 10_000

// Two arms that are the same must not be told apart in more than 5 of 100
// experiments, whatever the noise and also on a machine that becomes slower; the
// noise floor is a further guard and is left out here.
func TestSimulatedFalsePositives(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	for _, pairs := range []int{6, 8, 10} {
		for name, make := range map[string]func(*rand.Rand, float64) func() float64{"normal": normal, "heavy": heavy} {
			for _, drift := range []float64{0, -0.002, 0.01} {
				t.Run(fmt.Sprintf("%d pairs, %s noise, drift %v", pairs, name, drift), func(t *testing.T) {
					t.Parallel()
					rng := rand.New(rand.NewPCG(uint64(pairs), 1))
					m := machine{noise: make(rng, 0.02), drift: drift}
					alone, guarded := 0, 0
					for range simulated {
						e := m.experiment(pairs, 0)
						if o, _ := Paired(e, Usual(0)); o.Verdict == Higher || o.Verdict == Lower {
							alone++
						}
						if o := decided(t, e); o.Verdict == Higher || o.Verdict == Lower {
							guarded++
						}
					}
					t.Logf("false results: %.2f %%, with the noise floor %.2f %%", share(alone), share(guarded))
					if share(alone) > 5 || share(guarded) > 5 {
						t.Error("more than 5 %")
					}
				})
			}
		}
	}
}

func share(n int) float64 { return 100 * float64(n) / simulated }

// The 95 % interval holds the true ratio in 93 to 97 of 100 experiments.
func TestSimulatedCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	for _, pairs := range []int{6, 7, 8, 10, 12} {
		for name, make := range map[string]func(*rand.Rand, float64) func() float64{"normal": normal, "heavy": heavy} {
			t.Run(fmt.Sprintf("%d pairs, %s noise", pairs, name), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(pairs), 2))
				m := machine{noise: make(rng, 0.02)}
				held := 0
				for range simulated {
					if o, _ := Paired(m.experiment(pairs, math.Log(1.05)), Usual(0)); o.Ratio.Contains(1.05) {
						held++
					}
				}
				t.Logf("held in %.2f %%", share(held))
				if s := share(held); s < 93 || s > 97.3 {
					t.Errorf("%.2f %%", s)
				}
			})
		}
	}
}

// An effect of 5 % is found where identical runs differ by 2 % in all.
func TestSimulatedPower(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	for _, c := range []struct {
		pairs int
		sd    float64
		what  string
		least float64 // percent of experiments
	}{
		// The range of six normal runs is 2.53 standard deviations on average.
		{6, 0.02 / 2.53, "runs between 2 % apart", 99},
		{8, 0.02 / 2.53, "runs between 2 % apart", 99},
		{6, 0.02, "standard deviation 2 %", 40},
		{12, 0.02, "standard deviation 2 %", 45},
	} {
		t.Run(fmt.Sprintf("%d pairs, %s", c.pairs, c.what), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(c.pairs), 3))
			m := machine{noise: normal(rng, c.sd)}
			found, alone, wrong := 0, 0, 0
			for range simulated {
				e := m.experiment(c.pairs, math.Log(1.05))
				switch decided(t, e).Verdict {
				case Higher:
					found++
				case Lower:
					wrong++
				}
				if o, _ := Paired(e, Usual(0)); o.Verdict == Higher {
					alone++
				}
			}
			t.Logf("found in %.2f %%, %.2f %% without the noise floor; %d in the wrong direction", share(found), share(alone), wrong)
			if share(found) < c.least || wrong > 0 {
				t.Errorf("found in %.2f %%, %d wrong", share(found), wrong)
			}
		})
	}
}

// More pairs must not find less: the noise floor is that of the first runs. And with
// the floor a false result is rare also where many metrics are asked at once, which
// is why verdicts on them need no p adjusted by Holm's method: for twelve metrics no
// number of pairs below nine could give one.
func TestSimulatedFloor(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	const metrics = 12
	for _, pairs := range []int{6, 9, 12} {
		t.Run(fmt.Sprintf("%d pairs", pairs), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(pairs), 4))
			m := machine{noise: normal(rng, 0.02)}
			found, all, families, clear := 0, 0, 0, 0
			const experiments = 300
			for range experiments {
				e := m.experiment(pairs, math.Log(1.05))
				if decided(t, e).Verdict == Higher {
					found++
				}
				whole, _ := Spread(bases(e))
				if o, _ := Paired(e, Usual(whole)); o.Verdict == Higher {
					all++
				}
				wrong, surely := false, false
				for range metrics {
					e := m.experiment(pairs, 0)
					o := decided(t, e)
					wrong = wrong || o.Verdict == Higher || o.Verdict == Lower
					surely = surely || o.Clear(ruled(e))
				}
				if wrong {
					families++
				}
				if surely {
					clear++
				}
			}
			if found < all || float64(found) < 0.35*experiments || float64(families) > 0.05*experiments || clear > 0 {
				t.Errorf("found %d, with the range of all runs %d; %d families with a false result, %d with a clear one", found, all, families, clear)
			}
			t.Logf("5 %% found in %.1f %%, with the range of all runs %.1f %%; a false result among %d metrics in %.1f %%",
				100*float64(found)/experiments, 100*float64(all)/experiments, metrics, 100*float64(families)/experiments)
		})
	}
}

// The effect that an experiment says it would have found is found by 80 of 100
// further ones on the same machine: by the test alone, and with the noise floor.
func TestSimulatedDetectable(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	for pairs, experiments := range map[int]int{6: 1000, 7: 400, 8: 400, 12: 1000} {
		for _, floor := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("%d pairs, floor %v", pairs, floor), func(t *testing.T) {
				t.Parallel()
				m := machine{noise: normal(rand.New(rand.NewPCG(uint64(pairs), 6)), 0.02)}
				found := 0
				for range experiments {
					effect := DetectablePaired(m.experiment(pairs, 0), Usual(floor))
					if o, _ := Paired(m.experiment(pairs, math.Log1p(effect)), Usual(floor)); o.Verdict == Higher {
						found++
					}
				}
				if share := 100 * float64(found) / float64(experiments); share < 75 || share > 85 {
					t.Errorf("found in %.1f %%", share)
				} else {
					t.Logf("found in %.1f %%", share)
				}
			})
		}
	}
	const experiments = 400
	for _, runs := range []int{4, 6, 10} {
		t.Run(fmt.Sprintf("%d runs per arm", runs), func(t *testing.T) {
			t.Parallel()
			m := machine{noise: normal(rand.New(rand.NewPCG(uint64(runs), 7)), 0.02)}
			list := func(effect float64) (out []float64) {
				for range runs {
					out = append(out, m.run(effect))
				}
				return out
			}
			found := 0
			for range experiments {
				effect := DetectableUnpaired(list(0), list(0), Usual(0))
				if o, _ := Unpaired(list(0), list(math.Log1p(effect)), Usual(0)); o.Verdict == Higher {
					found++
				}
			}
			if share := 100 * float64(found) / experiments; share < 75 || share > 85 {
				t.Errorf("found in %.1f %%", share)
			} else {
				t.Logf("found in %.1f %%", share)
			}
		})
	}
}

// The number of pairs that a plan names finds the effect where the deviation is known
// well, and the cautious number is enough on most machines that two runs were seen of.
func TestSimulatedPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	const sd, effect, experiments = 0.006, 0.018, 500
	rng := rand.New(rand.NewPCG(1, 8))
	m := machine{noise: normal(rng, sd)}
	n, hidden := pairsAt(effect, sd, Usual(0))
	if hidden {
		t.Fatal("hidden")
	}
	found := 0
	for range experiments {
		if o, _ := Paired(m.experiment(n, math.Log1p(effect)), Usual(math.Expm1(rangeOfSix*sd))); o.Verdict == Higher {
			found++
		}
	}
	if share := 100 * float64(found) / experiments; share < 75 || share > 90 {
		t.Errorf("%d pairs find it in %.1f %%", n, share)
	}
	const plans = 60
	likely, cautious := 0, 0
	for range plans {
		p, _ := PairsFor(effect, []float64{m.run(0), m.run(0)}, Usual(0))
		if p.Pairs >= n || p.Hidden {
			likely++
		}
		if p.Cautious >= n || p.Cautious == 0 {
			cautious++
		}
	}
	t.Logf("%d pairs; two runs: the likely number is enough in %d, the cautious one in %d of %d", n, likely, cautious, plans)
	if float64(cautious) < 0.7*plans || cautious <= likely {
		t.Errorf("likely %d, cautious %d of %d", likely, cautious, plans)
	}
}
