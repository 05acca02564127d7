package trial

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// arguments are those with which the program would make the same experiment, for
// going on with one that a key began; nil where none would, because the load's scripts
// are files. It is called by the loop.
func (x *stand) arguments() []string {
	if x.load.isCustom() {
		return nil
	}
	p, w := x.o.Plan, x.load.what
	args := []string{"--vary", p.Factor + "=" + strings.Join(p.Values, ","), "--scenario", w.Scenario.Name, "-c", strconv.Itoa(w.Clients),
		"--measure", w.Duration.String(), "--warmup", x.o.WarmUp.String(), "--settle", x.o.Settle.String(), "--pairs", strconv.Itoa(p.Pairs),
		"--order", string(p.Order), "--seed", strconv.FormatInt(p.Seed, 10), "--random-seed", strconv.FormatInt(w.Seed, 10),
		"--detect", plainNumber(100 * p.Detect), "--margin", plainNumber(100 * p.Margin), "--step-limit", p.Limit.String()}
	values, err := w.Scenario.Resolve(w.Values)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		args = append(args, "--param", fmt.Sprintf("%s=%d", name, values[name]))
	}
	if w.Threads > 0 {
		args = append(args, "-j", strconv.Itoa(w.Threads))
	}
	if w.Mode != nil {
		args = append(args, "-M", w.Mode.String())
	}
	if w.Rate > 0 {
		args = append(args, "-R", plainNumber(w.Rate))
	}
	if x.s.o.Queries {
		args = append(args, "--with-queries")
	}
	for flag, value := range map[string]string{"--background-cmd": x.o.Background, "--restart-cmd": x.o.RestartCmd} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	return append(args, x.place()...)
}

// place says on which server.
func (x *stand) place() []string {
	if x.s.o.Mode != InLab {
		cfg := x.s.o.Config
		return []string{"--allow-load", "-h", cfg.Host, "-p", strconv.Itoa(int(cfg.Port)), "-U", cfg.User, "-d", cfg.Database}
	}
	o := x.s.o.Lab.Cluster
	args := []string{"--lab", "--pg-bindir", o.Server.Bindir}
	if o.Pages != 0 {
		args = append(args, "--pages", o.Pages.String())
	}
	if o.SharedBuffers != "" {
		args = append(args, "--shared-buffers", o.SharedBuffers)
	}
	if o.OSUser != "" {
		args = append(args, "--os-user", o.OSUser)
	}
	if o.Reserve || slices.ContainsFunc(x.arms, func(a arm) bool { return a.reserve }) {
		args = append(args, "--reserve")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		args = append(args, "--set", name+"="+o.Settings[name])
	}
	return args
}
