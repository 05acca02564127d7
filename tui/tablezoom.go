package tui

import (
	"fmt"
	"time"

	"pgtlb/probes"
)

// drawTableZoom draws the table as large as the body, with all that is known of
// the selected process below it.
func (m *Model) drawTableZoom(c *canvas, r rect, sc *scene) {
	v := m.table.view(sc.st)
	detail := min(9, r.h/2)
	m.table.draw(c, rect{r.x, r.y, r.w, r.h - detail}, sc, true)
	box := rect{r.x, r.y + r.h - detail, r.w, detail}
	c.frame(box, stBorder)
	in := box.inner()
	in.x, in.w = in.x+1, in.w-2
	if len(v.rows) == 0 {
		return
	}
	b := v.rows[m.table.index(v)]
	titled(c, box, []fig{{fmt.Sprintf("Process %d", b.Pid), stTitle, 0}, {clean(roleText(b)), stPlain, 0}}, []fig{{"esc back", stKey, 1}})
	list := append(m.exact(sc, b), sessionFacts(b)...)
	y := in.y
	for _, f := range list {
		if y >= in.y+in.h {
			return
		}
		c.text(in.x, y, in.w, truncate(f.text, in.w), f.st)
		y++
	}
	for _, l := range wrap(clean(b.Query), in.w, in.y+in.h-y) {
		c.text(in.x, y, in.w, l, stPlain)
		y++
	}
}

// exact is the memory of the selected process from smaps_rollup, once it was
// asked for and read.
func (m *Model) exact(sc *scene, b *probes.BackendRow) []para {
	i := sc.st.Inspected
	switch {
	case i == nil || i.Pid != b.Pid:
		return []para{{"enter reads the exact memory (smaps_rollup: it is slow and holds the process's memory map lock)", stDim}}
	case i.Missing != "":
		return []para{{"exact memory: " + clean(i.Missing), stWarn}}
	}
	return []para{
		{fmt.Sprintf("Pss %s  Rss %s  private %s  shared %s  hugetlb %s",
			probes.Memory(float64(i.Pss)), probes.Memory(float64(i.Rss)), probes.Memory(float64(i.Private)), probes.Memory(float64(i.Shared)), probes.Memory(float64(i.Hugetlb))), stValue},
		{fmt.Sprintf("smaps_rollup read in %s ms at %s", probes.Short(float64(i.Took)/float64(time.Millisecond)), i.At.Format("15:04:05")), stDim},
	}
}

// sessionFacts are the session's database, user, application and wait.
func sessionFacts(b *probes.BackendRow) []para {
	text := ""
	for _, f := range [][2]string{{"database ", b.Database}, {"user ", b.User}, {"application ", b.App}, {"state ", b.State}, {"wait ", b.Wait}} {
		if f[1] != "" {
			text += f[0] + clean(f[1]) + "  "
		}
	}
	if text == "" {
		return nil
	}
	return []para{{text, stDim}}
}
