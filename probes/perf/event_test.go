package perf

import (
	"slices"
	"strings"
	"testing"
)

func TestPlansFitTheCounters(t *testing.T) {
	for _, c := range []CPU{{Vendor: "GenuineIntel", Family: 6, Model: 0x8f}, {Vendor: "AuthenticAMD", Family: 0x1a},
		{Vendor: "ARM", Implementer: 0x41, Part: 0xd84}, {Vendor: "RISC-V"}} {
		events, _ := catalogue(c)
		has := func(id string) bool { return slices.ContainsFunc(events, func(e Event) bool { return e.ID == id }) }
		var open []string
		for _, p := range plans() {
			for i, l := range p.of(has).layouts {
				for _, g := range l.groups {
					if len(g) > 4 {
						t.Errorf("%s, %s: group of %d: %v", c, p.name, len(g), g)
					}
				}
				if i == 0 {
					open = append(open, l.ids()...)
				}
			}
		}
		for _, e := range events {
			if !slices.Contains(open, e.ID) {
				t.Errorf("%s: %s is in no group", c, e.ID)
			}
		}
	}
}

// A bound made of a part of the walks would be too low: without one of them the group is not opened.
func TestWalksAreWholeOrNothing(t *testing.T) {
	walks := plans()[3].of(func(id string) bool { return id != WalkUserData })
	all := []string{WalkUserCycles, WalkUserLoad, WalkUserStore, WalkUserInstr}
	if got := walks.reduced(all); len(got) != 1 || !slices.Equal(got[0].ids(), all) {
		t.Errorf("all of them: %v", got)
	}
	for _, id := range all {
		rest := slices.DeleteFunc(slices.Clone(all), func(o string) bool { return o == id })
		if got := walks.reduced(rest); got != nil {
			t.Errorf("without %s: %v", id, got)
		}
	}
	if got := plans()[3].of(func(string) bool { return false }).reduced(nil); got != nil {
		t.Errorf("on a CPU that has none: %v", got)
	}
}

func TestEveryEventHasAPlaceAndAnOrder(t *testing.T) {
	var planned []string
	for _, p := range plans() {
		planned = append(planned, p.layouts[0].ids()...)
		first := p.layouts[0].ids()
		for _, l := range p.layouts[1:] {
			for _, id := range l.ids() {
				if !slices.Contains(first, id) {
					t.Errorf("%s is not in the first layout of %s", id, p.name)
				}
			}
		}
	}
	order := keepOrder()
	slices.Sort(planned)
	slices.Sort(order)
	if !slices.Equal(planned, order) {
		t.Errorf("planned %v, in order %v", planned, order)
	}
}

// Both numbers of a ratio come from one group wherever both are there.
func TestRatiosStayInOneGroup(t *testing.T) {
	for _, p := range plans() {
		for _, l := range p.layouts {
			for _, g := range l.groups {
				if slices.Contains(g, WalkCyclesLoad) && !slices.Contains(g, Cycles) {
					t.Errorf("%s: load walks without cycles in %v", p.name, g)
				}
				if slices.Contains(g, WalkCyclesStore) && !(slices.Contains(g, CyclesUser) && slices.Contains(g, CyclesKernel)) {
					t.Errorf("%s: store walks without cycles in %v", p.name, g)
				}
			}
		}
	}
}

func TestReducedLayouts(t *testing.T) {
	text := func(ls []layout) string {
		var out []string
		for _, l := range ls {
			out = append(out, l.String())
		}
		return strings.Join(out, " | ")
	}
	cycles, tlb := plans()[1], plans()[2]
	for _, c := range []struct {
		plan plan
		want []string
		text string
	}{
		{tlb, []string{Cycles, DTLBLoads, DTLBLoadMisses},
			"dtlb_loads+dtlb_load_misses | dtlb_loads, dtlb_load_misses | dtlb_loads, dtlb_load_misses (taking turns)"},
		{tlb, []string{DTLBLoadMisses}, "dtlb_load_misses | dtlb_load_misses (taking turns)"},
		{tlb, nil, ""},
		{cycles, []string{CyclesUser, CyclesKernel},
			"cycles_user+cycles_kernel | cycles_user, cycles_kernel | cycles_user, cycles_kernel (taking turns)"},
	} {
		if got := text(c.plan.reduced(c.want)); got != c.text {
			t.Errorf("%s with %v:\n%s\nwant\n%s", c.plan.name, c.want, got, c.text)
		}
	}
}

func TestScopeWords(t *testing.T) {
	if s := System().String(); s != "system wide" {
		t.Error(s)
	}
	if s := Tree(1234).String(); s != "postmaster 1234 and its children" {
		t.Error(s)
	}
	if s := Cgroup("/sys/fs/cgroup/system.slice/postgresql@15-main.service").String(); s != "cgroup postgresql@15-main.service" {
		t.Error(s)
	}
}
