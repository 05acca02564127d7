package doctor

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// shownHolders is how many holders of huge pages are named.
const shownHolders = 3

func checkHolders(s *Snapshot) Check {
	c := Check{
		ID: "pool_holders", Title: "Who holds huge pages", Status: OK,
		Expected: "nobody but the servers that the pool was made for",
		Why:      "A pool looks as if PostgreSQL used it while a virtual machine, a Java program or another server does.",
		Sources:  []string{"/proc/*/status HugetlbPages", "/proc/*/smaps", "/proc/self/mountinfo"},
	}
	use := s.Pages.Holders
	switch {
	case use == nil:
		c.Status, c.Found = Unknown, "the processes cannot be listed: "+s.unreadReason("processes with huge pages")
		return c
	case s.poolsKB() == 0:
		c.Status, c.Found = NotHere, "there are no huge pages to hold"
		return c
	}
	ours, others := s.splitHolders(use)
	if len(ours) > 0 {
		c.Found = "this server: " + probes.Plural(len(ours), "process") + "; "
	}
	if len(others) == 0 {
		c.Found += "nobody else holds huge pages"
	} else {
		c.Found += "others: " + strings.Join(nameHolders(others), ", ")
	}
	left := orphans(use)
	if len(left) > 0 {
		c.Found += "; without a process: " + strings.Join(left, ", ")
	}
	for _, l := range use.Limits {
		c.Found += "; " + l
	}
	if d := s.demand(); d.short() > 0 && d.asked != "off" && (len(others) > 0 || len(left) > 0) {
		if !s.hardlyPays(d) {
			c.Status = Warn
		}
		c.Found += fmt.Sprintf("; this server lacks %s", probes.Plural(d.short(), "page"))
	}
	return c
}

// splitHolders tells the processes of the examined server from all others.
func (s *Snapshot) splitHolders(use *probes.HugetlbUse) (ours, others []probes.HugetlbProcess) {
	pid := 0
	if s.Server != nil {
		pid = s.Server.Info.PostmasterPid
	}
	for _, p := range use.Processes {
		if pid != 0 && p.Postmaster == pid {
			ours = append(ours, p)
		} else {
			others = append(others, p)
		}
	}
	return ours, others
}

// nameHolders names the largest holders, each server once.
func nameHolders(list []probes.HugetlbProcess) []string {
	var out []string
	var servers []int
	for _, p := range list {
		name := fmt.Sprintf("%s (pid %d, %s touched)", p.Name, p.Pid, memory(p.HugetlbKB))
		if p.Postmaster != 0 {
			if slices.Contains(servers, p.Postmaster) {
				continue
			}
			servers = append(servers, p.Postmaster)
			name = fmt.Sprintf("the PostgreSQL server of pid %d", p.Postmaster)
			if p.DataDir != "" {
				name += " in " + p.DataDir
			}
		}
		if len(out) == shownHolders {
			return append(out, "and more")
		}
		out = append(out, name)
	}
	return out
}

// orphans are pieces of memory that no process has mapped: files of a hugetlbfs
// mount and System V segments.
func orphans(use *probes.HugetlbUse) []string {
	var out []string
	for _, m := range use.Memory {
		if len(m.Pids) == 0 && use.Unread == 0 {
			out = append(out, fmt.Sprintf("%s (%s)", m.Name, memory(m.SizeKB)))
		}
	}
	return out
}

func checkClusters(s *Snapshot) Check {
	c := Check{
		ID: "pool_clusters", Title: "PostgreSQL servers that share the pool", Status: OK,
		Expected: "the pool has the pages of all servers that ask for them",
		Why: "Servers take pages in the order of their starts. With huge_pages = try the one that starts last falls back, and " +
			"after a reboot it may be another one.",
		Sources: []string{"/proc/*/smaps", "/proc/*/status"},
	}
	d := s.demand()
	var text []string
	sum, unseen, rivals := 0, 0, 0
	self := s.cluster()
	for i := range s.Pages.Clusters {
		cl := &s.Pages.Clusters[i]
		if cl == self {
			continue
		}
		name := fmt.Sprintf("pid %d", cl.Pid)
		if cl.DataDir != "" {
			name = cl.DataDir + " (" + name + ")"
		}
		need := pagesFor(cl.SizeKB, d.pageKB)
		switch {
		case cl.PageKB == 0:
			unseen++
			text = append(text, fmt.Sprintf("%s cannot be seen: %s", name, cl.Unseen))
		case d.pageKB > 0 && cl.PageKB == d.pageKB:
			rivals++
			sum += need
			text = append(text, fmt.Sprintf("%s holds %s", name, pages(need, d.pageKB)))
		case cl.PageKB > 64:
			text = append(text, fmt.Sprintf("%s has pages of %s, of another pool", name, memory(uint64(cl.PageKB))))
		case d.pageKB > 0:
			text = append(text, fmt.Sprintf("%s runs on pages of %s and would need %s", name, memory(uint64(cl.PageKB)), number(need)))
		}
	}
	if len(text) == 0 {
		c.Status, c.Found = NotHere, "no other PostgreSQL server runs on this machine, as far as can be seen"
		return c
	}
	c.Found = strings.Join(text, "; ")
	switch {
	case !d.hasPool || d.need == 0:
		return c
	case unseen > 0:
		c.Status = Unknown
		return c
	}
	all := sum + d.need
	if rivals > 0 {
		c.Found += fmt.Sprintf("; this server needs %s: together %s, and the pool has %s", number(d.need), number(all), number(d.pool.Total))
	}
	if d.asked == "off" || rivals == 0 || all <= d.pool.Total {
		return c
	}
	c.Status = Warn
	if d.short() > 0 {
		if !s.hardlyPays(d) {
			c.Status = Fail
		}
		c.Found += fmt.Sprintf(": %s short (see pool_size)", number(d.short()))
	}
	if all > s.mostPages(d.pageKB, false) {
		c.Found += fmt.Sprintf("; the machine cannot spare that many (%s)", s.rule())
	}
	return c
}
