package trial

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
	"pgtlb/workload/lab"
)

// hugePages is the setting whose values may be page sizes.
const hugePages = "huge_pages"

// arm is one value of the experiment.
type arm struct {
	value string
	set   map[string]string // the server's settings that make it
	pages lab.Pages         // the page size that it stands for; 0 for none
	// reserve lets a restart of the lab grow the pool.
	reserve bool
}

// change is what a restart of the lab is told for an arm.
func (a *arm) change() lab.Change {
	if a.pages != 0 {
		return lab.Change{Pages: a.pages, Reserve: a.reserve}
	}
	return lab.Change{Settings: a.set, Reserve: a.reserve}
}

// Check refuses what can be refused without a server: values that may be secrets, page
// sizes that there are not and, for a lab, those that this machine does not have.
func (o *ExperimentOptions) Check(r probes.Roots, inLab bool) error {
	p := &o.Plan
	if probes.IsSecret(p.Factor, strings.Join(p.Values, " ")) {
		return fmt.Errorf("--vary %s: it may hold a password or a key, and an experiment writes its values into files and reports", p.Factor)
	}
	sizes, err := pageSizes(p)
	if err != nil || !inLab {
		return err
	}
	for _, size := range sizes {
		if size == lab.Pages4kB {
			continue
		}
		if _, err := lab.ReadPool(r, size); err != nil {
			return fmt.Errorf("--vary %s=%s: %w", hugePages, size, err)
		}
	}
	return nil
}

// pageSizes are the values of a plan as page sizes; nil where they are none.
func pageSizes(p *experiment.Plan) ([]lab.Pages, error) {
	meant := func(value string) bool { return strings.HasSuffix(strings.ToLower(value), "b") } // on, off and try are words
	if strings.ToLower(p.Factor) != hugePages || !slices.ContainsFunc(p.Values, meant) {
		return nil, nil
	}
	var sizes []lab.Pages
	for i, v := range p.Values {
		size, err := lab.ParsePages(v)
		if err != nil {
			return nil, fmt.Errorf("--vary %s: %w", hugePages, err)
		}
		if at := slices.Index(sizes, size); at >= 0 && p.Values[at] != p.Values[i] {
			return nil, twins(hugePages, p.Values[at], v)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// valueArms turns the values of a plan into settings of the server, which knows the
// varied one by that name. On a server of others huge pages are asked for with try: with
// on it would not start where the pool is too small. What it really got is proved after
// each start.
func valueArms(setting string, p *experiment.Plan, inLab bool, major int) ([]arm, error) {
	sizes, err := pageSizes(p)
	if err != nil {
		return nil, err
	}
	var arms []arm
	for i, v := range p.Values {
		a := arm{value: v, set: map[string]string{setting: v}}
		if sizes != nil {
			a.pages = sizes[i]
			a.set[hugePages] = "off"
		}
		if a.pages != 0 && a.pages != lab.Pages4kB {
			a.set[hugePages] = "on"
			if !inLab {
				a.set[hugePages] = "try"
				if major >= hugePageSizeSince {
					a.set["huge_page_size"] = a.pages.String()
				}
			}
		}
		arms = append(arms, a)
	}
	return arms, nil
}

// twins refuses two ways of writing the same value.
func twins(setting, one, other string) error {
	return fmt.Errorf("--vary: %s and %s are the same value of %s; write it alike, as in %s=%s,%s, for an A/A experiment", one, other, setting, setting, other, other)
}

// setBesides refuses settings of a lab (--set) that would win over its page size.
func setBesides(arms []arm, settings map[string]string) error {
	for name := range settings {
		if slices.ContainsFunc(arms, func(a arm) bool { return a.pages != 0 }) && strings.HasPrefix(strings.ToLower(name), "huge_page") {
			return fmt.Errorf("--set %s: leave it out, the experiment varies the page size", name)
		}
	}
	return nil
}
