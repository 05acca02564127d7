package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgtlb/workload/trial"
)

// lastDigit is the last load that a digit starts and stops; the others are
// started in the list.
const lastDigit = 9

// loadFigs are the scenarios in a line of w cells: those that are on or have
// failed in as many words as fit, then as many of the others as leave room for
// spare cells, and how to see all of them.
func loadFigs(st *trial.State, w, spare int) []fig {
	if len(st.Loads) == 0 {
		if st.Mode == trial.Watching {
			return []fig{{"watching, read only", stDim, 6}}
		}
		return nil
	}
	var on []trial.LoadState
	var rest []fig
	for _, l := range st.Loads {
		if l.Status == trial.LoadStopped {
			rest = append(rest, fig{"○ " + loadName(l), stDim, 5})
		} else {
			on = append(on, l)
		}
	}
	if len(rest) == 0 || st.Mode == trial.Replaying { // a replay has no list
		return append(wordLoads(on, w), rest...)
	}
	all := fig{fmt.Sprintf("l all %d", len(st.Loads)), stKey, 3}
	figs := wordLoads(on, w-figGap-textWidth(all.text))
	if whole := slices.Concat(figs, rest); figsWidth(whole) <= w-spare {
		return whole
	}
	for _, f := range rest {
		if figsWidth(append(figs, f, all)) > w-spare {
			break
		}
		figs = append(figs, f)
	}
	return append(figs, all)
}

// wordLoads says what loads do, in the most words with which all fit.
func wordLoads(loads []trial.LoadState, w int) []fig {
	var figs []fig
	for words := 3; words >= 0; words-- {
		figs = nil
		for _, l := range loads {
			figs = append(figs, loadFig(l, words))
		}
		if figsWidth(figs) <= w {
			break
		}
	}
	return figs
}

// loadName is the scenario behind the digit that starts it.
func loadName(l trial.LoadState) string {
	if l.Key > lastDigit {
		return clean(l.Name)
	}
	return strconv.Itoa(l.Key) + " " + clean(l.Name)
}

// loadMark is the sign of what a load does, and its style.
func loadMark(l trial.LoadState) (string, style) {
	switch l.Status {
	case trial.LoadRunning:
		return "●", stGood
	case trial.LoadStarting, trial.LoadStopping:
		return "◐", stWarn
	case trial.LoadFailed:
		return "✗", stBad
	}
	return "○", stDim
}

// loadFig says what a load does, in 0 (sign and key) to 3 (everything) words.
func loadFig(l trial.LoadState, words int) fig {
	sign, st := loadMark(l)
	text := sign + " " + loadName(l)
	switch {
	case words == 0 && l.Key <= lastDigit:
		return fig{sign + strconv.Itoa(l.Key), st, 1}
	case words == 0:
		return fig{sign + truncate(clean(l.Name), 8), st, 1}
	case words == 1 || l.Status == trial.LoadStopped:
	case l.Status == trial.LoadRunning && words == 2:
		text += " " + clock(l.Elapsed)
	case l.Status == trial.LoadRunning:
		text += fmt.Sprintf(" %d clients %s", l.Clients, clock(l.Elapsed))
	case l.Status == trial.LoadStarting && words == 3:
		text += " " + truncate(clean(orElse(l.Detail, "starting")), 40)
	default:
		text += " " + string(l.Status)
	}
	return fig{strings.TrimSpace(text), st, 1}
}

// busyFigs are the loads that are on, in a few cells each.
func busyFigs(st *trial.State) []fig {
	on := running(st)
	var words []string
	for _, l := range on {
		word := loadFig(l, 0).text
		if len(on) < 3 {
			word += " " + clock(l.Elapsed)
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return nil
	}
	return []fig{{strings.Join(words, " "), stGood, 1}}
}
