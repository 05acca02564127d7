package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgtlb/probes"
)

// CheckBaseline refuses to hold a run against itself: the report would call the
// lack of any difference a result.
func CheckBaseline(cand, base Meta) error {
	if base.Name == cand.Name {
		return fmt.Errorf("%s is the run itself: choose another baseline", probes.Clean(base.Name))
	}
	return nil
}

// Varied says what was meant to differ between two runs: the page mode where it
// differs, else the one setting that does. It is empty where nothing or more
// than one thing differs.
func Varied(base, cand Meta) string {
	if base.Pages != cand.Pages && base.Pages != "" && cand.Pages != "" {
		return fmt.Sprintf("pages: %s → %s", base.Pages, cand.Pages)
	}
	names := changedSettings(base, cand)
	if len(names) != 1 || len(surroundings(base, cand)) > 0 {
		return ""
	}
	n := names[0]
	return fmt.Sprintf("%s: %s → %s", n, setting(base, n), setting(cand, n))
}

// Differs names what makes two runs hard to compare, in words such as "rows
// 1,000,000 against 6,000,000". What was varied is not among it, nor what must
// follow from it: with other pages the pools and the huge page settings differ.
func Differs(base, cand Meta) []string {
	out := surroundings(base, cand)
	names := changedSettings(base, cand)
	if len(names) == 1 && Varied(base, cand) != "" && base.Pages == cand.Pages {
		return out
	}
	for _, n := range names {
		out = append(out, fmt.Sprintf("setting %s %s against %s", n, setting(base, n), setting(cand, n)))
	}
	return out
}

// surroundings compares everything but the server's settings.
func surroundings(base, cand Meta) []string {
	var d differences
	d.text("machine", base.Host.Hostname, cand.Host.Hostname)
	d.text("CPU", base.Host.CPUModel, cand.Host.CPUModel)
	d.number("CPUs", base.Host.CPUs, cand.Host.CPUs)
	if base.Host.MemTotalKB != cand.Host.MemTotalKB {
		d.text("memory", probes.Memory(float64(base.Host.MemTotalKB)), probes.Memory(float64(cand.Host.MemTotalKB)))
	}
	d.text("kernel", base.Host.Kernel, cand.Host.Kernel)
	d.text("emulation", base.Host.Emulated, cand.Host.Emulated)
	for _, k := range keys(base.Host.THP, cand.Host.THP) {
		d.text("THP "+k, base.Host.THP[k], cand.Host.THP[k])
	}
	// Within an experiment the pools change by what it reserves, and by what others on
	// the machine do; neither is another setting of the runs.
	if base.Pages == cand.Pages && !sameExperiment(base, cand) {
		d.text("huge page pools", pools(base.Host.Pools), pools(cand.Host.Pools))
	}
	d.text("server version", base.Server.Version, cand.Server.Version)
	d.loads(base.Loads, cand.Loads)
	if b, c := base.Dataset, cand.Dataset; b != nil && c != nil {
		d.text("rows", probes.Number(float64(b.Rows)), probes.Number(float64(c.Rows)))
		d.number("the seed of the data", b.Seed, c.Seed)
		if b.Rows == c.Rows && b.Seed == c.Seed { // both are part of the fingerprint
			d.text("the definition of the data", b.Fingerprint, c.Fingerprint)
		}
	}
	d.text("the time between samples", base.Interval, cand.Interval)
	return d
}

// sameExperiment tells whether two runs are steps of one experiment.
func sameExperiment(a, b Meta) bool {
	return a.Step != nil && b.Step != nil && a.Step.Experiment == b.Step.Experiment
}

// differences collects "what a against b".
type differences []string

func (d *differences) text(what string, base, cand any) {
	if base != cand {
		*d = append(*d, fmt.Sprintf("%s %s against %s", what, orNone(base), orNone(cand)))
	}
}

func (d *differences) number(what string, base, cand any) {
	if base != cand {
		*d = append(*d, fmt.Sprintf("%s %v against %v", what, base, cand))
	}
}

func orNone(v any) string {
	if s := fmt.Sprint(v); s != "" {
		return s
	}
	return "(none)"
}

func (d *differences) loads(base, cand []LoadMeta) {
	d.text("scenario", scenarios(Meta{Loads: base}), scenarios(Meta{Loads: cand}))
	if len(base) != len(cand) {
		return
	}
	for i, b := range base {
		c := cand[i]
		if b.Scenario != c.Scenario {
			continue
		}
		d.number("the version of "+b.Scenario, b.Version, c.Version)
		d.number("clients of "+b.Scenario, b.Clients, c.Clients)
		d.number("the seed of "+b.Scenario, b.Seed, c.Seed)
		for _, k := range keys(b.Params, c.Params) {
			if k != "rows" { // the dataset tells of its rows
				d.number(k+" of "+b.Scenario, b.Params[k], c.Params[k])
			}
		}
	}
}

func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func pools(ps []probes.Pool) string {
	out := make([]string, 0, len(ps))
	for _, p := range ps {
		if p.Total > 0 {
			out = append(out, fmt.Sprintf("%s × %s", probes.Number(float64(p.Total)), probes.Memory(float64(p.PageKB))))
		}
	}
	return strings.Join(out, ", ")
}

// placeOnly are settings that say where a server is and what it is called, and
// change nothing about its speed.
func placeOnly(name string) bool {
	switch name {
	case "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "unix_socket_directories",
		"unix_socket_group", "unix_socket_permissions", "listen_addresses", "port", "cluster_name", "application_name":
		return true
	}
	return strings.HasPrefix(name, "log_")
}

// changedSettings names the settings that differ, without those that only say
// where a server is and, where the pages differ, without the huge page settings.
func changedSettings(base, cand Meta) []string {
	all := map[string]bool{}
	for _, m := range []Meta{base, cand} {
		for _, s := range m.Server.Settings {
			all[s.Name] = true
		}
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		pages := n == "huge_pages" || n == "huge_page_size"
		if placeOnly(n) || pages && base.Pages != cand.Pages {
			continue
		}
		if setting(base, n) != setting(cand, n) {
			out = append(out, n)
		}
	}
	return out
}

// setting is a server's value of a setting; only non-default ones are recorded.
func setting(m Meta, name string) string {
	for _, s := range m.Server.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return "(default)"
}
