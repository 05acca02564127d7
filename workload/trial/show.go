package trial

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"pgtlb/probes"
)

// Shown is everything about one run.
type Shown struct {
	Info    RunInfo       `json:"run"`
	Meta    Meta          `json:"meta"`
	End     *End          `json:"end"` // null for one that was interrupted
	Samples int           `json:"samples"`
	Looks   int           `json:"background_looks"`
	Figures []ShownFigure `json:"figures"`
	Gaps    []string      `json:"gaps"`
	facts   []FactGroup
}

// ShownFigure is one metric of a run over its load.
type ShownFigure struct {
	Metric string   `json:"metric"`
	Label  string   `json:"label,omitempty"`
	Unit   string   `json:"unit"`
	Value  *float64 `json:"value"`           // per second for a counter; null where it is missing
	Total  *float64 `json:"total,omitempty"` // of a counter
	// Missing is why there is no value.
	Missing string `json:"missing,omitempty"`
	title   string
	text    string
}

// Show reads everything about a run of the store or a file.
func (s *Store) Show(what string) (Shown, error) {
	path, err := s.Resolve(what)
	if err != nil {
		return Shown{}, err
	}
	run, err := Read(path)
	if err != nil {
		return Shown{}, err
	}
	run.Meta = withoutSecrets(run.Meta)
	a := ArmOf(run)
	sh := Shown{Info: Info(path), Meta: run.Meta, End: run.End, Samples: len(run.Samples), Looks: len(run.Background),
		Figures: []ShownFigure{}, Gaps: append([]string{}, run.Gaps()...), facts: factsOf(a, run, Frames(run))}
	if base, err := s.Baseline(); err == nil && path == s.path(base) {
		sh.Info.Baseline = true
	}
	if sh.Info.Recording {
		sh.Gaps = append([]string{}, run.Warnings...)
	}
	for _, m := range described(run.Meta) {
		for _, label := range append([]string{""}, a.Summary.labels(m.ID)...) {
			f, ok := a.Summary.Figures[probes.Key{ID: m.ID, Label: label}]
			if !ok || m.Kind == probes.Distribution {
				continue
			}
			sh.Figures = append(sh.Figures, shownFigure(m, label, f))
		}
	}
	return sh, nil
}

func shownFigure(m probes.Metric, label string, f Figure) ShownFigure {
	out := ShownFigure{Metric: m.ID, Label: label, Unit: rateUnit(m), title: m.Title, Missing: f.Missing}
	if label != "" {
		out.title += " (" + label + ")"
	}
	if !f.OK() {
		out.text = "n/a: " + f.Missing
		return out
	}
	out.Value, out.text = &f.Value, cell(m, f).String()
	if m.Kind == probes.Counter {
		out.Total = &f.Total
	}
	return out
}

// labels are the instances of a metric in a summary, sorted; the whole is not
// among them.
func (s *Summary) labels(id string) []string {
	f := probes.Frame{Values: map[probes.Key]probes.Value{}}
	for k := range s.Figures {
		f.Values[k] = probes.Value{}
	}
	return f.Labels(id)
}

// WriteText writes it for a person.
func (sh Shown) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(t, "  %s\t%s\n", label, probes.Clean(value)) // errors stay until Flush
		}
	}
	title := func(s string) { _, _ = fmt.Fprintf(t, "\n%s\n", s) }
	name := probes.Clean(sh.Info.Name)
	if sh.Info.Baseline {
		name += ", the baseline"
	}
	_, _ = fmt.Fprintln(t, name)
	line("what", RunLabel(sh.Meta))
	line("recorded as", sh.Info.Recorded)
	line("tags", strings.Join(sh.Info.Tags, ", "))
	if st := sh.Meta.Step; st != nil {
		line("experiment", st.Text())
	}
	if sh.Meta.ByHand == nil {
		line("samples", probes.Number(float64(sh.Samples)))
	}
	if sh.Meta.Queries {
		line("query texts", "held, with their constants: it was recorded with --with-queries; those that speak of secrets end there")
	}
	if sh.Looks > 0 {
		line("looks at the background", probes.Number(float64(sh.Looks)))
	}
	line("file", fmt.Sprintf("%s (%s, form %d)", sh.Info.Path, probes.Memory(float64(sh.Info.Bytes)/1024), sh.Meta.Schema))
	if sh.Info.Recording {
		line("state", "being recorded")
	}
	for _, g := range sh.Gaps {
		line("gap", g)
	}
	for _, g := range sh.facts {
		if len(g.Facts) > 0 {
			title(g.Title)
		}
		for _, f := range g.Facts {
			line(f.Label, f.Value)
		}
	}
	if len(sh.Meta.Server.Settings) > 0 {
		title("Settings that are not at their default")
		for _, s := range sh.Meta.Server.Settings {
			line(s.Name, s.Value+" ("+s.Source+")")
		}
	}
	title("Figures over the load")
	for _, f := range sh.Figures {
		line(f.title, f.text)
	}
	if len(sh.Meta.Unavailable) > 0 {
		title("Not measured")
		for _, u := range sh.Meta.Unavailable {
			text := u.Reason
			if u.Remedy != "" {
				text += "; " + u.Remedy
			}
			line(u.ID, text)
		}
	}
	return t.Flush()
}

// Text says which step of which experiment a run is: "pages: huge_pages = 4kB, block 2".
func (s StepMeta) Text() string {
	text := fmt.Sprintf("%s: %s = %s, ", s.Experiment, s.Factor, s.Arm)
	if s.Block == 0 {
		text += "before the first change"
	} else {
		text += fmt.Sprintf("block %d", s.Block)
	}
	if s.OutOfOrder {
		text += ", repeated at the end"
	}
	return text
}
