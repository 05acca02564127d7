package doctor

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// Place is where pgtlb looks from.
type Place struct {
	// Container is the kind of container that pgtlb runs in: docker, podman,
	// kubernetes, lxc, or container where only that is known; empty outside.
	Container string `json:"container,omitempty"`
	// OwnGroups tells that the control groups above ours are hidden.
	OwnGroups bool `json:"own_groups,omitempty"`
}

// lookAtPlace looks for the traces of container managers.
func lookAtPlace(f files) Place {
	var p Place
	groups, _ := lookAtGroups(f, 0)
	kind, _ := f.text("/run/systemd/container")
	p.Container = containerOf(groups, strings.TrimSpace(kind), f.exists("/.dockerenv"), f.exists("/run/.containerenv"),
		f.exists("/run/secrets/kubernetes.io") || f.exists("/var/run/secrets/kubernetes.io"))
	p.OwnGroups = p.Container != "" && !slices.ContainsFunc(groups, func(g group) bool { return g.path != "/" })
	return p
}

// containerOf judges by the control group, systemd's note and the managers' own
// files. A root on overlayfs is no mark: live systems and images that are not written
// to have it too.
func containerOf(groups []group, systemd string, docker, podman, kube bool) string {
	has := func(word string) bool {
		return slices.ContainsFunc(groups, func(g group) bool { return strings.Contains(g.path, word) })
	}
	switch {
	case kube || has("kubepods"):
		return "kubernetes"
	case docker || has("/docker"):
		return "docker"
	case podman || has("libpod"):
		return "podman"
	case systemd != "":
		return probes.Clean(systemd)
	case has("/lxc"):
		return "lxc"
	}
	return ""
}

// checkPlace is "place": what can be seen from here and what not.
func checkPlace(s *Snapshot) Check {
	c := Check{ID: "place", Title: "What can be seen from here",
		Sources: []string{"/proc/self/cgroup", "/run/systemd/container and the files of container managers", "/sys/class/dmi/id", "/proc/cpuinfo"},
		Why:     "Checks of the machine need its /proc and /sys as the server sees them. What SQL says holds from anywhere."}
	if provider, ok := providerOf(s); ok && s.HostUnknown != "" {
		c.Status = NotHere
		c.Found = provider.Name + " gives no access to the operating system: settings, sessions and what the server says of its huge pages are seen by SQL; " +
			"kernel settings, the huge page pool, processes, page tables and CPU counters are not"
		return c
	}
	if s.HostUnknown != "" {
		c.Status, c.Expected = Unknown, "pgtlb on the server's host, as root or as the server's account"
		c.Found = "SQL alone: " + strings.TrimPrefix(s.HostUnknown, "SQL only: ") + "; settings, sessions and what the server says of its huge pages are seen, nothing of its machine"
		return c
	}
	p := s.System.Place
	where := "the machine itself"
	switch {
	case p.Container != "":
		where = "a container (" + p.Container + ")"
		if vm, _, _ := strings.Cut(s.Host.Virtual, ", container"); strings.HasPrefix(vm, "virtual") {
			where += " in a " + vm
		}
	case s.Host.Virtual != "":
		where = "a " + s.Host.Virtual
	case s.inContainer():
		where = "a pod of Kubernetes"
	}
	c.Status = OK
	c.Found = fmt.Sprintf("pgtlb runs in %s; processes that it sees: %d", where, s.System.Processes.Visible)
	if pm := s.System.Processes.Postmaster; pm != nil {
		c.Found += fmt.Sprintf(", the server's among them (postmaster %d)", pm.Pid)
	}
	if !s.inContainer() {
		return c
	}
	c.Found += "; kernel settings and pools are the host's: they are seen here and changed there; processes of the host and of other containers are hidden"
	if p.OwnGroups {
		c.Found += ", and so are the control groups above the container's own, whose limits may be tighter"
	}
	return c
}
