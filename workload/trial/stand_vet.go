package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pgtlb/workload/lab"
)

// vetExperiment refuses an experiment that a lab would not take before that is made: the
// machine and the server's own programs are asked. What only a running server knows, the
// settings of extensions and the exact need of huge pages, is looked at once it runs.
func vetExperiment(ctx context.Context, o *ExperimentOptions, cluster lab.Options) (err error) {
	factor := o.Plan.Factor
	arms, err := valueArms(factor, &o.Plan, true, cluster.Server.Major)
	if err == nil {
		err = setBesides(arms, cluster.Settings)
	}
	if err != nil {
		return err
	}
	vetted, err := lab.Vet(ctx, cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, vetted.Close(ctx)) }()
	var understood []string
	for i := range arms {
		a := &arms[i]
		as, err := vetted.Takes(ctx, a.change(), factor)
		if err != nil {
			return fmt.Errorf("--vary %s=%s: %w", factor, a.value, err)
		}
		if at := slices.Index(understood, as); a.pages == 0 && at >= 0 && arms[at].value != a.value {
			return twins(factor, arms[at].value, a.value)
		}
		understood = append(understood, as)
	}
	return nil
}
