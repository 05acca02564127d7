package probes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadHostTellsEmulatedMachines(t *testing.T) {
	const (
		riscv     = "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdch_zicsr\nmmu\t\t: sv57\nmvendorid\t: 0x0\nmarchid\t\t: 0x70200\nmimpid\t\t: 0x70200\n"
		x86       = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: %\nflags\t\t: fpu hypervisor\n"
		arm       = "processor\t: 0\nCPU implementer\t: 0x%\nCPU part\t: 0x051\n"
		model     = "proc/device-tree/model"
		modelSys  = "sys/firmware/devicetree/base/model"
		clocks    = "sys/devices/system/clocksource/clocksource0/available_clocksource"
		qemuBoard = "riscv-virtio,qemu\x00"
	)
	put := func(text, what string) string { return strings.Replace(text, "%", what, 1) }
	for name, c := range map[string]struct {
		cpuinfo string
		files   map[string]string
		want    string
	}{
		"riscv64 under QEMU": {riscv, map[string]string{model: qemuBoard},
			"QEMU's emulated riscv64 machine: its TLB and page costs are the emulator's"},
		"the same told by sysfs": {riscv, map[string]string{modelSys: qemuBoard},
			"QEMU's emulated riscv64 machine: its TLB and page costs are the emulator's"},
		"riscv64 under KVM":           {strings.Replace(riscv, "mvendorid\t: 0x0", "mvendorid\t: 0x489", 1), map[string]string{model: qemuBoard}, ""},
		"a riscv64 board":             {riscv, map[string]string{model: "SiFive HiFive Unmatched A00\x00"}, ""},
		"no device tree":              {riscv, nil, ""},
		"x86, -cpu max":               {put(x86, "QEMU TCG CPU version 2.5+"), nil, "QEMU's emulated x86 processor (TCG): its TLB"},
		"x86, named by CPUID":         {strings.Replace(put(x86, "some"), "AuthenticAMD", "TCGTCGTCGTCG", 1), nil, "QEMU's emulated x86 processor (TCG): its TLB"},
		"x86, default model":          {put(x86, "QEMU Virtual CPU version 2.5+"), map[string]string{clocks: "tsc hpet acpi_pm \n"}, "QEMU's emulated x86 processor: its TLB"},
		"x86, default model with KVM": {put(x86, "QEMU Virtual CPU version 2.5+"), map[string]string{clocks: "kvm-clock tsc acpi_pm \n"}, ""},
		"x86, named after KVM":        {put(x86, "Common KVM processor"), map[string]string{clocks: "kvm-clock tsc\n"}, ""},
		"x86, hardware":               {put(x86, "AMD EPYC 9654 96-Core Processor"), nil, ""},
		"arm64, -cpu max":             {put(arm, "00"), nil, "QEMU's emulated arm64 processor: its TLB"},
		"arm64, hardware":             {put(arm, "41"), nil, ""},
	} {
		dir := t.TempDir()
		write := func(path, text string) {
			t.Helper()
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("proc/cpuinfo", c.cpuinfo)
		for path, text := range c.files {
			write(path, text)
		}
		// The error is about files that do not matter here.
		h, _ := ReadHost(Roots{Proc: filepath.Join(dir, "proc"), Sys: filepath.Join(dir, "sys")})
		if h.Emulated != c.want && (c.want == "" || !strings.HasPrefix(h.Emulated, c.want)) {
			t.Errorf("%s: %q, want %q", name, h.Emulated, c.want)
		}
	}
	for _, name := range []string{"amd64", "arm64"} {
		if h, err := ReadHost(fixture(name)); err != nil || h.Emulated != "" {
			t.Errorf("%s: %q, %v", name, h.Emulated, err)
		}
	}
}
