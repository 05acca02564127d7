package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// style names a role on the screen; a theme says how it looks. The marked bit
// puts the cell on the background of a selected row.
type style uint8

const (
	stPlain style = iota
	stDim
	stBorder
	stFocus
	stTitle
	stValue
	stKey
	stBrand
	stOne   // the main series of a chart, and p50
	stTwo   // p95, kernel, reserved
	stThree // p99, major faults
	stFill  // the area below a line
	stBase  // the baseline
	stGood
	stBad
	stWarn
	stAlarm // a message that must be seen
	styleCount

	marked style = 0x80
)

// mark puts a style on the selected row's background.
func mark(s style) style { return s | marked }

// theme turns styles into escape sequences. It is made once per terminal and
// background and never changed.
type theme struct {
	ascii  bool
	sgr    [styleCount]string
	marked string
	// alone is set where a selected row has no other attribute: reversed colours
	// of many kinds beside each other cannot be read.
	alone bool
}

// background is what is known about the terminal's background colour.
type background int

const (
	unknownBackground background = iota
	darkBackground
	lightBackground
)

// newTheme chooses the looks. Where the background is not known, or the
// terminal has 16 colours only, the terminal's own palette is used, which its
// owner has made readable; without colours only bold, faint and reverse are.
func newTheme(p colorprofile.Profile, bg background, ascii bool) theme {
	th := theme{ascii: ascii, marked: seq(ansi.Style{}.Reverse(true)), alone: true}
	switch {
	case p <= colorprofile.ASCII:
		th.attributes()
	case p == colorprofile.ANSI || bg == unknownBackground:
		th.attributes()
		th.palette()
	default:
		th.attributes()
		th.rich(bg == darkBackground)
	}
	return th
}

// attributes sets what needs no colour.
func (t *theme) attributes() {
	bold := seq(ansi.Style{}.Bold())
	faint := seq(ansi.Style{}.Faint())
	for _, s := range []style{stFocus, stTitle, stValue, stKey, stBrand, stGood, stBad, stWarn} {
		t.sgr[s] = bold
	}
	for _, s := range []style{stDim, stBorder, stFill} {
		t.sgr[s] = faint
	}
	t.sgr[stAlarm] = seq(ansi.Style{}.Bold().Reverse(true))
}

// palette uses the terminal's own first eight colours; the baseline has the
// colour of the text.
func (t *theme) palette() {
	set := func(s style, c ansi.BasicColor, bold bool) {
		st := ansi.Style{}.ForegroundColor(c)
		if bold {
			st = st.Bold()
		}
		t.sgr[s] = seq(st)
	}
	set(stFocus, ansi.Cyan, true)
	set(stKey, ansi.Cyan, true)
	set(stBrand, ansi.Cyan, true)
	set(stOne, ansi.Cyan, false)
	set(stTwo, ansi.Magenta, false)
	set(stThree, ansi.Yellow, false)
	set(stGood, ansi.Green, true)
	set(stBad, ansi.Red, true)
	set(stWarn, ansi.Yellow, true)
	t.sgr[stFill] = seq(ansi.Style{}.ForegroundColor(ansi.Cyan).Faint())
	t.sgr[stAlarm] = seq(ansi.Style{}.ForegroundColor(ansi.Red).Bold().Reverse(true))
}

// rich uses colours of our own, one set for each kind of background.
func (t *theme) rich(dark bool) {
	pick := lipgloss.LightDark(dark)
	fg := func(light, dark string) color.Color { return pick(lipgloss.Color(light), lipgloss.Color(dark)) }
	set := func(s style, c color.Color, bold bool) {
		st := ansi.Style{}.ForegroundColor(c)
		if bold {
			st = st.Bold()
		}
		t.sgr[s] = seq(st)
	}
	set(stDim, fg("#626a75", "#8b93a1"), false)
	set(stBorder, fg("#b9c0c9", "#4a5160"), false)
	set(stFocus, fg("#1f6fb2", "#5aa9e6"), false)
	set(stKey, fg("#1f6fb2", "#6cb6ef"), true)
	set(stBrand, fg("#1f6fb2", "#6cb6ef"), true)
	set(stOne, fg("#1873b8", "#5db4f0"), false)
	set(stTwo, fg("#7a4fb5", "#b294e8"), false)
	set(stThree, fg("#b5560f", "#f0a35e"), false)
	set(stFill, fg("#b7d3ea", "#2c4f6e"), false)
	set(stBase, fg("#8a6d00", "#d9c26a"), false)
	set(stGood, fg("#1a7f37", "#7fcf8a"), true)
	set(stBad, fg("#c0222f", "#f0737d"), true)
	set(stWarn, fg("#8f5f00", "#eec06a"), true)
	t.sgr[stAlarm] = seq(ansi.Style{}.Bold().ForegroundColor(fg("#ffffff", "#1b1d22")).BackgroundColor(fg("#c0222f", "#f0737d")))
	t.alone = false
	t.marked = seq(ansi.Style{}.BackgroundColor(fg("#dce8f4", "#2a3547")))
}

func seq(s ansi.Style) string {
	if len(s) == 0 {
		return ""
	}
	return s.String()
}

// change writes what takes a terminal from one style to another.
func (t theme) change(b *strings.Builder, from, to style) {
	if from == to {
		return
	}
	if from&marked != 0 || t.sgr[from&^marked] != "" {
		b.WriteString(ansi.ResetStyle)
	}
	if to&marked == 0 || !t.alone {
		b.WriteString(t.sgr[to&^marked])
	}
	if to&marked != 0 {
		b.WriteString(t.marked)
	}
}
