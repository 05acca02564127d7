package doctor

import (
	"fmt"
	"strings"

	"pgtlb/probes"
)

// verdict is the whole in one sentence, the worst first.
func verdict(s *Snapshot, e *Exam) string {
	d := s.demand()
	parts := []string{s.headline(d)}
	told := map[string]bool{"huge_pages": true, "huge_pages_mode": true, "pool_size": true, "failed_start": true}
	if n := s.cgroupPages(d); s.Server != nil && s.Server.Info.HugePages.FellBack() && n >= 0 && n < d.need {
		told["cgroup_hugetlb"] = true // the headline says it
	}
	if c := e.check("pool_idle"); c != nil && c.Status == Warn {
		told[c.ID] = true
		parts = append(parts, memory(kBOf(s.idle(d), d.pageKB))+" reserved in the pool is used by nobody")
	}
	for _, short := range []struct{ id, words string }{
		{"cgroup_hugetlb", "the control group allows fewer huge pages than are needed"},
		{"pool_got", "a pool got fewer pages than were asked for"},
		{"pool_other_sizes", "a pool of another page size holds memory that nobody uses"},
		{"pool_clusters", "other servers share the pool"},
		{"ram_floor", "the pools leave the machine too little memory"},
		{"page_bill", "page tables may take more memory than is good"},
		{"pool_persistence", "the next reboot changes the pool"},
	} {
		if c := e.check(short.id); c != nil && !told[short.id] && (c.Status == Fail || c.Status == Warn && len(parts) < 3) {
			told[c.ID] = true
			parts = append(parts, short.words)
		}
	}
	if n := e.others(told); n > 0 {
		parts = append(parts, probes.Plural(n, "more finding")+" below")
	}
	return strings.Join(parts, "; ")
}

// check returns the check with that id; nil where there is none.
func (e *Exam) check(id string) *Check {
	for i := range e.Checks {
		if e.Checks[i].ID == id {
			return &e.Checks[i]
		}
	}
	return nil
}

// others counts the findings that were not told.
func (e *Exam) others(told map[string]bool) int {
	n := 0
	for _, c := range e.Checks {
		if (c.Status == Fail || c.Status == Warn) && !told[c.ID] {
			n++
		}
	}
	return n
}

// headline says how the server stands with huge pages.
func (s *Snapshot) headline(d demand) string {
	if st := s.Pages.Start; s.Server == nil && st != nil && st.Fatal != "" {
		return "the server's last start failed, and not for want of huge pages (see failed_start)"
	}
	if s.Server == nil && s.PlannedKB == 0 && d.need > 0 {
		if d.short() == 0 {
			return fmt.Sprintf("the server DID NOT START on huge pages; the pool has enough now, %s needed: start it again", number(d.need))
		}
		return fmt.Sprintf("the server DID NOT START on huge pages: %s of %s short, %s needed", probes.Plural(d.short(), "page"),
			memory(uint64(d.pageKB)), number(d.need))
	}
	if s.Server == nil {
		return s.plannedLine(d)
	}
	h := s.Server.Info.HugePages
	switch {
	case h.Unsupported:
		return fmt.Sprintf("huge_pages=%s, and the server says that it cannot have huge pages here", h.Requested)
	case h.InUse == "on":
		return fmt.Sprintf("huge pages of %s are in use (proved: %s)", memory(uint64(h.PageKB)), h.Proof)
	case h.InUse == "":
		return fmt.Sprintf("huge_pages=%s, and which pages are in use is %s", h.Requested, h.Proof)
	case h.FellBack():
		text := fmt.Sprintf("huge_pages=try FELL BACK to %s", memory(uint64(s.inUseKB())))
		waits := s.coming(d)
		switch {
		case s.sysV():
			text += ": shared_memory_type is sysv, with which there are none"
		case s.HostUnknown != "" && d.need > 0:
			text += fmt.Sprintf(": %s needed, and the pool cannot be seen from here", pages(d.need, d.pageKB))
		case s.HostUnknown == "" && len(s.Host.Pools) == 0:
			text += ": this kernel has no huge pages"
		case d.short() == 0 && s.cgroupPages(d) >= 0 && s.cgroupPages(d) < d.need:
			text += fmt.Sprintf(": the pool would do, but the control group allows only %s of the %s needed", number(s.cgroupPages(d)), probes.Plural(d.need, "page"))
		case d.short() > 0 && s.HostUnknown == "":
			text += fmt.Sprintf(": %s of %s short", probes.Plural(d.short(), "page"), memory(uint64(d.pageKB)))
			if s.hardlyPays(d) {
				text += ", and they would hardly pay here"
			}
		case d.need > 0 && d.hasPool:
			text += ": the pool has enough now"
			if !waits.any() {
				text += ", a restart takes it"
			}
		}
		if waits.any() {
			text += ", " + waits.short()
		}
		return text
	}
	text := fmt.Sprintf("huge_pages=%s, the server runs on pages of %s", h.Requested, memory(uint64(s.inUseKB())))
	switch p := s.pays(); {
	case p.known && p.pays:
		return text + "; " + p.words
	case p.known:
		return text + ", and huge pages would hardly pay here"
	}
	return text
}

func (s *Snapshot) plannedLine(d demand) string {
	switch {
	case s.unplanned():
		return "no server was asked; the machine alone was looked at"
	case d.need == 0:
		return fmt.Sprintf("a server with %s of shared memory: %s", memory(s.PlannedKB), d.why)
	case !d.hasPool:
		return fmt.Sprintf("a server with %s of shared memory needs %s, and this machine has no pool of them", memory(s.PlannedKB), pages(d.need, d.pageKB))
	case d.short() > 0:
		return fmt.Sprintf("a server with %s of shared memory needs %s: %s short", memory(s.PlannedKB), pages(d.need, d.pageKB), number(d.short()))
	}
	text := fmt.Sprintf("a server with %s of shared memory needs %s, and the ", memory(s.PlannedKB), pages(d.need, d.pageKB))
	if d.need > d.pool.Available() {
		return text + "kernel may add them on demand"
	}
	return text + "pool has them"
}
