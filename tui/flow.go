package tui

// flow writes one line: pieces from the left, pieces at the right end. What
// does not fit is left out by priority, the right end's first.
func flow(c *canvas, y int, left, right []fig) {
	w := c.w - 2
	both := append(append([]fig{}, left...), right...)
	kept := fitFigs(both, w)
	l, r := []fig{}, []fig{}
	// fitFigs keeps the order, so that the kept ones are told apart by walking
	// both lists along.
	i := 0
	for n, f := range both {
		if i < len(kept) && kept[i] == f {
			if n < len(left) {
				l = append(l, f)
			} else {
				r = append(r, f)
			}
			i++
		}
	}
	if i < len(kept) { // one piece, cut
		l = kept[i:]
	}
	drawFigs(c, 1, y, w, l)
	if rw := figsWidth(r); rw > 0 {
		drawFigs(c, c.w-1-rw, y, rw, r)
	}
}
