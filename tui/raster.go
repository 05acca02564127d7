package tui

// raster is a drawing of dots in a rectangle of cells: 2 x 4 braille dots to a
// cell, or in ASCII one character to a cell.
type raster struct {
	w, h   int // in cells
	ascii  bool
	bits   []uint8
	glyphs []byte // ASCII only
	styles []style
}

func newRaster(w, h int, ascii bool) *raster {
	return &raster{w: w, h: h, ascii: ascii,
		bits: make([]uint8, w*h), glyphs: make([]byte, w*h), styles: make([]style, w*h)}
}

// width and height are in dots.
func (r *raster) width() int {
	if r.ascii {
		return r.w
	}
	return r.w * 2
}

func (r *raster) height() int {
	if r.ascii {
		return r.h
	}
	return r.h * 4
}

// brailleBit holds the bit of the dot at column x, row y of a braille cell.
var brailleBit = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// dot sets one dot, counted from the top left. The cell takes the style of what
// is drawn into it last.
func (r *raster) dot(x, y int, st style, glyph byte) {
	if x < 0 || y < 0 || x >= r.width() || y >= r.height() {
		return
	}
	i := y*r.w + x
	if !r.ascii {
		i = y/4*r.w + x/2
		r.bits[i] |= brailleBit[y%4][x%2]
	}
	r.glyphs[i] = glyph
	r.styles[i] = st
}

// free tells whether the cell that holds the dot has nothing in it but st.
func (r *raster) free(x, y int, st style) bool {
	if x < 0 || y < 0 || x >= r.width() || y >= r.height() {
		return false
	}
	i := y*r.w + x
	if !r.ascii {
		i = y/4*r.w + x/2
	}
	return r.glyphs[i] == 0 || r.styles[i] == st
}

// column draws the dots from y0 to y1, either way round.
func (r *raster) column(x, y0, y1 int, st style, glyph byte) {
	for y := min(y0, y1); y <= max(y0, y1); y++ {
		r.dot(x, y, st, glyph)
	}
}

// draw puts the raster on a canvas at (x, y).
func (r *raster) draw(c *canvas, x, y int) {
	for cy := range r.h {
		for cx := range r.w {
			i := cy*r.w + cx
			switch {
			case r.ascii && r.glyphs[i] != 0:
				c.put(x+cx, y+cy, asciiCells[r.glyphs[i]&0x7f], r.styles[i])
			case !r.ascii && r.bits[i] != 0:
				c.put(x+cx, y+cy, brailleCells[r.bits[i]], r.styles[i])
			}
		}
	}
}

// brailleCells and asciiCells save a string per cell and frame.
var (
	brailleCells = func() (t [256]string) {
		for i := range t {
			t[i] = string(rune(0x2800 + i))
		}
		return t
	}()
	asciiCells = func() (t [128]string) {
		for i := range t {
			t[i] = string(rune(i))
		}
		return t
	}()
)
