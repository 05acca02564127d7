package probes

import (
	"bytes"
	"errors"
	"fmt"
)

// openCPU offers the machine's CPU time by kind, in seconds, and the number of
// tasks that run or wait for a processor.
func openCPU(roots Roots) (Probe, []Miss) {
	file := &kernelFile{path: roots.ProcPath("stat")}
	return openSource("cpu", metricsOf(CPUUser, CPUKernel, CPUIdle, CPUSteal, RunQueue), func() ([]Reading, []Miss, error) {
		b, err := file.read()
		if err != nil {
			return nil, nil, unreadable(file.path, err, "")
		}
		t, err := parseCPUTimes(b)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", file.path, err)
		}
		return cpuReadings(t), nil, nil
	}, file)
}

func cpuReadings(t cpuTimes) []Reading {
	out := []Reading{
		{ID: CPUUser, Value: float64(t.user) / ticksPerSecond},
		{ID: CPUKernel, Value: float64(t.kernel) / ticksPerSecond},
		{ID: CPUIdle, Value: float64(t.idle) / ticksPerSecond},
	}
	if t.hasSteal {
		out = append(out, Reading{ID: CPUSteal, Value: float64(t.steal) / ticksPerSecond})
	}
	if t.hasRunning {
		out = append(out, Reading{ID: RunQueue, Value: float64(t.running)})
	}
	return out
}

// cpuTimes are the sums over all CPUs in ticks.
type cpuTimes struct {
	user, kernel, idle, steal uint64
	running                   uint64
	bootTime                  uint64 // seconds since the epoch, 0 where the file has none
	hasSteal, hasRunning      bool
}

// parseCPUTimes reads the sum line and procs_running of /proc/stat. By hand,
// because procfs scans every CPU's line with a format, 20 µs each, which on
// 128 CPUs is 2.5 ms a second. Guest time is part of user and nice already.
func parseCPUTimes(b []byte) (cpuTimes, error) {
	var t cpuTimes
	found := false
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte("\n"))
		name, rest, _ := bytes.Cut(line, []byte(" "))
		switch string(name) {
		case "cpu":
			if err := t.addSums(rest); err != nil {
				return cpuTimes{}, err
			}
			found = true
		case "procs_running":
			t.running, t.hasRunning = parseDecimal(bytes.TrimSpace(rest))
		case "btime":
			t.bootTime, _ = parseDecimal(bytes.TrimSpace(rest))
		}
	}
	if !found {
		return cpuTimes{}, errors.New("no line of all CPUs")
	}
	return t, nil
}

// addSums reads user, nice, system, idle, iowait, irq, softirq and steal.
func (t *cpuTimes) addSums(fields []byte) error {
	var v [8]uint64
	n := 0
	for f := range bytes.FieldsSeq(fields) {
		if n == len(v) {
			break
		}
		x, ok := parseDecimal(f)
		if !ok {
			return fmt.Errorf("%q is not a number of ticks", f)
		}
		v[n] = x
		n++
	}
	if n < 4 {
		return fmt.Errorf("only %d CPU times", n)
	}
	t.user = v[0] + v[1]
	t.kernel = v[2] + v[5] + v[6]
	t.idle = v[3] + v[4]
	t.steal, t.hasSteal = v[7], n == len(v)
	return nil
}
