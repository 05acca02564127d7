package trial

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// unavailable are the metrics without a figure that could not be opened or were
// missed by a sample, each once with its first reason. What was measured all
// the same is not among them; its gaps are told apart.
func unavailable(meta Meta, frames []probes.Frame, s *Summary) []probes.Miss {
	out := []probes.Miss{}
	seen := map[string]bool{}
	add := func(ms []probes.Miss) {
		for _, m := range ms {
			if !seen[m.ID] && !s.Get(m.ID).OK() && !probes.PerTransaction(m.ID) { // their counters are named
				seen[m.ID] = true
				out = append(out, m)
			}
		}
	}
	add(meta.Unavailable)
	for i := range frames {
		add(frames[i].Misses)
	}
	return out
}

// Gap is a metric that was measured, but not in every sample.
type Gap struct {
	Metric  string `json:"metric"`
	Missing int    `json:"missing"` // samples of the window without it
	Samples int    `json:"samples"` // samples of the window
	// State and Reason are of the first one that is missing.
	State  probes.State `json:"state,omitempty"`
	Reason string       `json:"reason"`
}

// gaps lists the metrics that some samples of the load window missed, as after a
// late read.
func gaps(frames []probes.Frame, s *Summary) []Gap {
	out := []Gap{}
	from, to, _ := LoadWindow(frames)
	for i := from; i < to; i++ {
		for _, m := range frames[i].Misses {
			if !s.Get(m.ID).OK() || probes.PerTransaction(m.ID) {
				continue
			}
			at := slices.IndexFunc(out, func(g Gap) bool { return g.Metric == m.ID })
			if at < 0 {
				out = append(out, Gap{Metric: m.ID, Samples: to - from, State: m.State, Reason: m.Reason})
				at = len(out) - 1
			}
			out[at].Missing++
		}
	}
	return out
}

// gapTexts say the gaps in sentences, one for the metrics that are missing alike.
func gapTexts(all []Gap) []string {
	var texts []string
	titles := map[Gap][]string{}
	var order []Gap
	for _, g := range all {
		alike := g
		alike.Metric = ""
		if titles[alike] == nil {
			order = append(order, alike)
		}
		titles[alike] = append(titles[alike], metricTitle(g.Metric))
	}
	for _, g := range order {
		texts = append(texts, fmt.Sprintf("%s: missing in %d of %d samples (%s)",
			strings.Join(titles[g], ", "), g.Missing, g.Samples, probes.Miss{State: g.State, Reason: g.Reason}.Text()))
	}
	return texts
}

// metricTitle is a metric's title, or its id where it is not in the catalogue.
func metricTitle(id string) string {
	if m, ok := probes.Lookup(id); ok {
		return m.Title
	}
	return id
}

// Lack is why one or more metrics could not be measured.
type Lack struct {
	Titles []string
	Why    string // state and reason
	Remedy string
}

// String says what is lacking, why, and what would help.
func (l Lack) String() string {
	s := strings.Join(l.Titles, ", ") + ": " + l.Why
	if l.Remedy != "" {
		s += "; what would help: " + l.Remedy
	}
	return s
}

// lacks joins the metrics that are missing for the same reason.
func lacks(misses []probes.Miss) []Lack {
	var out []Lack
	for _, u := range misses {
		i := slices.IndexFunc(out, func(l Lack) bool { return l.Why == u.Text() && l.Remedy == u.Remedy })
		if i < 0 {
			out = append(out, Lack{Why: u.Text(), Remedy: u.Remedy})
			i = len(out) - 1
		}
		out[i].Titles = append(out[i].Titles, metricTitle(u.ID))
	}
	return out
}
