package trial

import (
	"slices"
	"testing"
)

// What the keys did to a session is in the command that repeats its run.
func TestRepeat(t *testing.T) {
	lab := func(change func(*Meta)) Meta {
		m := publishedMeta("4kB", "off")
		m.Lab, m.Command = true, "pgtlb lab --rows 6000000"
		m.Dataset = &Dataset{Rows: 6_000_000, Seed: 1}
		m.Server.SharedBuffersKB = 2 << 20
		m.Loads[0].DurationS = 0
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		meta Meta
		want []string
	}{
		"as started": {lab(func(*Meta) {}), []string{
			"pgtlb bench point-select --lab --rows 6000000 --shared-buffers 2GB --pages 4kB --random-seed 1 -c 8 -T 25"}},
		"2 MB by h, join-aggregate by 2": {lab(func(m *Meta) { m.Pages = "2MB"; m.Loads[0].Scenario = "join-aggregate" }), []string{
			"pgtlb bench join-aggregate --lab --rows 6000000 --shared-buffers 2GB --pages 2MB --reserve --random-seed 1 -c 8 -T 25"}},
		"a length that was asked for": {lab(func(m *Meta) { m.Loads[0].DurationS = 60; m.Loads[0].Seed = 7; m.Server.SharedBuffersKB = 100 << 10 }), []string{
			"pgtlb bench point-select --lab --rows 6000000 --shared-buffers 100MB --pages 4kB --random-seed 7 -c 8 -T 60"}},
		"settings": {lab(func(m *Meta) {
			m.Command = "pgtlb lab --set 'work_mem=64 MB' --set=jit=off --set huge_pages=off --pg-bindir /opt/pg/bin -T 5"
		}), []string{"pgtlb bench point-select --lab --rows 6000000 --shared-buffers 2GB --pages 4kB --random-seed 1" +
			" --set 'work_mem=64 MB' --set jit=off --pg-bindir /opt/pg/bin -c 8 -T 25"}},
		"no value": {lab(func(m *Meta) { m.Command = "pgtlb lab --set" }), []string{
			"pgtlb bench point-select --lab --rows 6000000 --shared-buffers 2GB --pages 4kB --random-seed 1 -c 8 -T 25"}},
		"two loads": {lab(func(m *Meta) { m.Loads = append(m.Loads, LoadMeta{Scenario: "join-aggregate", Clients: 4}) }), []string{
			"pgtlb lab --scenario point-select --rows 6000000 --shared-buffers 2GB --pages 4kB --random-seed 1 -c 8",
			"# then start join-aggregate (4 clients) with its key"}},
		"scripts": {lab(func(m *Meta) {
			m.Loads[0].Scenario, m.Loads[0].Params = "select-only", map[string]int64{"scale": 5}
			m.Command = "pgtlb bench -S -s 5 -c 4 --lab"
		}), []string{"pgtlb bench -S -s 5 -c 4 --lab"}},
		"no lab":    {Meta{Command: "pgtlb record -T 60"}, []string{"pgtlb record -T 60"}},
		"not known": {Meta{}, []string{}},
		"hostile": {lab(func(m *Meta) { m.Loads[0].Scenario = "x; rm -rf ~"; m.Pages = "$(y)" }), []string{
			"pgtlb bench 'x; rm -rf ~' --lab --rows 6000000 --shared-buffers 2GB --pages '$(y)' --reserve --random-seed 1 -c 8 -T 25"}},
	} {
		if got := repeat(c.meta, 24.8); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n %q, want\n %q", name, got, c.want)
		}
	}
}

// The report of a pair tells how to repeat both.
func TestRepeatOfAPair(t *testing.T) {
	cand, base := published2MB(), published4kB()
	for _, b := range []*builder{&cand, &base} {
		b.meta.Lab, b.meta.Command = true, "pgtlb lab"
	}
	r := BuildReport(cand.run(), base.run(), ReportOptions{})
	want := append(repeat(base.meta, 25), repeat(cand.meta, 25)...)
	if len(r.Repeat) != 2 || !slices.Equal(r.Repeat, want) {
		t.Errorf("repeat %q, want %q", r.Repeat, want)
	}
}
