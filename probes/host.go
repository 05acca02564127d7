package probes

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ReadHost describes the machine. What cannot be read stays empty; an error
// comes with whatever could be read.
func ReadHost(roots Roots) (Host, error) {
	h := Host{OS: osName(roots), Arch: runtime.GOARCH}
	var errs []error
	text := func(path string) string {
		s, err := readText(path)
		if err != nil {
			errs = append(errs, unreadable(path, err, ""))
		}
		return s
	}
	h.Hostname = text(roots.ProcPath("sys/kernel/hostname"))
	h.Kernel = text(roots.ProcPath("sys/kernel/osrelease"))

	cpu, err := os.ReadFile(roots.ProcPath("cpuinfo"))
	if err != nil {
		errs = append(errs, unreadable(roots.ProcPath("cpuinfo"), err, ""))
	}
	info := parseCPUInfo(cpu)
	h.CPUModel, h.CPUs = info.model, info.count
	h.Virtual, h.Emulated = virtual(roots, info), emulated(roots, info)

	if stat, err := os.ReadFile(roots.ProcPath("stat")); err == nil {
		if t, err := parseCPUTimes(stat); err == nil && t.bootTime > 0 {
			h.BootTime = time.Unix(int64(t.bootTime), 0)
		}
	}
	if m, err := ReadMeminfo(roots); err != nil {
		errs = append(errs, err)
	} else {
		h.MemTotalKB = *m.MemTotal
	}
	// A kernel without huge pages of either sort is no error of the host.
	if h.THP, err = ReadTHP(roots); err != nil && !errors.Is(err, ErrUnavailable) {
		errs = append(errs, err)
	}
	if h.Pools, err = ReadPools(roots); err != nil && !errors.Is(err, ErrUnavailable) {
		errs = append(errs, err)
	}
	return h, errors.Join(errs...)
}

// readText returns a file's content without the line end.
func readText(path string) (string, error) {
	b, err := os.ReadFile(path)
	return Clean(strings.TrimSpace(string(b))), err
}

// osName is the distribution, known only for the running system: its file is
// not below the mount points that can be replaced.
func osName(roots Roots) string {
	if !roots.areSystem() {
		return "linux"
	}
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				return Clean(strings.Trim(strings.TrimSpace(v), `"'`))
			}
		}
	}
	return runtime.GOOS
}

// cpuInfo is what /proc/cpuinfo says about the processors.
type cpuInfo struct {
	model      string
	count      int
	vendor     string // x86
	hypervisor bool   // x86: the CPU says that it runs under one
	hasMaker   bool   // RISC-V: mvendorid names one; 0 is none
}

// parseCPUInfo reads the form of each architecture, whichever it is compiled
// for, so that a snapshot of another machine reads the same (procfs compiles in
// one form only).
func parseCPUInfo(b []byte) cpuInfo {
	var c cpuInfo
	first := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "processor" {
			c.count++
		}
		if _, seen := first[key]; !seen {
			first[key] = value
		}
	}
	for f := range strings.FieldsSeq(first["flags"]) {
		if f == "hypervisor" {
			c.hypervisor = true
		}
	}
	c.vendor = Clean(first["vendor_id"])
	maker, err := strconv.ParseUint(first["mvendorid"], 0, 64)
	c.hasMaker = err == nil && maker != 0
	c.model = Clean(cpuModel(first))
	return c
}

// cpuModel names the processor: x86 and some ARM kernels print "model name",
// ARM otherwise only numbers, POWER "cpu", RISC-V "uarch" or the ISA.
func cpuModel(first map[string]string) string {
	if m := first["model name"]; m != "" {
		return m
	}
	if impl, part := first["CPU implementer"], first["CPU part"]; impl != "" {
		if name, ok := armName(impl, part); ok {
			return name
		}
		return "ARM implementer " + impl + " part " + part
	}
	for _, key := range []string{"cpu", "uarch", "isa", "cpu model"} {
		if m := first[key]; m != "" {
			return m
		}
	}
	return ""
}

// armName knows the server cores by the numbers of the main ID register (Arm
// Architecture Reference Manual, MIDR_EL1, and the vendors' manuals).
func armName(implementer, part string) (string, bool) {
	names := map[string]string{
		"0x41/0xd03": "ARM Cortex-A53",
		"0x41/0xd05": "ARM Cortex-A55",
		"0x41/0xd07": "ARM Cortex-A57",
		"0x41/0xd08": "ARM Cortex-A72",
		"0x41/0xd0b": "ARM Cortex-A76",
		"0x41/0xd0c": "ARM Neoverse-N1",
		"0x41/0xd40": "ARM Neoverse-V1",
		"0x41/0xd49": "ARM Neoverse-N2",
		"0x41/0xd4a": "ARM Neoverse-E1",
		"0x41/0xd4f": "ARM Neoverse-V2",
		"0x41/0xd84": "ARM Neoverse-V3",
		"0x41/0xd8e": "ARM Neoverse-N3",
		"0x43/0x0af": "Cavium ThunderX2",
		"0x46/0x001": "Fujitsu A64FX",
		"0x48/0xd01": "HiSilicon Kunpeng 920",
		"0xc0/0xac3": "Ampere-1",
		"0xc0/0xac4": "Ampere-1A",
	}
	n, ok := names[strings.ToLower(implementer)+"/"+strings.ToLower(part)]
	return n, ok
}

// virtual says under which hypervisor or in which container this runs, as far
// as it shows; empty when nothing shows.
func virtual(roots Roots, cpu cpuInfo) string {
	var out []string
	if vm := hypervisor(roots, cpu); vm != "" {
		out = append(out, vm)
	}
	if c := container(roots); c != "" {
		out = append(out, c)
	}
	return strings.Join(out, ", ")
}

func hypervisor(roots Roots, cpu cpuInfo) string {
	if t, err := readText(roots.SysPath("hypervisor/type")); err == nil && t != "" {
		return "virtual machine (" + t + ")"
	}
	vendor, _ := readText(roots.SysPath("class/dmi/id/sys_vendor"))
	product, _ := readText(roots.SysPath("class/dmi/id/product_name"))
	both := vendor + " " + product
	for _, known := range []string{"QEMU", "KVM", "VMware", "VirtualBox", "Google Compute Engine", "Amazon EC2", "Virtual Machine", "OpenStack", "Xen", "Bochs", "Parallels"} {
		// Amazon's bare metal instances have the vendor too, but no hypervisor.
		if strings.Contains(both, known) && (cpu.hypervisor || known != "Amazon EC2") {
			return "virtual machine (" + strings.TrimSpace(both) + ")"
		}
	}
	if cpu.hypervisor {
		return "virtual machine"
	}
	return ""
}

// container looks for the traces that container managers leave in the cgroup of
// this process and, on the running system, in the root directory.
func container(roots Roots) string {
	b, err := os.ReadFile(roots.ProcPath("self/cgroup"))
	if err == nil {
		for _, known := range []string{"kubepods", "docker", "libpod", "lxc", "containerd", "garden"} {
			if strings.Contains(string(b), known) {
				return "container (" + known + ")"
			}
		}
	}
	if !roots.areSystem() {
		return ""
	}
	for path, name := range map[string]string{"/.dockerenv": "docker", "/run/.containerenv": "podman"} {
		if _, err := os.Stat(path); err == nil {
			return "container (" + name + ")"
		}
	}
	return ""
}
