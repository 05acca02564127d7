package tui

// sparkBlocks and sparkASCII are heights in one character. The highest leaves a
// gap to the line above.
var (
	sparkBlocks = [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"}
	sparkASCII  = [...]string{"_", ".", "-", "=", "*", "%", "#"}
)

// spark draws a line as bars in one row of w cells; a cell is the mean of the
// points that fall into it. Bars begin at 0 unless all values are far from it,
// then at half of the smallest.
func spark(c *canvas, x, y, w int, l line, x0, x1 float64, ascii bool) {
	if w < 1 || !(x1 > x0) {
		return
	}
	sums, counts := make([]float64, w), make([]int, w)
	for _, p := range l.points {
		if p.x < x0 || p.x > x1 {
			continue
		}
		i := min(w-1, int((p.x-x0)/(x1-x0)*float64(w)))
		sums[i] += p.y
		counts[i]++
	}
	lo, hi := 0.0, 0.0
	first := true
	for i, n := range counts {
		if n == 0 {
			continue
		}
		sums[i] /= float64(n)
		if first {
			lo, first = sums[i], false
		}
		lo, hi = min(lo, sums[i]), max(hi, sums[i])
	}
	if lo < hi/2 {
		lo = 0
	} else {
		lo /= 2
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		level := 0
		if hi > lo {
			level = int((sums[i]-lo)/(hi-lo)*float64(len(sparkBlocks)-1) + 0.5)
		}
		glyph := sparkBlocks[level]
		if ascii {
			glyph = sparkASCII[level]
		}
		c.put(x+i, y, glyph, l.st)
	}
}
