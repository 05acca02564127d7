package tui

import (
	"fmt"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// tpsOf and p99Of are the newest figures of one running load.
func tpsOf(l *trial.LoadState, f *probes.Frame) probes.Value { return f.Of(probes.TPS, l.Name) }
func p99Of(l *trial.LoadState, f *probes.Frame) probes.Value { return f.Of(probes.LatencyP99, l.Name) }

// figureCell writes a figure of a load while it runs.
func figureCell(of func(*trial.LoadState, *probes.Frame) probes.Value) func(*trial.LoadState, *trial.State) (string, style) {
	return func(l *trial.LoadState, st *trial.State) (string, style) {
		f := st.Now()
		if l.Status != trial.LoadRunning || f == nil {
			return "", stDim
		}
		v := of(l, f)
		if !v.OK() {
			return "n/a", stDim
		}
		return probes.Short(v.V), stOne
	}
}

// apdexStyle is that of the rating.
func apdexStyle(a *trial.Apdex) style {
	switch {
	case a.Score >= 0.85:
		return stGood
	case a.Score >= 0.5:
		return stWarn
	}
	return stBad
}

// apdexText names score, rating and threshold.
func apdexText(a *trial.Apdex) string {
	return fmt.Sprintf("Apdex %.2f %s, T %s ms", a.Score, a.Rating, probes.Number(a.TMS))
}

// drawInfo says what a scenario does, what it shows and why, and its script.
func (s *scenarios) drawInfo(c *canvas, r rect, l *trial.LoadState) {
	var right []fig
	if l.Apdex != nil {
		right = []fig{{apdexText(l.Apdex), apdexStyle(l.Apdex), 0}}
	}
	in := part(c, r, false, []fig{{clean(l.Name), stTitle, 0}}, right)
	list := infoLines(l, in.w)
	first := min(s.line, max(0, len(list)-in.h))
	drawParas(c, in, list, first)
	if rest := len(list) - first - in.h; rest > 0 && r.w > 24 {
		c.right(r.x+2, r.y+r.h-1, r.w-4, fmt.Sprintf(" %d more: pgdn ↓ ", rest), stDim)
	}
}

func infoLines(l *trial.LoadState, w int) []para {
	var out []para
	if len(l.Fault) > 0 {
		out = append(out, lines([]para{{l.Fault[0], stBad}}, w)...)
		out = append(out, spotLines(l.Fault[1:], w)...)
		out = append(out, para{})
	}
	if l.Detail != "" {
		st := stWarn
		if l.Status == trial.LoadFailed {
			st = stBad
		}
		out = append(out, lines([]para{{l.Detail, st}, {}}, w)...)
	}
	out = append(out, lines([]para{{sentence(l.Summary), stValue}, {}, {l.Shows, stPlain}, {}}, w)...)
	if strings.TrimSpace(l.Script) == "" {
		return out
	}
	out = append(out, para{"Script", stTitle})
	for _, line := range strings.Split(strings.TrimRight(l.Script, "\n"), "\n") {
		for _, part := range codeLines(line, w) {
			out = append(out, para{part, stDim})
		}
	}
	return out
}

// sentence begins with a capital letter.
func sentence(s string) string {
	s = clean(s)
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// codeLines breaks a line of a script hard, with its indentation kept.
func codeLines(line string, w int) []string {
	line = strings.TrimRight(clean(strings.ReplaceAll(line, "\t", "    ")), " ")
	if line == "" {
		return []string{""}
	}
	var out []string
	for rest := line; rest != ""; {
		var part string
		if part, rest = split(rest, max(1, w-2*min(1, len(out)))); len(out) > 0 {
			part = "  " + part
		}
		out = append(out, part)
	}
	return out
}

// spotLines are a line of a script and the caret below its fault, moved to the
// left until the caret is in sight.
func spotLines(spot []string, w int) []para {
	if len(spot) < 2 {
		return nil
	}
	expand := func(s string) []rune { return []rune(clean(strings.ReplaceAll(s, "\t", " "))) }
	line, caret := expand(spot[0]), expand(spot[1])
	skip := max(0, strings.IndexByte(string(caret), '^')-w*2/3)
	cutOff := func(r []rune) string { return truncate(string(r[min(skip, len(r)):]), w) }
	return []para{{cutOff(line), stPlain}, {cutOff(caret), stBad}}
}
