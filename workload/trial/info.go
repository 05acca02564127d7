package trial

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/experiment"
)

// Info describes a run file from its head and tail, without reading the rest.
func Info(path string) RunInfo {
	info := RunInfo{Path: path, Name: strings.TrimSuffix(filepath.Base(path), Extension)}
	f, err := os.Open(path)
	if err != nil {
		info.Problem = reason(err).Error()
		return info
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		info.Bytes, info.Created = st.Size(), st.ModTime()
	}
	in := newLineReader(f)
	meta, err := readHeader(in)
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	info.Created, info.Scenario, info.Pages, info.Server = meta.Created, scenarios(*meta), meta.Pages, meta.Server.Version
	info.Step, info.ByHand = meta.Step, meta.ByHand != nil
	if meta.Name != info.Name {
		info.Recorded = meta.Name
	}
	tail := readTail(f, info.Bytes)
	info.Tags, info.Complete = tail.tags, tail.ended
	info.LoadFailed = tail.failed
	if !tail.ended {
		info.Recording, _ = experiment.Locked(f)
	}
	t := tail.totals
	switch {
	case meta.ByHand != nil:
		t = &totals{Seconds: meta.ByHand.LoadS, TPS: meta.ByHand.Metrics[probes.TPS]}
	case t == nil:
		ends := betweenEnds(headOf(in, *meta), tail.samples)
		t = &ends
	}
	info.Seconds, info.TPS = t.Seconds, t.TPS
	return info
}

// betweenEnds makes a run's totals from its first and its last samples alone, for
// runs without a footer and for those from before it held totals.
func betweenEnds(head, tail []probes.Sample) totals {
	var p span
	for i := range head {
		p.add(&head[i])
	}
	for i := range tail {
		if len(head) == 0 || tail[i].T > head[len(head)-1].T {
			p.add(&tail[i])
		}
	}
	if len(head) == 0 || len(tail) == 0 {
		return totals{}
	}
	return p.totals()
}

// How much of a run file a list reads at either end.
const (
	headSamples = 4
	tailSamples = 4
	// tailBytes are enough for a footer and the samples of a small run. Where the
	// last sample in full lies further in front, more is read, up to mostTail.
	tailBytes = 1 << 16
	mostTail  = 2 * longestLine
)

// headOf reads the first samples behind the header.
func headOf(in *lineReader, meta Meta) []probes.Sample {
	p := newRunParser(meta)
	for range headSamples {
		text, whole, err := in.next()
		if err != nil || p.take(text, whole, in.number) != nil {
			break
		}
	}
	return p.run.Samples
}

// runTail is what the end of a run file tells.
type runTail struct {
	ended   bool
	failed  bool // its load did
	totals  *totals
	tags    []string
	samples []probes.Sample // the last ones, where there are no totals
}

// readTail reads the end of a run file, as far to the front as it must.
func readTail(f io.ReaderAt, size int64) runTail {
	for n := int64(tailBytes); ; n *= 4 {
		n = min(n, size)
		buf := make([]byte, n)
		got, err := f.ReadAt(buf, size-n)
		if err != nil && !errors.Is(err, io.EOF) {
			return runTail{}
		}
		lines := bytes.Split(buf[:got], []byte("\n"))
		if n < size {
			lines = lines[1:] // begins somewhere in the middle of a line
		}
		t, whole := tailOf(lines)
		if whole || n >= size || n >= mostTail {
			return t
		}
	}
}

// tailOf reads the last lines of a run; whole is false where the samples that are
// wanted begin further in front.
func tailOf(lines [][]byte) (t runTail, whole bool) {
	i := len(lines) - 1
	tagged, samples := false, 0
	for ; i >= 0; i-- {
		text := lines[i]
		switch {
		case bytes.HasPrefix(text, []byte(deltaStart)):
			samples++
		case bytes.HasPrefix(text, []byte(`{"sample":`)):
			samples++
			whole = samples >= tailSamples
		case bytes.HasPrefix(text, []byte(`{"end":`)), bytes.HasPrefix(text, []byte(`{"tags":`)):
			var l line
			if decode(text, &l) != nil {
				continue
			}
			if l.Tags != nil && !tagged {
				t.tags, tagged = slices.Sorted(slices.Values(*l.Tags)), true
			}
			if l.End != nil {
				t.ended, t.totals = true, l.Totals
				t.failed = l.End.loadFailed()
			}
		}
		if whole || t.totals != nil {
			break
		}
	}
	if t.totals != nil {
		return t, true
	}
	p := newRunParser(Meta{})
	for number, text := range lines[max(i, 0):] {
		_ = p.take(text, true, number+1) // the header, if it is among them, is no sample
	}
	t.samples = p.run.Samples[max(0, len(p.run.Samples)-tailSamples):]
	return t, whole
}
