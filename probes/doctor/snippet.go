package doctor

import (
	"errors"
	"fmt"
	"strings"
)

// snippets are the kinds of Snippet with their writers, in the order of the help.
func snippets() []struct {
	kind  string
	write func(snippetFacts) string
} {
	return []struct {
		kind  string
		write func(snippetFacts) string
	}{
		{"sysctl", sysctlSnippet},
		{"systemd", systemdSnippet},
		{"kubernetes", kubernetesSnippet},
		{"ansible", ansibleSnippet},
	}
}

// SnippetKinds are the words that Snippet takes.
func SnippetKinds() []string {
	var out []string
	for _, s := range snippets() {
		out = append(out, s.kind)
	}
	return out
}

// snippetFacts are the numbers that go into a snippet.
type snippetFacts struct {
	pages     int    // of the pool in all: this server's and those of others
	needed    int    // this server's
	pageKB    int    // size of one
	inDefault bool   // the size is the kernel's default
	service   string // unit of the server; empty where it is not known
	privateKB uint64 // what the server takes besides, estimated
	oldPages  int    // of the pool now
	waits     string // what waits for a restart, as a line of comment; else empty
}

// Snippet writes the configuration that makes the huge pages which the server needs,
// to be copied as it is. The error says why there is none.
func Snippet(e Exam, kind string) (string, error) {
	for _, s := range snippets() {
		if s.kind != kind {
			continue
		}
		f, err := factsForSnippet(e)
		if err != nil {
			return "", fmt.Errorf("writing the %s snippet: %w", kind, err)
		}
		return f.waits + s.write(f), nil
	}
	return "", fmt.Errorf("no snippet is called %q: choose one of %s", kind, strings.Join(SnippetKinds(), ", "))
}

func factsForSnippet(e Exam) (snippetFacts, error) {
	h := e.HugePages
	switch {
	case h.WantedKB == 0:
		return snippetFacts{}, errors.New("this kernel has no huge pages, or they cannot be seen from here")
	case h.Needed == 0:
		return snippetFacts{}, errors.New("how many pages the server needs is not known here; say how much shared memory it has with --shared-memory")
	}
	f := snippetFacts{
		pages: h.Total + h.Shortfall, needed: h.Needed, pageKB: h.WantedKB, inDefault: h.WantedKB == h.DefaultKB,
		service: e.Service, oldPages: h.Total,
	}
	if len(h.Waits) > 0 {
		f.waits = "# For the running values only: " + strings.Join(h.Waits, ", ") + " will change with a restart, and the number with it.\n"
	}
	f.privateKB = privateKB(e.Bill.MaxConnections)
	return f, nil
}

// privateKB is what a server takes besides its shared memory, as a start for a
// limit, not a measurement: each backend's page table and what it allocates for a
// plain query, and what the server's own processes take.
func privateKB(maxConnections int) uint64 {
	const ownKB, backendKB = 512 << 10, 8 << 10
	return ownKB + uint64(max(maxConnections, defaultConnections))*backendKB
}

// size is the page size as the kernel's boot line spells it.
func (f snippetFacts) size() string {
	switch {
	case f.pageKB >= 1<<20:
		return fmt.Sprintf("%dG", f.pageKB>>20)
	case f.pageKB >= 1<<10:
		return fmt.Sprintf("%dM", f.pageKB>>10)
	}
	return fmt.Sprintf("%dK", f.pageKB)
}

func (f snippetFacts) what() string {
	return fmt.Sprintf("%d pages of %sB, %d of them for this server", f.pages, f.size(), f.needed)
}

func sysctlSnippet(f snippetFacts) string {
	if !f.inDefault {
		return fmt.Sprintf(`# Huge pages for PostgreSQL: %s.
# sysctl vm.nr_hugepages sets pages of the default size only, so these are made at boot.
# /etc/default/grub: add this to GRUB_CMDLINE_LINUX, then update-grub (Debian, Ubuntu) or
# grub2-mkconfig -o /boot/grub2/grub.cfg (Red Hat, SUSE), and reboot.
# To undo it, take the words out again, make the file anew and reboot.
hugepagesz=%s hugepages=%d
`, f.what(), f.size(), f.pages)
	}
	return fmt.Sprintf(`# %[1]s
# Huge pages for PostgreSQL: %[2]s.
# In effect with: sysctl -p %[1]s
# Look whether the kernel could make them all: cat %[3]s
# To undo it: rm %[1]s; sysctl -w vm.nr_hugepages=%[4]d
vm.nr_hugepages = %[5]d
`, poolSysctl, f.what(), poolFile(f.pageKB), f.oldPages, f.pages)
}

func systemdSnippet(f snippetFacts) string {
	order, target, dropIn := "Before="+f.service+"\n", f.service, ""
	if f.service == "" {
		// Without a name the order is said from the server's side, which is right for any.
		order, target = "", "multi-user.target"
		dropIn = `
# /etc/systemd/system/UNIT.d/hugepages.conf
# UNIT is the unit that runs the server: put in its name, postgresql@15-main.service on Debian and
# Ubuntu (postgresql@.service for all clusters), postgresql-15.service of the PGDG packages on Red Hat.
# systemctl list-units 'postgres*' tells. Requires= instead of Wants= keeps the server from starting
# without its huge pages (huge_pages = on).
# To undo it, remove this file too.
[Unit]
Wants=postgresql-hugepages.service
After=postgresql-hugepages.service
`
	}
	return fmt.Sprintf(`# /etc/systemd/system/postgresql-hugepages.service
# Huge pages for PostgreSQL: %[1]s.
# In effect with: systemctl daemon-reload && systemctl enable --now postgresql-hugepages
# The unit fails where the kernel could not make them all.
# To undo it: systemctl disable --now postgresql-hugepages, remove this file, systemctl daemon-reload,
# echo %[2]d > %[3]s
[Unit]
Description=Huge pages of %[4]sB for PostgreSQL
ConditionPathExists=%[3]s
After=systemd-sysctl.service
%[5]s
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo %[6]d > %[3]s && test "$$(cat %[3]s)" -ge %[6]d'

[Install]
WantedBy=%[7]s
%[8]s`, f.what(), f.oldPages, poolFile(f.pageKB), f.size(), order, f.pages, target, dropIn)
}

func kubernetesSnippet(f snippetFacts) string {
	mb := func(kb uint64) uint64 { return (kb + 1023) >> 10 }
	const step = 256 // MB
	return fmt.Sprintf(`# Huge pages for PostgreSQL in a pod: %[1]d pages of %[2]sB.
# The node must have them in its pool before its kubelet starts, which counts them then.
# requests and limits of huge pages are the same; no volume is needed, PostgreSQL maps them without one.
# memory is what the container takes besides shared memory, here a start from max_connections: measure yours.
# With a pool on the node and no limit of huge pages here, initdb and the server die with a bus error:
# run initdb with huge_pages off (from PostgreSQL 16: initdb -c huge_pages=off).
resources:
  requests:
    memory: %[3]dMi
    hugepages-%[2]si: %[4]dMi
  limits:
    memory: %[3]dMi
    hugepages-%[2]si: %[4]dMi
`, f.needed, f.size(), (mb(f.privateKB)+step-1)/step*step, mb(uint64(f.needed)*uint64(f.pageKB)))
}

func ansibleSnippet(f snippetFacts) string {
	check := fmt.Sprintf(`- name: the kernel could make all huge pages
  ansible.builtin.command: cat %s
  register: pool
  changed_when: false
  failed_when: pool.stdout | int < %d
`, poolFile(f.pageKB), f.pages)
	if !f.inDefault {
		return fmt.Sprintf(`# Huge pages for PostgreSQL: %[1]s.
# Pages of this size are made at boot: the task below changes the boot line, then reboot.
- name: huge pages of %[2]sB on the boot line
  ansible.builtin.copy:
    dest: /etc/default/grub.d/90-postgresql-hugepages.cfg
    content: |
      GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX hugepagesz=%[2]s hugepages=%[3]d"
- name: the boot line is made anew (Debian, Ubuntu)
  ansible.builtin.command: update-grub
# After the reboot:
%[4]s`, f.what(), f.size(), f.pages, check)
	}
	return fmt.Sprintf(`# Huge pages for PostgreSQL: %[1]s.
# To undo it: rm %[5]s; sysctl -w vm.nr_hugepages=%[6]d
- name: huge pages of %[2]sB
  ansible.posix.sysctl:
    name: vm.nr_hugepages
    value: "%[3]d"
    sysctl_file: %[5]s
    reload: true
%[4]s`, f.what(), f.size(), f.pages, check, poolSysctl, f.oldPages)
}
