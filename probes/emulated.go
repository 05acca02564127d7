package probes

import (
	"os"
	"strings"
)

// emulatorsCosts ends the words about an emulated machine: what a reader must
// know before taking its figures for those of hardware.
const emulatorsCosts = ": its TLB and page costs are the emulator's"

// emulated says in words that this machine's processor is a program, where that
// shows; empty otherwise. A virtual machine on a real processor is not emulated.
func emulated(roots Roots, cpu cpuInfo) string {
	switch {
	case boardModel(roots) == "riscv-virtio,qemu" && !cpu.hasMaker:
		// With KVM the same board has the host's processor, which has a maker.
		return "QEMU's emulated riscv64 machine" + emulatorsCosts
	case strings.HasPrefix(cpu.model, "QEMU TCG CPU"), cpu.vendor == "TCGTCGTCGTCG":
		return "QEMU's emulated x86 processor (TCG)" + emulatorsCosts
	case strings.HasPrefix(cpu.model, "QEMU Virtual CPU") && !paravirtualClock(roots):
		// QEMU's default model, with KVM too; only KVM, Xen and Hyper-V lend a clock.
		return "QEMU's emulated x86 processor" + emulatorsCosts
	case cpu.model == qemuArm:
		return "QEMU's emulated arm64 processor" + emulatorsCosts
	}
	return ""
}

// qemuArm is the processor of QEMU's -cpu max without KVM: the implementer that
// Arm reserves for software, part 'Q'.
const qemuArm = "ARM implementer 0x00 part 0x051"

// boardModel is the machine's name in its device tree; empty where there is none.
func boardModel(roots Roots) string {
	for _, path := range []string{
		roots.ProcPath("device-tree/model"),
		roots.SysPath("firmware/devicetree/base/model"),
	} {
		if b, err := os.ReadFile(path); err == nil {
			return Clean(strings.TrimRight(string(b), "\x00\n"))
		}
	}
	return ""
}

// paravirtualClock tells whether a hypervisor lends its clock to this machine.
func paravirtualClock(roots Roots) bool {
	clocks, err := readText(roots.SysPath("devices/system/clocksource/clocksource0/available_clocksource"))
	if err != nil {
		return false
	}
	for c := range strings.FieldsSeq(clocks) {
		if c == "kvm-clock" || c == "xen" || strings.HasPrefix(c, "hyperv") {
			return true
		}
	}
	return false
}
