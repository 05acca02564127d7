package perf

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// CPU identifies the processor as far as event codes depend on it.
type CPU struct {
	Vendor        string // "GenuineIntel", "AuthenticAMD", "HygonGenuine", "ARM", "RISC-V" or empty
	Family, Model int    // x86
	Implementer   int    // ARM, 0x41 for Arm's own cores
	Part          int    // ARM part number
	Name          string // as the kernel prints it, may be empty
	// Hypervisor says that an x86 CPU runs under one. It walks tables of its own, which events of the guest may leave out.
	Hypervisor bool
}

// String names the processor for messages.
func (c CPU) String() string {
	switch {
	case c.Vendor == "":
		return "this CPU"
	case c.Vendor == "ARM":
		return fmt.Sprintf("ARM CPU part 0x%x", c.Part)
	case c.Family != 0:
		return fmt.Sprintf("%s family %d model %d", c.Vendor, c.Family, c.Model)
	}
	return c.Vendor + " CPU"
}

// ParseCPU reads the first processor of /proc/cpuinfo. What it does not recognise stays empty.
func ParseCPU(r io.Reader) (CPU, error) {
	var c CPU
	number := func(s string) int {
		n, err := strconv.ParseInt(s, 0, 32)
		if err != nil {
			return 0
		}
		return int(n)
	}
	seen := false
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		key, value, _ := strings.Cut(sc.Text(), ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "processor" {
			if seen {
				break
			}
			seen = true
		}
		switch key {
		case "vendor_id":
			c.Vendor = value
		case "cpu family":
			c.Family = number(value)
		case "model":
			c.Model = number(value)
		case "model name":
			c.Name = value
		case "CPU implementer":
			c.Vendor, c.Implementer = "ARM", number(value)
		case "flags":
			c.Hypervisor = slices.Contains(strings.Fields(value), "hypervisor")
		case "CPU part":
			c.Part = number(value)
		case "isa":
			c.Vendor = "RISC-V"
		}
	}
	if err := sc.Err(); err != nil {
		return c, fmt.Errorf("reading cpuinfo: %w", err)
	}
	return c, nil
}

// MissRateMeaning says what dTLB-load-misses divided by dTLB-loads is on this CPU. It is not the same thing
// everywhere, so rates of different vendors must not be compared. Source: the kernel's generic cache event maps,
// arch/x86/events and drivers/perf.
func MissRateMeaning(c CPU) string {
	switch c.Vendor {
	case "GenuineIntel":
		return "completed page walks for loads / retired loads"
	case "AuthenticAMD", "HygonGenuine":
		return "page walks / misses of the first level data TLB"
	case "ARM":
		return "refills of the first level data TLB / its accesses"
	}
	return "dTLB load misses / dTLB loads as the CPU's driver defines them"
}
