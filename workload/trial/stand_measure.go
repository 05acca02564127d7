package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pgtlb/probes"
	"pgtlb/workload"
	"pgtlb/workload/experiment"
)

// stepEndPatience bounds ending the load of a step that was told to end.
const stepEndPatience = 20 * time.Second

// Measure implements experiment.Stand. Its figure is the TPS of the measured part.
func (x *stand) Measure(ctx context.Context, _ experiment.Plan, _ experiment.Step) (run string, primary float64, err error) {
	if !x.enter(ctx) {
		return "", 0, ctx.Err()
	}
	defer x.leave()
	d, err := x.start(ctx)
	if err != nil {
		return "", 0, err
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepEndPatience)
		defer cancel()
		x.s.finish(bounded, "ended with its step of the experiment", d)
		<-d.done
	}
	switch {
	case ctx.Err() != nil:
		return d.run, 0, ctx.Err()
	case d.err != nil:
		return d.run, 0, d.err
	case d.result.Cancelled:
		return d.run, 0, errors.New("the load was ended before its time")
	case len(d.result.Aborted) > 0:
		return d.run, 0, fmt.Errorf("%s ended early, the first: %w", probes.Plural(len(d.result.Aborted), "client"), d.result.Aborted[0].Err)
	case d.run == "":
		return "", 0, errors.New("the run was not recorded")
	}
	recorded, err := x.s.o.Store.Load(d.run)
	if err != nil {
		return d.run, 0, err
	}
	tps := ArmOf(recorded).Summary.Get(probes.TPS)
	if !tps.OK() || tps.Value <= 0 {
		return d.run, 0, fmt.Errorf("no transaction was measured: %s", tps.Missing)
	}
	return d.run, tps.Value, nil
}

// start begins a drive of the load, which outlives ctx until it is told to end.
func (x *stand) start(ctx context.Context) (*drive, error) {
	var d *drive
	why := ""
	there := x.s.query(func() {
		switch {
		case x.s.ending:
		case x.s.st.Phase != Ready:
			why = x.s.notReady()
		default:
			x.s.startLoad(context.WithoutCancel(ctx), x.load)
			d, why = x.load.drive, x.load.detail
		}
	})
	switch {
	case !there || d == nil && why == "":
		return nil, context.Canceled
	case d == nil:
		return nil, errors.New(why)
	}
	return d, nil
}

// attach has a load make a step: its sessions have the arm's value and prove it,
// and what goes on beside it is looked at. It is called by the loop.
func (x *stand) attach(driving context.Context, d *drive, what *workload.Load) WarmUp {
	x.mu.Lock()
	a := x.arm
	x.mu.Unlock()
	d.settle = x.o.Settle
	what.Connect = x.connect("pgtlb "+what.Scenario.Name, a)
	b := newLookout(x.s, x.o.Background, x.pace())
	started, stopped := what.Started, what.Stopped
	what.Started = func() {
		b.open(driving)
		started()
		b.start(driving)
	}
	what.Stopped = func(err error) {
		b.stop(context.WithoutCancel(driving))
		stopped(err)
	}
	return x.o.WarmUp
}
