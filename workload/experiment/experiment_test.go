package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func plan(pairs int, values ...string) Plan {
	return Plan{Factor: "huge_pages", Values: values, Pairs: pairs, Order: ABBA, Detect: 0.03, Margin: 0.01, Limit: time.Minute}
}

// letters are the arms of the steps in their order, a bar before each block.
func letters(steps []Step) string {
	var b strings.Builder
	block := 0
	for _, s := range steps {
		if s.Block != block {
			b.WriteString("|")
			block = s.Block
		}
		fmt.Fprintf(&b, "%c", 'A'+s.Arm)
	}
	return b.String()
}

func TestSteps(t *testing.T) {
	if got := letters(plan(4, "4kB", "2MB").Steps()); got != "AA|AB|BA|AB|BA" {
		t.Error(got)
	}
	// Over six blocks each of three arms has each place twice.
	three := plan(6, "4kB", "2MB", "1GB").Steps()
	if got := letters(three); got != "AA|ABC|CBA|BCA|ACB|CAB|BAC" {
		t.Error(got)
	}
	for i, s := range three {
		if s.Position != i+1 {
			t.Errorf("step %d has position %d", i+1, s.Position)
		}
	}
	random := plan(20, "a", "b")
	random.Order, random.Seed = Random, 7
	other := random
	other.Seed = 8
	if a, b := letters(random.Steps()), letters(random.Steps()); a != b || a == letters(other.Steps()) {
		t.Errorf("%s %s", a, b)
	}
	longer := random
	longer.Pairs = 30
	if !strings.HasPrefix(letters(longer.Steps()), letters(random.Steps())) {
		t.Error("more pairs change the order of the first")
	}
}

func TestParseVary(t *testing.T) {
	f, v, err := ParseVary("shared_buffers = 128MB, 6GB")
	if err != nil || f != "shared_buffers" || !slices.Equal(v, []string{"128MB", "6GB"}) {
		t.Errorf("%q %q %v", f, v, err)
	}
	for _, bad := range []string{"", "huge_pages", "=a,b", "x=a", "x=a,,b", "x="} {
		if _, _, err := ParseVary(bad); err == nil || !strings.HasPrefix(err.Error(), "--vary ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if p := plan(1, "4kB", "4kB"); !p.AA() || !slices.Equal(p.Arms(), []string{"4kB (A)", "4kB (B)"}) {
		t.Errorf("%v", p.Arms())
	}
	if p := plan(1, "4kB", "2MB"); p.AA() || !slices.Equal(p.Arms(), p.Values) {
		t.Errorf("%v", p.Arms())
	}
}

// bench is a stand that measures figures of its own.
type bench struct {
	t       *testing.T
	arrange func(ctx context.Context, s Step) error
	measure func(ctx context.Context, s Step) (float64, error)
	made    []string // "arrange 1", "measure 1", …
}

func (b *bench) Arrange(ctx context.Context, _ Plan, s Step) error {
	b.made = append(b.made, fmt.Sprintf("arrange %d", s.Position))
	if b.arrange == nil {
		return nil
	}
	return b.arrange(ctx, s)
}

func (b *bench) Measure(ctx context.Context, _ Plan, s Step) (string, float64, error) {
	b.made = append(b.made, fmt.Sprintf("measure %d", s.Position))
	run := fmt.Sprintf("run-%d", s.Position)
	if b.measure == nil {
		return run, 100 + float64(s.Arm), nil
	}
	v, err := b.measure(ctx, s)
	return run, v, err
}

func create(t *testing.T, p Plan) (*Journal, string) {
	t.Helper()
	dir := t.TempDir()
	j, err := Create(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	return j, dir
}

// names are the runs of steps.
func names(made []Made) []string {
	var out []string
	for _, m := range made {
		out = append(out, m.Run)
	}
	return out
}

// again reads a journal from disk.
func again(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir, "last")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestExecuteMakesEveryStepInItsOrder(t *testing.T) {
	j, dir := create(t, plan(3, "4kB", "2MB"))
	b := &bench{t: t}
	var phases []string
	err := Execute(t.Context(), j, b, Hooks{Report: func(p Progress) {
		phases = append(phases, fmt.Sprintf("%d of %d %s, %d made", p.Step.Position, p.Of, p.Phase, len(p.Made)))
	}})
	if err != nil || len(b.made) != 16 || b.made[0] != "arrange 1" || b.made[1] != "measure 1" {
		t.Fatalf("%v %v", err, b.made)
	}
	if phases[0] != "1 of 8 arranging, 0 made" || phases[22] != "8 of 8 measuring, 7 made" || phases[23] != "8 of 8 done, 8 made" {
		t.Errorf("%v", phases)
	}
	got := again(t, dir)
	if got.End == nil || got.End.Reason != "finished" || len(got.Left()) != 0 {
		t.Errorf("%+v", got)
	}
	if a, c := names(got.Counting(0, false)), names(got.Counting(1, false)); !slices.Equal(a, []string{"run-1", "run-2", "run-3", "run-6", "run-7"}) ||
		!slices.Equal(c, []string{"run-4", "run-5", "run-8"}) {
		t.Errorf("%v %v", a, c)
	}
}

func TestTheGateMayChangeTheNumberOfPairs(t *testing.T) {
	j, dir := create(t, plan(3, "4kB", "2MB"))
	figures := []float64{100, 104}
	b := &bench{t: t, measure: func(_ context.Context, s Step) (float64, error) {
		return figures[s.Position%2], nil
	}}
	var gate Gate
	asked := 0
	err := Execute(t.Context(), j, b, Hooks{Ask: func(_ context.Context, g Gate) (int, error) {
		gate = g
		asked++
		return 5, nil
	}})
	if err != nil || asked != 1 || len(b.made) != 2*(2+10) {
		t.Fatalf("%v, asked %d times, %d", err, asked, len(b.made))
	}
	// (104 - 100) / 102; the effect of 3 % is below it.
	if gate.Planned != 3 || gate.Pairs <= 3 || !gate.Hidden || fmt.Sprintf("%.5f", gate.Spread) != "0.03922" {
		t.Errorf("%+v", gate)
	}
	if again(t, dir).Plan.Pairs != 5 {
		t.Error("the change is not written down")
	}
}

func TestTheGateMayEndIt(t *testing.T) {
	j, dir := create(t, plan(3, "4kB", "2MB"))
	b := &bench{t: t}
	err := Execute(t.Context(), j, b, Hooks{Ask: func(context.Context, Gate) (int, error) { return 0, nil }})
	if err != nil || len(b.made) != 4 || again(t, dir).End.Reason != "ended by a person before the first change" {
		t.Errorf("%v %v", err, b.made)
	}
}

func TestAnInterruptedExperimentGoesOn(t *testing.T) {
	j, dir := create(t, plan(2, "4kB", "2MB"))
	ctx, cancel := context.WithCancel(t.Context())
	b := &bench{t: t, measure: func(_ context.Context, s Step) (float64, error) {
		if s.Position == 4 {
			cancel()
			return 0, ctx.Err()
		}
		return 100, nil
	}}
	if err := Execute(ctx, j, b, Hooks{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	j = again(t, dir)
	if j.End.Reason != "interrupted" || letters(j.Left()) != "|B|BA" {
		t.Fatalf("%+v, left %s", j.End, letters(j.Left()))
	}
	if err := j.GoOn(); err != nil {
		t.Fatal(err)
	}
	if err := again(t, dir).GoOn(); err == nil || !strings.Contains(err.Error(), "another pgtlb is at it") {
		t.Errorf("gone on with twice: %v", err)
	}
	if err := Execute(t.Context(), j, &bench{t: t}, Hooks{}); err != nil {
		t.Fatal(err)
	}
	j = again(t, dir)
	if len(j.Left()) != 0 || len(names(j.Counting(0, false))) != 4 || len(names(j.Counting(1, false))) != 2 {
		t.Errorf("%+v", j)
	}
}

// A line that a crash cut is left out, and taken away before more is written.
func TestACrashLosesNoFinishedStep(t *testing.T) {
	j, dir := create(t, plan(2, "4kB", "2MB"))
	for _, s := range j.Plan.Steps()[:3] {
		if err := j.add(Made{Step: s, State: Done, Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, folder, j.Plan.Name+extension)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"made":{"step":{"posi`)
	if err = errors.Join(err, f.Close(), j.file.Close()); err != nil {
		t.Fatal(err)
	}
	j = again(t, dir)
	if j.End != nil || len(j.Made) != 3 {
		t.Fatalf("%+v", j)
	}
	if err := j.GoOn(); err != nil {
		t.Fatal(err)
	}
	if err := Execute(t.Context(), j, &bench{t: t}, Hooks{}); err != nil {
		t.Fatal(err)
	}
	if j = again(t, dir); len(j.Left()) != 0 || len(j.Made) != 6 {
		t.Errorf("%+v", j)
	}
}

func TestAHungStepIsEndedAndRepeatedOnlyWhenAskedFor(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(2, "4kB", "2MB")
			p.RepeatFailed = repeat
			j, dir := create(t, p)
			b := &bench{t: t, measure: func(ctx context.Context, s Step) (float64, error) {
				if s.Position == 4 && !s.Repeat {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return 100, nil
			}}
			if err := Execute(t.Context(), j, b, Hooks{}); err != nil {
				t.Fatal(err)
			}
			j = again(t, dir)
			hung := j.Made[3]
			if hung.State != Hung || hung.Why != "not done after 1m0s: ended" || hung.Ended.Sub(hung.Started) != time.Minute {
				t.Errorf("%+v", hung)
			}
			without, with := names(j.Counting(1, false)), names(j.Counting(1, true))
			if len(without) != 1 || repeat && len(with) != 2 || !repeat && len(with) != 1 {
				t.Errorf("repeat %v: %v %v", repeat, without, with)
			}
		})
	}
}

// A stand that does not come back ends the experiment.
func TestAStandThatDoesNotComeBackIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, dir := create(t, plan(2, "4kB", "2MB"))
		free := make(chan struct{})
		b := &bench{t: t, measure: func(context.Context, Step) (float64, error) {
			<-free
			return 0, nil
		}}
		err := Execute(t.Context(), j, b, Hooks{})
		if !errors.Is(err, ErrStop) || len(again(t, dir).Made) != 1 {
			t.Errorf("%v", err)
		}
		close(free)
		synctest.Wait()
	})
}

func TestFailuresEndOnlyTheirStep(t *testing.T) {
	j, dir := create(t, plan(3, "4kB", "2MB"))
	b := &bench{t: t, arrange: func(_ context.Context, s Step) error {
		if s.Position == 3 {
			return errors.New("no pages left")
		}
		return nil
	}}
	if err := Execute(t.Context(), j, b, Hooks{}); err != nil {
		t.Fatal(err)
	}
	if m := again(t, dir).Made[2]; m.State != Failed || m.Why != "no pages left" || m.Run != "" {
		t.Errorf("%+v", m)
	}

	j, _ = create(t, plan(3, "4kB", "2MB"))
	b = &bench{t: t, arrange: func(context.Context, Step) error { return errors.New("refused") }}
	if err := Execute(t.Context(), j, b, Hooks{}); !errors.Is(err, ErrStop) || len(b.made) != mostFailures {
		t.Errorf("%v %v", err, b.made)
	}

	j, dir = create(t, plan(3, "4kB", "2MB"))
	b = &bench{t: t, measure: func(context.Context, Step) (float64, error) {
		return 0, fmt.Errorf("the sessions have 4MB: %w", ErrStop)
	}}
	err := Execute(t.Context(), j, b, Hooks{})
	if !errors.Is(err, ErrStop) || len(b.made) != 2 || !strings.Contains(again(t, dir).End.Reason, "the sessions have 4MB") {
		t.Errorf("%v %v", err, b.made)
	}
	// Not the step failed: it is made when the experiment is gone on with.
	if j := again(t, dir); j.Made[0].State != Interrupted || !strings.Contains(j.Made[0].Why, "the sessions have 4MB") || len(j.Left()) != 8 {
		t.Errorf("%+v, %d left", j.Made, len(j.Left()))
	}
}

func TestBadPlansAreRefused(t *testing.T) {
	good := plan(2, "a", "b")
	for name, spoil := range map[string]func(*Plan){
		"pairs": func(p *Plan) { p.Pairs = 0 }, "values": func(p *Plan) { p.Values = p.Values[:1] },
		"detect": func(p *Plan) { p.Detect = 1 }, "margin": func(p *Plan) { p.Margin = 0 }, "limit": func(p *Plan) { p.Limit = 0 },
	} {
		p := good
		spoil(&p)
		dir := t.TempDir()
		if _, err := Create(dir, p); err == nil {
			t.Errorf("%s was not refused", name)
		}
		if names, _ := Names(dir); len(names) != 0 {
			t.Errorf("%s left %v", name, names)
		}
	}
	if _, err := Open(t.TempDir(), "last"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

func TestUnmade(t *testing.T) {
	j := &Journal{Plan: plan(1, "a", "b")}
	steps := j.Plan.Steps()
	again := steps[1]
	again.Repeat = true
	j.Made = []Made{{Step: steps[0], State: Done, Run: "r1"}, {Step: steps[1], State: Hung}, {Step: steps[2], State: Failed}}
	failed, left := j.Unmade()
	if len(failed) != 2 || len(left) != 1 || left[0] != steps[3] || j.Repeated() {
		t.Errorf("%+v %+v", failed, left)
	}
	j.Made = append(j.Made, Made{Step: again, State: Done, Run: "r2"})
	if failed, _ := j.Unmade(); len(failed) != 1 || failed[0].Step != steps[2] || !j.Repeated() {
		t.Errorf("%+v", failed)
	}
}

// What another pgtlb made between the reading and the lock is not made again.
func TestGoOnReadsAgain(t *testing.T) {
	j, dir := create(t, plan(1, "4kB", "2MB"))
	if err := j.Close("interrupted"); err != nil {
		t.Fatal(err)
	}
	early, other := again(t, dir), again(t, dir)
	if err := other.GoOn(); err != nil {
		t.Fatal(err)
	}
	if err := other.add(Made{Step: other.Left()[0], State: Done, Run: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.setPairs(2), other.Close("interrupted")); err != nil {
		t.Fatal(err)
	}
	early.Plan.RepeatFailed = true
	if err := early.GoOn(); err != nil {
		t.Fatal(err)
	}
	if len(early.Made) != 1 || len(early.Left()) != 5 || early.Plan.Pairs != 2 || !early.Plan.RepeatFailed || early.End != nil {
		t.Errorf("%+v", early)
	}
	if err := early.Close("finished"); err != nil {
		t.Fatal(err)
	}
	name := early.Plan.Name
	if got, err := Exact(dir, name); err != nil || got.Plan.Name != name {
		t.Errorf("%v %+v", err, got)
	}
	for _, bad := range []string{name[:8], "last", "../" + folder + "/" + name, ""} {
		if _, err := Exact(dir, bad); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// What may not be cut off is waited for, and the step is not measured then.
func TestNothingIsMeasuredOnceItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, dir := create(t, plan(1, "4kB", "2MB"))
		ctx, cancel := context.WithCancel(t.Context())
		b := &bench{t: t, arrange: func(context.Context, Step) error {
			cancel()
			time.Sleep(grace - time.Second)
			return nil
		}}
		err := Execute(ctx, j, b, Hooks{})
		if made := again(t, dir).Made; !errors.Is(err, context.Canceled) || len(b.made) != 1 || len(made) != 1 || made[0].State != Interrupted {
			t.Errorf("%v %v %+v", err, b.made, made)
		}
	})
}

// A signal that comes with the end of the last step cuts nothing off.
func TestEndedAfterTheLastStepIsFinished(t *testing.T) {
	j, dir := create(t, plan(1, "4kB", "2MB"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &bench{t: t, measure: func(_ context.Context, s Step) (float64, error) {
		if s.Position == 4 {
			cancel()
		}
		return 100, nil
	}}
	if err := Execute(ctx, j, b, Hooks{}); err != nil {
		t.Error(err)
	}
	if j := again(t, dir); j.End == nil || j.End.Reason != "finished" || len(j.Made) != 4 || len(j.Ahead()) != 0 {
		t.Errorf("%+v", j)
	}
}

// Going on repeats a failed step once, where the plan says so.
func TestAhead(t *testing.T) {
	j := &Journal{Plan: plan(1, "a", "b")}
	steps := j.Plan.Steps()
	j.Made = []Made{{Step: steps[0], State: Done}, {Step: steps[1], State: Failed}}
	if got := j.Ahead(); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	j.Plan.RepeatFailed = true
	got := j.Ahead()
	if len(got) != 3 || !got[2].Repeat || got[2].Position != 2 {
		t.Errorf("%+v", got)
	}
	j.Made = append(j.Made, Made{Step: got[2], State: Failed})
	if got := j.Ahead(); len(got) != 2 {
		t.Errorf("a repetition that failed is made again: %+v", got)
	}
}

// The newest is the one begun last, whatever its name is.
func TestNamesAreInTheOrderOfTheirBeginning(t *testing.T) {
	dir := t.TempDir()
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i, name := range []string{"zebra", "apple", "apples"} {
		p := plan(1, "a", "b")
		p.Name, p.Created = name, began.Add(time.Duration(i)*time.Minute)
		j, err := Create(dir, p)
		if err == nil {
			err = j.Close("interrupted")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if names, err := Names(dir); err != nil || !slices.Equal(names, []string{"apples", "apple", "zebra"}) {
		t.Errorf("%v %v", names, err)
	}
	for what, want := range map[string]string{"last": "apples", "apple": "apple", "z": "zebra"} {
		if j, err := Open(dir, what); err != nil || j.Plan.Name != want {
			t.Errorf("%s: %v %+v", what, err, j)
		}
	}
	if _, err := Open(dir, "app"); err == nil || !strings.Contains(err.Error(), "app could be any of 2 experiments: apples, apple") {
		t.Errorf("%v", err)
	}
}

func TestCheckName(t *testing.T) {
	if err := CheckName("pages-in-march_2.1+b"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "last", "a b", "../x", ".x", "-x", "x.ndjson", "größe", strings.Repeat("x", 151)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
