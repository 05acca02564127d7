package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// State is how a step ended.
type State string

// The ways in which a step ends.
const (
	Done        State = "done"
	Failed      State = "failed"
	Hung        State = "hung"        // ended by the watchdog
	Interrupted State = "interrupted" // by a person, or with the program
)

// Made is a step that was made.
type Made struct {
	Step    Step      `json:"step"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	State   State     `json:"state"`
	Why     string    `json:"why,omitempty"` // of any state but Done
	// Run is the recorded run; empty where none was begun.
	Run string `json:"run,omitempty"`
	// Primary is the run's figure of the primary metric; 0 where there is none.
	Primary float64 `json:"primary,omitempty"`
}

// line is one line of a journal: exactly one of its parts is set.
type line struct {
	Plan  *Plan `json:"plan,omitempty"`
	Made  *Made `json:"made,omitempty"`
	Pairs *int  `json:"pairs,omitempty"` // the number of blocks was changed
	End   *End  `json:"end,omitempty"`
}

// End is the last line of a journal. More may follow: an experiment can be gone on
// with.
type End struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Journal is an experiment on disk, appended step by step: what is written is safe
// from a crash of the program.
type Journal struct {
	Plan Plan
	Made []Made // in the order of making
	End  *End   // nil while it runs, or after a crash
	path string
	file *os.File // open and locked; nil for one that is only read
}

// folder holds the journals, below the directory of the runs.
const folder = "experiments"

const extension = ".ndjson"

// Dir is where the experiments beside the runs are.
func Dir(runs string) string { return filepath.Join(runs, folder) }

// Create begins the journal of a plan in the directory of the runs. The plan gets a
// name; one that is taken gets a number behind it.
func Create(runs string, p Plan) (*Journal, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	dir := Dir(runs)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for experiments: %w", err)
	}
	if p.Created.IsZero() {
		p.Created = time.Now()
	}
	base := p.Name
	if base == "" {
		base = p.Created.Local().Format("20060102-150405") + "-" + SafeName(p.Factor)
	}
	for i := 1; i < 1000; i++ {
		p.Name = base
		if i > 1 {
			p.Name = fmt.Sprintf("%s-%d", base, i)
		}
		path := filepath.Join(dir, p.Name+extension)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("creating the experiment's journal: %w", err)
		}
		j := &Journal{Plan: p, path: path, file: f}
		err = Lock(f)
		if err == nil {
			err = j.write(line{Plan: &p})
		}
		if err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(path))
		}
		return j, nil
	}
	return nil, fmt.Errorf("creating the experiment's journal: too many are named %s", base)
}

// Names lists the experiments beside the runs, newest first.
func Names(runs string) ([]string, error) {
	entries, err := os.ReadDir(Dir(runs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing experiments: %w", err)
	}
	var out []string
	began := map[string]time.Time{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok {
			out = append(out, name)
			began[name] = beganAt(filepath.Join(Dir(runs), e.Name()))
		}
	}
	// A name that a person gave says nothing of when it was.
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(began[b].Compare(began[a]), strings.Compare(b, a))
	})
	return out, nil
}

// beganAt is when an experiment was begun, by the first line of its journal; the zero
// time where that cannot be read.
func beganAt(path string) time.Time {
	f, err := os.Open(path)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	text, err := bufio.NewReader(f).ReadBytes('\n')
	var l line
	if err != nil || json.Unmarshal(text, &l) != nil || l.Plan == nil {
		return time.Time{}
	}
	return l.Plan.Created
}

// ErrNone says that no experiment has that name.
var ErrNone = errors.New("there is no such experiment")

// Open reads an experiment by its name, the beginning of one name, or "last".
func Open(runs, name string) (*Journal, error) {
	names, err := Names(runs)
	if err != nil {
		return nil, err
	}
	found := name
	switch {
	case name == last && len(names) > 0:
		found = names[0]
	case !slices.Contains(names, name):
		if found, err = Beginning(names, name, "experiments"); err != nil {
			return nil, err
		}
	}
	if found == "" {
		return nil, fmt.Errorf("%q: %w", name, ErrNone)
	}
	return read(filepath.Join(Dir(runs), found+extension))
}

// Exact reads the experiment of this very name.
func Exact(runs, name string) (*Journal, error) {
	if name != filepath.Base(name) {
		return nil, fmt.Errorf("%q: %w", name, ErrNone)
	}
	j, err := read(filepath.Join(Dir(runs), name+extension))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w", name, ErrNone)
	}
	return j, err
}

// read takes a journal; a last line that was cut by a crash is left out.
func read(path string) (*Journal, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading an experiment: %w", err)
	}
	j := &Journal{path: path}
	for n, text := range bytes.SplitAfter(b, []byte("\n")) {
		if !bytes.HasSuffix(text, []byte("\n")) {
			break
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("reading experiment %s, line %d: %w", filepath.Base(path), n+1, err)
		}
		j.take(l)
	}
	if j.Plan.Name == "" {
		return nil, fmt.Errorf("reading experiment %s: it has no plan", filepath.Base(path))
	}
	return j, nil
}

// take adds a line to what is known.
func (j *Journal) take(l line) {
	switch {
	case l.Plan != nil:
		j.Plan = *l.Plan
	case l.Pairs != nil:
		j.Plan.Pairs = *l.Pairs
	case l.Made != nil:
		j.Made, j.End = append(j.Made, *l.Made), nil
	case l.End != nil:
		j.End = l.End
	}
}

// GoOn opens the journal for more steps. It refuses one that another pgtlb is at,
// and reads it again: another may have been until now. One that is open already stays so.
func (j *Journal) GoOn() error {
	if j.file != nil {
		return nil
	}
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("going on with an experiment: %w", err)
	}
	var now *Journal
	if err = Lock(f); err == nil {
		err = cutToLines(f)
	}
	if err == nil {
		now, err = read(j.path)
	}
	if err != nil {
		if errors.Is(err, ErrBusy) {
			err = j.Busy()
		}
		return errors.Join(fmt.Errorf("going on with experiment %s: %w", j.Plan.Name, err), f.Close())
	}
	now.Plan.RepeatFailed = j.Plan.RepeatFailed // as it is wished now
	j.Plan, j.Made, j.End, j.file = now.Plan, now.Made, nil, f
	return nil
}

// Busy says that another program is at the experiment, and what a person can do.
func (j *Journal) Busy() error {
	return fmt.Errorf("%w: wait for it or end it; pgtlb experiment --list shows how far it is", ErrBusy)
}

// UnderWay tells whether a pgtlb is at the experiment now; known is false where that
// cannot be told.
func (j *Journal) UnderWay() (under, known bool) { return underWay(j.path) }

// UnderWay is that of the experiment of a whole name, without reading it: who looks
// before reading does not take one that ends in between for one that crashed.
func UnderWay(runs, name string) (under, known bool) {
	return underWay(filepath.Join(Dir(runs), name+extension))
}

func underWay(path string) (under, known bool) {
	f, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	return Locked(f)
}

// cutToLines removes what a crash left of a line.
func cutToLines(f *os.File) error {
	b, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	return f.Truncate(int64(bytes.LastIndexByte(b, '\n') + 1))
}

// write appends a line in one write and has it on disk when it returns.
func (j *Journal) write(l line) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return fmt.Errorf("writing the experiment's journal: %w", err)
	}
	end, err := j.file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("writing the experiment's journal: %w", err)
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		// A full disk takes a part of the line, which the next one must not follow.
		return errors.Join(fmt.Errorf("writing the experiment's journal: %w", err), j.file.Truncate(end))
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("writing the experiment's journal: %w", err)
	}
	return nil
}

// add writes a step down.
func (j *Journal) add(m Made) error {
	if err := j.write(line{Made: &m}); err != nil {
		return err
	}
	j.take(line{Made: &m})
	return nil
}

// setPairs changes the number of blocks.
func (j *Journal) setPairs(n int) error {
	if err := j.write(line{Pairs: &n}); err != nil {
		return err
	}
	j.Plan.Pairs = n
	return nil
}

// Close writes why the experiment ends and lets the journal go.
func (j *Journal) Close(reason string) error {
	end := End{At: time.Now(), Reason: reason}
	err := j.write(line{End: &end})
	if err == nil {
		j.End = &end
	}
	return errors.Join(err, j.Release())
}

// Release lets a journal go to which nothing is added, if it is open.
func (j *Journal) Release() error {
	f := j.file
	if j.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// succeeded tells whether a step of that block and arm was made well: in its turn
// or, where that failed, by its repetition.
func (j *Journal) succeeded(s Step) bool {
	return slices.ContainsFunc(j.Made, func(m Made) bool {
		return m.State == Done && m.Step.Block == s.Block && m.Step.Arm == s.Arm && (s.Block > 0 || m.Step.Position == s.Position)
	})
}

// Left are the steps that are still to be made, in their order. A step that failed
// in its turn is not among them; one that was interrupted is.
func (j *Journal) Left() []Step {
	var out []Step
	for _, s := range j.Plan.Steps() {
		made := slices.ContainsFunc(j.Made, func(m Made) bool { return m.Step == s && m.State != Interrupted })
		if !made {
			out = append(out, s)
		}
	}
	return out
}

// failed are the steps to be repeated at the end: those that failed in their turn
// and were not made well since.
func (j *Journal) failed() []Step {
	var out []Step
	for _, m := range j.Made {
		if m.Step.Repeat || m.State != Failed && m.State != Hung || j.succeeded(m.Step) {
			continue
		}
		s := m.Step
		s.Repeat = true
		if !slices.ContainsFunc(j.Made, func(o Made) bool { return o.Step == s && o.State != Interrupted }) {
			out = append(out, s)
		}
	}
	return out
}

// Counting are the steps of an arm whose runs count, in the order of making;
// withRepeats adds those that were made out of order.
func (j *Journal) Counting(arm int, withRepeats bool) []Made {
	var out []Made
	for _, m := range j.Made {
		if m.State == Done && m.Step.Arm == arm && m.Run != "" && (withRepeats || !m.Step.Repeat) {
			out = append(out, m)
		}
	}
	return out
}

// identical are the primary figures of the runs of the first arm, in order.
func (j *Journal) identical() []float64 {
	var out []float64
	for _, m := range j.Made {
		if m.State == Done && m.Step.Arm == 0 && m.Primary > 0 {
			out = append(out, m.Primary)
		}
	}
	return out
}
