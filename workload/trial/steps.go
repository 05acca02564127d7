package trial

import (
	"time"

	"pgtlb/workload"
)

// steps keeps the list of steps that a screen shows while the session prepares
// something. It belongs to the loop.
type steps struct {
	list  []Step
	began map[string]time.Time
}

// plan lists the steps to come, in order.
func (p *steps) plan(names ...string) {
	p.list, p.began = nil, map[string]time.Time{}
	for _, n := range names {
		p.list = append(p.list, Step{Name: n, State: StepPending})
	}
}

// update notes how far a step is. Steps before it are done: they come one
// after the other.
func (p *steps) update(g workload.Progress) {
	i := p.index(g.Phase)
	for j := range p.list[:i] {
		p.done(j)
	}
	st := &p.list[i]
	if _, ok := p.began[g.Phase]; !ok {
		p.began[g.Phase] = time.Now()
	}
	st.State, st.Detail, st.Done, st.Total, st.Unit = StepRunning, g.Detail, g.Done, g.Total, g.Unit
	if g.Total > 0 && g.Done >= g.Total {
		p.done(i)
	}
}

// finish marks everything as done.
func (p *steps) finish() {
	for i := range p.list {
		p.done(i)
	}
}

// fail marks the step under way as failed.
func (p *steps) fail() {
	for i := range p.list {
		if p.list[i].State == StepRunning {
			p.list[i].State = StepFailed
		}
	}
}

func (p *steps) done(i int) {
	st := &p.list[i]
	if st.State == StepDone {
		return
	}
	if began, ok := p.began[st.Name]; ok {
		st.Took = time.Since(began)
	}
	st.State, st.Done = StepDone, st.Total
}

// index finds a step, or puts one that was not planned at its place: behind the
// last one that has begun.
func (p *steps) index(name string) int {
	at := 0
	for i := range p.list {
		if p.list[i].Name == name {
			return i
		}
		if p.list[i].State != StepPending {
			at = i + 1
		}
	}
	p.list = append(p.list[:at], append([]Step{{Name: name, State: StepPending}}, p.list[at:]...)...)
	return at
}
