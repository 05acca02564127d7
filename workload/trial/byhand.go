package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
)

// ByHand are the figures of a run that was measured elsewhere.
type ByHand struct {
	LoadS float64 `json:"load_s"`
	// CounterWindowS is the time that the totals of counters cover.
	CounterWindowS float64 `json:"counter_window_s"`
	// Started is when it was measured; zero where that is not known. The run's Created
	// is then when it was entered.
	Started time.Time `json:"started,omitzero"`
	// Metrics are one number each by metric id: a counter's growth over the window,
	// the level of anything else.
	Metrics map[string]float64 `json:"metrics"`
}

// ByHandForm is the JSON in which a run is entered by hand.
type ByHandForm struct {
	Name     string  `json:"name"`
	Scenario string  `json:"scenario"`
	Clients  int     `json:"clients"`
	LoadS    float64 `json:"load_s"`
	// CounterWindowS is LoadS where it is left out.
	CounterWindowS float64            `json:"counter_window_s,omitempty"`
	Metrics        map[string]float64 `json:"metrics"`
	Settings       map[string]any     `json:"settings,omitempty"`
	Note           string             `json:"note,omitempty"`
	// The rest may be left out.
	Pages         string    `json:"pages,omitempty"` // "4kB", "2MB", "1GB"
	ServerVersion string    `json:"server_version,omitempty"`
	Created       time.Time `json:"created,omitzero"` // when it was measured
}

// ParseByHand reads a run that was entered by hand. What is wrong with it is said in
// one sentence.
func ParseByHand(text []byte) (*Run, error) {
	var f ByHandForm
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, formError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON object of the run; one file holds one run")
	}
	return f.run()
}

// formError says what of the form is wrong in the form's own words.
func formError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := e.Field
		if what == "" {
			what = "the run"
		}
		return fmt.Errorf("%s is a %s; it must be %s", what, e.Value, kindText(e.Type.Kind().String()))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: %w at byte %d", e, e.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: it ends in the middle")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no key %s; the keys are name, scenario, clients, load_s, counter_window_s, metrics, "+
			"settings, note, pages, server_version, created", name)
	}
	return fmt.Errorf("not the JSON of a run: %w", err)
}

func kindText(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "map", "struct":
		return "an object"
	}
	return "a string"
}

// run makes the run of a form that makes sense.
func (f ByHandForm) run() (*Run, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.CounterWindowS == 0 {
		f.CounterWindowS = f.LoadS
	}
	m := Meta{
		Schema: plainSchema, Name: experiment.SafeName(f.Name), Created: f.Created, Kind: "load", Pages: f.Pages, Note: f.Note,
		Loads:  []LoadMeta{{Scenario: f.Scenario, Clients: f.Clients, DurationS: f.LoadS}},
		Server: probes.ServerInfo{Version: f.ServerVersion},
		ByHand: &ByHand{LoadS: f.LoadS, CounterWindowS: f.CounterWindowS, Started: f.Created, Metrics: f.Metrics},
	}
	if m.Created.IsZero() {
		m.Created = time.Now()
	}
	for _, c := range probes.Catalogue() {
		if _, ok := f.Metrics[c.ID]; ok {
			c.Source, c.Scope = "entered by hand", ""
			m.Metrics = append(m.Metrics, c)
		}
	}
	for name, value := range f.Settings {
		m.Server.Settings = append(m.Server.Settings, probes.Setting{Name: name, Value: settingText(value), Source: "entered by hand"})
	}
	slices.SortFunc(m.Server.Settings, func(a, b probes.Setting) int { return strings.Compare(a.Name, b.Name) })
	return &Run{Meta: withoutSecrets(m), End: &End{At: m.Created, Reason: "entered by hand"}}, nil
}

// settingText writes a setting as a server would, whatever JSON has it as.
func settingText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "on"
		}
		return "off"
	}
	text, err := json.Marshal(v)
	if err != nil { // it came from JSON
		return fmt.Sprint(v)
	}
	return string(text)
}

func (f ByHandForm) check() error {
	switch {
	case f.Name == "":
		return errors.New("name is missing: what the run is to be called")
	case f.Scenario == "":
		return errors.New("scenario is missing: what the load was, e.g. point-select")
	case f.Clients < 1:
		return fmt.Errorf("clients is missing or not at least 1 (%d): how many there were", f.Clients)
	case !(f.LoadS > 0):
		return fmt.Errorf("load_s is missing or not above 0 (%g): how long the load ran in seconds", f.LoadS)
	case f.CounterWindowS < 0:
		return errors.New("counter_window_s is negative; it is the seconds that the counters' totals cover")
	case len(f.Metrics) == 0:
		return errors.New("metrics is empty: a run needs at least one figure")
	}
	if err := checkPages(f.Pages); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(f.Metrics)) {
		m, ok := probes.Lookup(id)
		v := f.Metrics[id]
		switch {
		case !ok:
			return fmt.Errorf("there is no metric %q; near it are %s", id, strings.Join(nearMetrics(id), ", "))
		case m.Kind == probes.Distribution:
			return fmt.Errorf("metric %s is a distribution; give %s, %s, %s or %s", id,
				probes.LatencyMean, probes.LatencyP50, probes.LatencyP95, probes.LatencyP99)
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			return fmt.Errorf("metric %s is %v; no metric can be that", id, v)
		case m.Percent() && v > 100:
			return fmt.Errorf("metric %s is %v, but it is a share in %%, at most 100", id, v)
		}
	}
	return nil
}

func checkPages(pages string) error {
	switch pages {
	case "", "4kB", "2MB", "1GB":
		return nil
	}
	return fmt.Errorf("pages is %q; it is 4kB, 2MB or 1GB, or left out where it is not known", pages)
}

// nearMetrics are the ids that are likest to one that is none.
func nearMetrics(id string) []string {
	const most = 4
	var known []string
	for _, m := range probes.Catalogue() {
		if m.Kind != probes.Distribution {
			known = append(known, m.ID)
		}
	}
	return probes.Near(id, known, most)
}

// summary is the run in one number per metric, as that of a measured one.
func (h *ByHand) summary() *Summary {
	s := &Summary{Seconds: h.LoadS, Figures: map[probes.Key]Figure{}, Latency: map[string]*probes.Histogram{}}
	for id, v := range h.Metrics {
		f := Figure{Value: v}
		if m, ok := probes.Lookup(id); ok && m.Kind == probes.Counter {
			f.Total, f.Value = v, v/h.CounterWindowS
		} else if ok && m.Kind == probes.Gauge {
			f.Start, f.End, f.Max = v, v, v
		}
		s.Figures[probes.Key{ID: id}] = f
	}
	return s
}

// HasSamples says why there is nothing to play of a run that was entered by hand.
func (run *Run) HasSamples() error {
	if run.Meta.ByHand != nil {
		return fmt.Errorf("run %s was entered by hand: it has one figure per metric and no samples to show; "+
			`"pgtlb report" and "pgtlb compare" can use it`, run.Meta.Name)
	}
	return nil
}
