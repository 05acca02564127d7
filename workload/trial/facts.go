package trial

import (
	"fmt"
	"strings"
	"time"

	"pgtlb/probes"
)

// FactGroup is one part of what a reader must know of the surroundings.
type FactGroup struct {
	Title string `json:"title"`
	Facts []Fact `json:"facts"`
}

// Fact is one line; Base is the baseline's value where it is another one.
type Fact struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Base  string `json:"baseline,omitempty"`
}

// String is the value, with the baseline's where that differs.
func (f Fact) String() string {
	if f.Base == "" {
		return f.Value
	}
	return f.Value + " (baseline: " + f.Base + ")"
}

// SettingRow is a setting of the server that is not at its default in one of
// the runs.
type SettingRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Base   string `json:"baseline,omitempty"` // where it differs
	Source string `json:"source"`
}

// facts describe machine, memory pages, server, load and recording.
func facts(base *Arm, cand Arm, candRun, baseRun *Run, frames, baseFrames []probes.Frame) []FactGroup {
	groups := factsOf(cand, candRun, frames)
	if base == nil {
		return groups
	}
	others := map[string]string{}
	for _, g := range factsOf(*base, baseRun, baseFrames) {
		for _, f := range g.Facts {
			others[g.Title+"\x00"+f.Label] = f.Value
		}
	}
	for i, g := range groups {
		for j, f := range g.Facts {
			other, there := others[g.Title+"\x00"+f.Label]
			switch {
			case !there:
				groups[i].Facts[j].Base = "none"
			case other != f.Value:
				groups[i].Facts[j].Base = other
			}
		}
	}
	return groups
}

func factsOf(a Arm, run *Run, frames []probes.Frame) []FactGroup {
	h, s := a.Meta.Host, a.Meta.Server
	groups := []FactGroup{
		factGroup("Machine",
			"host", h.Hostname, "system", h.OS, "kernel", h.Kernel+" "+h.Arch, "CPU", cpuText(h),
			"memory", memoryOrNone(h.MemTotalKB), "virtualisation", h.Virtual, "emulation", h.Emulated),
		factGroup("Memory pages", pageFacts(a.Meta)...),
		{Title: "Page tables at the end"},
		factGroup("Server",
			"version", versionText(s.Version), "reached by", s.Where, "database", s.Database, "kind", kindOf(a.Meta),
			"shared_buffers", memoryOrNone(s.SharedBuffersKB), "shared memory", memoryOrNone(s.SharedMemoryKB),
			"max_connections", numberOrNone(s.MaxConnections)),
		factGroup("Load", loadFacts(a.Meta)...),
		factGroup("Recording", recordingFacts(a, run)...),
	}
	if a.Meta.ByHand == nil {
		groups[2].Facts = ForecastFacts(forecastOf(a.Meta, frames), &a.Meta.Server)
	}
	return groups
}

// recordingFacts say when and how a run was measured, or that it was entered by hand.
func recordingFacts(a Arm, run *Run) []string {
	m := a.Meta
	h := m.ByHand
	if h == nil {
		return []string{"run", m.Name, "started", timeText(m.Created), "measured", Seconds(a.Summary.Seconds),
			"a sample every", intervalText(m.Interval), "events counted", m.Counting.String(), "ended", endText(run.End), "program", m.Program, "note", m.Note}
	}
	when := []string{"entered", timeText(m.Created)}
	if !h.Started.IsZero() {
		when = []string{"started", timeText(h.Started)}
	}
	return append(append([]string{"run", m.Name, "kind", "entered by hand: one figure per metric, no samples"}, when...),
		"load", Seconds(h.LoadS), "counters", "totals over "+Seconds(h.CounterWindowS), "note", m.Note)
}

// cpuText is empty where nothing is known of the machine, as of a run that was
// entered by hand; so are versionText and intervalText.
func cpuText(h probes.Host) string {
	if h.CPUs == 0 {
		return h.CPUModel
	}
	return fmt.Sprintf("%s, %d CPUs", h.CPUModel, h.CPUs)
}

func versionText(version string) string {
	if version == "" {
		return ""
	}
	return "PostgreSQL " + version
}

func intervalText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// factGroup makes a group from labels and values in turn; empty values are left out.
func factGroup(title string, pairs ...string) FactGroup {
	g := FactGroup{Title: title}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := strings.TrimSpace(pairs[i+1]); v != "" {
			g.Facts = append(g.Facts, Fact{Label: pairs[i], Value: probes.Clean(v)})
		}
	}
	return g
}

func pageFacts(m Meta) []string {
	hp := m.Server.HugePages
	use := hp.InUse
	if hp.PageKB > 0 {
		use = strings.TrimSpace(probes.Memory(float64(hp.PageKB)) + " pages, huge pages " + hp.InUse)
	}
	if hp.FellBack() {
		use += ": huge_pages = try FELL BACK"
	}
	if hp.Proof != "" && use != "" {
		use += "; proof: " + hp.Proof
	}
	out := []string{"page mode", pageSize(m.Pages), "huge_pages asked for", hp.Requested, "in use", use, "huge pages needed", numberOrNone(hp.Needed)}
	for _, p := range m.Host.Pools {
		text := "empty"
		if p.Total > 0 {
			text = fmt.Sprintf("%s pages = %s; touched %s, reserved %s, available %s", probes.Number(float64(p.Total)),
				probes.Memory(float64(p.Total)*float64(p.PageKB)), probes.Number(float64(p.Touched())), probes.Number(float64(p.Reserved)), probes.Number(float64(p.Available())))
		}
		out = append(out, "pool of "+probes.Memory(float64(p.PageKB))+" pages", text)
	}
	for _, k := range keys(m.Host.THP, nil) {
		out = append(out, "THP "+k, m.Host.THP[k])
	}
	return out
}

func kindOf(m Meta) string {
	if m.Lab {
		return "pgtlb's own throw-away server"
	}
	return ""
}

func loadFacts(m Meta) []string {
	var out []string
	for _, l := range m.Loads {
		text := fmt.Sprintf("%d clients", l.Clients)
		if m.ByHand == nil {
			text += fmt.Sprintf(", version %d of the scenario, seed %d", l.Version, l.Seed)
		}
		for _, k := range keys(l.Params, nil) {
			text += fmt.Sprintf(", %s %s", k, probes.Number(float64(l.Params[k])))
		}
		if l.DurationS > 0 {
			text += ", for " + Seconds(l.DurationS)
		}
		out = append(out, l.Scenario, text)
	}
	if len(out) == 0 {
		out = append(out, "load", "none of pgtlb's: what the server did anyway")
	}
	if d := m.Dataset; d != nil {
		fits := "does not fit shared_buffers"
		if d.FitsSharedBuffer {
			fits = "fits shared_buffers"
		}
		out = append(out, "data", fmt.Sprintf("%s rows, table %s, index %s: %s; seed %d", probes.Number(float64(d.Rows)),
			probes.Memory(float64(d.TableBytes)/1024), probes.Memory(float64(d.IndexBytes)/1024), fits, d.Seed))
	}
	return out
}

func endText(e *End) string {
	if e == nil {
		return "interrupted: the recording has no end"
	}
	return e.Reason
}

func memoryOrNone(kB uint64) string {
	if kB == 0 {
		return ""
	}
	return probes.Memory(float64(kB))
}

func numberOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return probes.Number(float64(n))
}

// settingRows lists the non-default settings of both runs.
func settingRows(cand Meta, base *Meta) []SettingRow {
	out := []SettingRow{}
	seen := map[string]bool{}
	for _, s := range cand.Server.Settings {
		seen[s.Name] = true
		row := SettingRow{Name: s.Name, Value: probes.Clean(s.Value), Source: s.Source}
		if base != nil && setting(*base, s.Name) != s.Value {
			row.Base = probes.Clean(setting(*base, s.Name))
		}
		out = append(out, row)
	}
	if base == nil {
		return out
	}
	for _, s := range base.Server.Settings {
		if !seen[s.Name] {
			out = append(out, SettingRow{Name: s.Name, Value: "(default)", Base: probes.Clean(s.Value), Source: s.Source})
		}
	}
	return out
}
