package tui

import (
	"fmt"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// passFig is how far the reading of every process's exact memory is, or what it
// came to; nothing before it was asked for.
func passFig(p *trial.Pass) []fig {
	if p == nil {
		return nil
	}
	n := fmt.Sprintf("%d of %d", len(p.Read), p.Total)
	switch {
	case p.Denied != "":
		return []fig{{"Pss: n/a", stWarn, 1}}
	case p.Ended.IsZero():
		return []fig{{"reading Pss: " + n, stWarn, 1}}
	}
	return []fig{{fmt.Sprintf("Pss %s (%s) at %s", probes.Memory(passSum(p)), n, p.Began.Format("15:04:05")), stValue, 3}}
}

// passSum adds the Pss of what was read up, in kB: unlike Rss it may be, since
// each shared page is divided among those that have it mapped.
func passSum(p *trial.Pass) float64 {
	sum := 0.0
	for i := range p.Read {
		sum += float64(p.Read[i].Pss)
	}
	return sum
}

// passLines say in the zoomed table what the pass is about.
func passLines(p *trial.Pass, w int) []para {
	return lines(passParas(p), w)
}

func passParas(p *trial.Pass) []para {
	switch {
	case p == nil:
		return nil
	case p.Denied != "":
		return []para{{"Pss of all: n/a: " + clean(p.Denied), stWarn}}
	case p.Ended.IsZero():
		return []para{{fmt.Sprintf("reading the Pss of all: %d of %d, one at a time; esc stops it", len(p.Read), p.Total), stWarn}}
	}
	text := fmt.Sprintf("Pss of %d of %d processes, one after the other from %s to %s: together %s",
		len(p.Read), p.Total, p.Began.Format("15:04:05"), p.Ended.Format("15:04:05"), probes.Memory(passSum(p)))
	if p.Stopped {
		text += " (stopped)"
	}
	return []para{{text, stValue}}
}
