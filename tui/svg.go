package tui

import (
	"bufio"
	"fmt"
	"html"
	"image/color"
	"io"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// The size of a cell in a picture. The width is the advance of the usual
// monospace fonts at this font size.
const (
	cellW    = 8.43
	cellH    = 17.0
	fontSize = 14.0
	margin   = 10.0
)

// WriteSVG writes a screen, lines of text with escape sequences, as an SVG
// picture. Charts, bars and borders are drawn as shapes, so that only the words
// depend on the viewer's fonts.
func WriteSVG(w io.Writer, screen string, light bool) error {
	lines := strings.Split(screen, "\n")
	width := 1
	for _, l := range lines {
		width = max(width, ansi.StringWidth(l))
	}
	term := vt.NewEmulator(width, len(lines))
	defer term.Close()
	if _, err := term.WriteString(strings.Join(lines, "\r\n")); err != nil {
		return fmt.Errorf("reading the screen: %w", err)
	}
	out := bufio.NewWriter(w)
	p := picture{out: out, w: width, h: len(lines), fg: "#d5dae1", bg: "#15181d"}
	if light {
		p.fg, p.bg = "#1f2328", "#ffffff"
	}
	p.head()
	for y := range p.h {
		p.line(y, term.CellAt)
	}
	fmt.Fprintln(out, "</svg>")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

// picture is an SVG being written. Errors of out stay until it is flushed.
type picture struct {
	out    *bufio.Writer
	w, h   int
	fg, bg string
}

func (p *picture) head() {
	w, h := float64(p.w)*cellW+2*margin, float64(p.h)*cellH+2*margin
	fmt.Fprintf(p.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", w, h, w, h)
	fmt.Fprintf(p.out, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", p.bg)
	fmt.Fprintf(p.out, `<style>text{font-family:"DejaVu Sans Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:%gpx;white-space:pre}</style>`+"\n", fontSize)
}

// ink is how a cell is drawn.
type ink struct {
	fg, bg string // bg is empty for the picture's own
	bold   bool
	faint  bool
}

func (p *picture) ink(c *uv.Cell) ink {
	i := ink{fg: hex(c.Style.Fg, p.fg), bg: hex(c.Style.Bg, "")}
	i.bold = c.Style.Attrs&uv.AttrBold != 0
	i.faint = c.Style.Attrs&uv.AttrFaint != 0
	if c.Style.Attrs&uv.AttrReverse != 0 {
		fg := i.fg
		i.fg, i.bg = i.bg, fg
		if i.fg == "" {
			i.fg = p.bg
		}
	}
	return i
}

func hex(c color.Color, other string) string {
	if c == nil {
		return other
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// line draws one line: backgrounds first, then words, each from its own cell on,
// then the shapes.
func (p *picture) line(y int, at func(x, y int) *uv.Cell) {
	for x := 0; x < p.w; x++ {
		if c := at(x, y); c != nil {
			if i := p.ink(c); i.bg != "" {
				fmt.Fprintf(p.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.0f" fill="%s"/>`+"\n", px(x), py(y), cellW*float64(max(1, c.Width))+0.3, cellH, i.bg)
			}
		}
	}
	word, start := "", 0
	var last ink
	flush := func() {
		p.word(start, y, word, last)
		word = ""
	}
	for x := 0; x < p.w; x++ {
		c := at(x, y)
		if c == nil || c.Content == "" || c.Content == " " {
			flush()
			continue
		}
		i := p.ink(c)
		if p.shape(x, y, c.Content, i) {
			flush()
			continue
		}
		if i != last || word == "" {
			flush()
			start, last = x, i
		}
		word += c.Content
	}
	flush()
}

func px(x int) float64 { return margin + float64(x)*cellW }
func py(y int) float64 { return margin + float64(y)*cellH }

func (p *picture) word(x, y int, s string, i ink) {
	if s == "" {
		return
	}
	extra := ""
	if i.bold {
		extra += ` font-weight="bold"`
	}
	if i.faint {
		extra += ` opacity="0.6"`
	}
	fmt.Fprintf(p.out, `<text x="%.2f" y="%.2f" fill="%s"%s>%s</text>`+"\n", px(x), py(y)+cellH*0.76, i.fg, extra, html.EscapeString(s))
}

// shape draws what is not a letter and tells whether it was one.
func (p *picture) shape(x, y int, s string, i ink) bool {
	r := []rune(s)[0]
	op := ""
	if i.faint {
		op = ` opacity="0.55"`
	}
	if r >= 0x2800 && r < 0x2900 {
		p.braille(x, y, uint8(r-0x2800), i.fg, op)
		return true
	}
	if path, ok := boxPath(r, px(x), py(y)); ok {
		width := 1.2
		if r == '━' {
			width = 3
		}
		fmt.Fprintf(p.out, `<path d="%s" fill="none" stroke="%s" stroke-width="%g"%s/>`+"\n", path, i.fg, width, op)
		return true
	}
	return p.block(x, y, r, i.fg, op)
}

// braille draws the dots of a cell as circles.
func (p *picture) braille(x, y int, bits uint8, fill, op string) {
	fmt.Fprintf(p.out, `<g fill="%s"%s>`, fill, op)
	for row := range 4 {
		for col := range 2 {
			if bits&brailleBit[row][col] != 0 {
				fmt.Fprintf(p.out, `<circle cx="%.2f" cy="%.2f" r="1.25"/>`,
					px(x)+cellW*(0.25+0.5*float64(col)), py(y)+cellH*(0.125+0.25*float64(row)))
			}
		}
	}
	fmt.Fprintln(p.out, `</g>`)
}

// boxPath is the line of a box drawing character in the cell at (x, y).
func boxPath(r rune, x, y float64) (string, bool) {
	mx, my, ex, ey := x+cellW/2, y+cellH/2, x+cellW, y+cellH
	f := fmt.Sprintf
	const k = cellW / 2 // radius of a rounded corner
	switch r {
	case '─', '━':
		return f("M%.2f %.2fH%.2f", x, my, ex), true
	case '│':
		return f("M%.2f %.2fV%.2f", mx, y, ey), true
	case '┤':
		return f("M%.2f %.2fV%.2fM%.2f %.2fH%.2f", mx, y, ey, x, my, mx), true
	case '╭':
		return f("M%.2f %.2fV%.2fQ%.2f %.2f %.2f %.2fH%.2f", mx, ey, my+k, mx, my, mx+k, my, ex), true
	case '╮':
		return f("M%.2f %.2fV%.2fQ%.2f %.2f %.2f %.2fH%.2f", mx, ey, my+k, mx, my, mx-k, my, x), true
	case '╰':
		return f("M%.2f %.2fV%.2fQ%.2f %.2f %.2f %.2fH%.2f", mx, y, my-k, mx, my, mx+k, my, ex), true
	case '╯':
		return f("M%.2f %.2fV%.2fQ%.2f %.2f %.2f %.2fH%.2f", mx, y, my-k, mx, my, mx-k, my, x), true
	}
	return "", false
}

// block draws bars and marks.
func (p *picture) block(x, y int, r rune, fill, op string) bool {
	bar := func(opacity float64) {
		fmt.Fprintf(p.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s" opacity="%g"/>`+"\n",
			px(x), py(y)+3, cellW+0.1, cellH-6, fill, opacity)
	}
	dot := func(style string) {
		fmt.Fprintf(p.out, `<circle cx="%.2f" cy="%.2f" r="3.6" %s%s/>`+"\n", px(x)+cellW/2, py(y)+cellH/2, style, op)
	}
	if r >= '▁' && r <= '▇' {
		tall := cellH * float64(r-'▁'+1) / 8
		fmt.Fprintf(p.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"%s/>`+"\n", px(x)+0.4, py(y)+cellH-tall, cellW-0.8, tall, fill, op)
		return true
	}
	switch r {
	case '█':
		bar(1)
	case '▓':
		bar(0.8)
	case '▒':
		bar(0.6)
	case '░':
		bar(0.25)
	case '■':
		fmt.Fprintf(p.out, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"%s/>`+"\n", px(x)+0.7, py(y)+4, cellW-1.4, cellH-8, fill, op)
	case '●':
		dot(`fill="` + fill + `"`)
	case '○':
		dot(`fill="none" stroke-width="1.3" stroke="` + fill + `"`)
	case '▏':
		fmt.Fprintf(p.out, `<rect x="%.2f" y="%.2f" width="1.5" height="%.2f" fill="%s"/>`+"\n", px(x), py(y)+2, cellH-4, fill)
	default:
		return false
	}
	return true
}
