package trial

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"pgtlb/probes"
)

// WriteBenchstat writes runs in the form of Go's benchmarks, one line each with the
// figures of its load window, to be compared with benchstat. What was varied is in
// the name, so that "benchstat -col /pages" or "-col /huge_pages" finds the arms;
// what holds for a run as a whole stands in configuration lines, "key: value".
func WriteBenchstat(w io.Writer, runs []*Run) error {
	out := bufio.NewWriter(w)
	used := map[string]probes.Metric{}
	var lines []string
	config := map[string]string{}
	for _, run := range runs {
		a := ArmOf(run)
		next := benchConfig(a.Meta)
		// A key that the run before had and this one has not is taken back.
		for _, k := range configKeys() {
			if next[k] != config[k] {
				lines = append(lines, k+": "+next[k])
			}
		}
		config = next
		lines = append(lines, "# run "+probes.Clean(a.Meta.Name), benchLine(a, used))
	}
	for _, m := range probes.Catalogue() {
		if _, ok := used[m.ID]; !ok {
			continue
		}
		switch m.Better {
		case probes.Up:
			fmt.Fprintf(out, "Unit %s better=higher\n", benchUnit(m))
		case probes.Down:
			fmt.Fprintf(out, "Unit %s better=lower\n", benchUnit(m))
		}
	}
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing benchmark lines: %w", err)
	}
	return nil
}

// configKeys are the keys of benchConfig in the order in which they are written.
func configKeys() []string {
	return []string{"host", "cpu", "cpus", "kernel", "server", "shared_buffers_kb", "experiment"}
}

func benchConfig(m Meta) map[string]string {
	c := map[string]string{"host": m.Host.Hostname, "cpu": m.Host.CPUModel, "kernel": m.Host.Kernel, "server": m.Server.Version}
	if m.Host.CPUs > 0 {
		c["cpus"] = fmt.Sprint(m.Host.CPUs)
	}
	if m.Server.SharedBuffersKB > 0 {
		c["shared_buffers_kb"] = fmt.Sprint(m.Server.SharedBuffersKB)
	}
	if m.Step != nil {
		c["experiment"] = m.Step.Experiment
	}
	for k, v := range c {
		c[k] = probes.Clean(v)
	}
	return c
}

// benchLine is one run: "BenchmarkPointSelect/pages=4kB/clients=8 1 54263 txn/s …".
func benchLine(a Arm, used map[string]probes.Metric) string {
	m := a.Meta
	name := "Benchmark" + camel(scenarios(m))
	if m.Step != nil {
		name += "/" + benchWord(m.Step.Factor) + "=" + benchWord(m.Step.Arm)
	}
	if m.Pages != "" && (m.Step == nil || m.Step.Arm != m.Pages) {
		name += "/pages=" + benchWord(m.Pages)
	}
	clients := 0
	for _, l := range m.Loads {
		clients += l.Clients
	}
	if clients > 0 {
		name += fmt.Sprintf("/clients=%d", clients)
	}
	parts := []string{name, "1"} // one iteration: the run
	for _, metric := range probes.Catalogue() {
		f := a.Summary.Get(metric.ID)
		if !f.OK() || metric.Kind == probes.Distribution {
			continue
		}
		used[metric.ID] = metric
		parts = append(parts, plain(f.Value), benchUnit(metric))
	}
	return strings.Join(parts, " ")
}

// benchUnit is a metric's unit on a benchmark line, where it also tells the metrics
// apart: "txn/s", "latency-p99-ms", "page-faults/s".
func benchUnit(m probes.Metric) string {
	switch {
	case m.ID == probes.TPS:
		return m.Unit
	case m.Kind == probes.Counter:
		return strings.ReplaceAll(m.ID, "_", "-") + "/s"
	}
	return strings.ReplaceAll(m.ID, "_", "-")
}

// camel makes a name that the form takes for a benchmark's: "PointSelect".
func camel(s string) string {
	if s == "" {
		return "Watch"
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		r := []rune(w)
		r[0] = unicode.ToUpper(r[0])
		words[i] = string(r)
	}
	if len(words) == 0 {
		return "Load"
	}
	return strings.Join(words, "")
}

// benchWord is a text without what parts the words of a line or the parts of a name.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || slices.Contains([]rune{'/', '='}, r) {
			return '_'
		}
		return r
	}, probes.Clean(s))
}
