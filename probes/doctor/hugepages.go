package doctor

import (
	"fmt"

	"pgtlb/probes"
)

func checkHugePages(s *Snapshot) Check {
	c := Check{
		ID: "huge_pages", Title: "Huge pages asked for and in use", Status: OK,
		Expected: "what huge_pages asks for is in use",
		Why: "With huge_pages = try, the default, the server takes ordinary pages when the pool is too small, and says nothing " +
			"about it at the usual log level. The pages that were reserved for it stay idle.",
		Sources: []string{"SHOW huge_pages", "SHOW huge_pages_status", "/proc/PID/smaps"},
	}
	if s.Server == nil {
		c.Status, c.Found = NotHere, "no running server is examined: "+s.ServerUnknown
		return c
	}
	h, d := s.Server.Info.HugePages, s.demand()
	proof := " (proved: " + h.Proof + ")"
	switch {
	case h.Unsupported:
		c.Status = NotHere
		c.Found = fmt.Sprintf("huge_pages = %s, and %s: nothing to compute or to set up", h.Requested, d.why)
	case h.InUse == "on":
		c.Found = fmt.Sprintf("huge_pages = %s, pages of %s in use%s", h.Requested, memory(uint64(h.PageKB)), proof)
		if waits := s.coming(d); waits.any() {
			c.Found += ", " + waits.short()
		}
	case h.InUse == "":
		c.Status, c.Found = Unknown, fmt.Sprintf("huge_pages = %s; what is in use is %s", h.Requested, h.Proof)
	case h.Requested == "off":
		c.Found = fmt.Sprintf("huge_pages = off, pages of %s in use%s", memory(uint64(h.PageKB)), proof)
		s.adviseOn(&c, d)
	case h.FellBack():
		s.explainFallBack(&c, d, proof)
	default:
		c.Status, c.Found = Unknown, fmt.Sprintf("huge_pages = %s, in use: %s%s", h.Requested, h.InUse, proof)
	}
	return c
}

// adviseOn weighs a server that does not ask for huge pages.
func (s *Snapshot) adviseOn(c *Check, d demand) {
	p := s.pays()
	switch {
	case s.HostUnknown == "" && !d.hasPool:
		c.Found += "; this machine has no huge pages to ask for"
	case !p.known:
		c.Found += "; whether huge pages would pay is not known: " + p.words
	case !p.pays:
		c.Found += "; it is not worth a change (see huge_pages_pay)"
	default:
		c.Status, c.Takes = Warn, TakesRestart
		c.Expected = "huge_pages = try or on: " + p.words
		if waits := s.coming(d); waits.any() {
			c.Found, c.Takes = c.Found+"; "+waits.words(s, d), ""
			return
		}
		s.grow(c, d)
		if d.short() > 0 && len(c.Fix) == 0 {
			return // the pool cannot be had
		}
		fix, undo := s.alter("huge_pages", "try")
		// The pool comes between the setting and the restart.
		c.Fix, c.Undo = append(fix[:1:1], c.Fix...), append(undo[:1:1], c.Undo...)
		if d.short() == 0 {
			c.Fix, c.Undo = fix, undo
		}
	}
}

func (s *Snapshot) explainFallBack(c *Check, d demand, proof string) {
	c.Found = fmt.Sprintf("huge_pages = try FELL BACK to pages of %s%s", memory(uint64(s.inUseKB())), proof)
	if s.sysV() {
		c.Status = Warn
		c.Found += "; shared_memory_type is sysv, with which the server has no huge pages"
		return
	}
	if s.HostUnknown != "" {
		c.Status = Fail
		c.Found += "; the pool cannot be seen from here"
		return
	}
	waits := s.coming(d)
	c.Takes = TakesRestart
	switch {
	case waits.hugePages == "off":
		c.Status, c.Takes = Warn, ""
		c.Found += "; huge_pages = off waits for a restart, after which it asks for none"
		return
	case !d.hasPool:
		c.Status = OK
		c.Found += "; this machine has no pool of huge pages, and try says so by running without (see hugetlb_kernel)"
		if d.pageKB > 0 {
			c.Status = Warn
			c.Found += fmt.Sprintf("; the server asks for pages of %s", memory(uint64(d.pageKB)))
		}
	case d.need == 0:
		c.Status, c.Found = Warn, c.Found+": "+d.why
	case d.short() == 0 && s.cgroupPages(d) >= 0 && s.cgroupPages(d) < d.need:
		c.Status = Fail
		c.Found += fmt.Sprintf(": the pool would do (%s), but the control group allows this server only %s (see cgroup_hugetlb)", d.words(), probes.Plural(s.cgroupPages(d), "page"))
	case d.short() == 0:
		c.Status = Fail
		if s.hardlyPays(d) {
			c.Status = Warn
		}
		c.Found += fmt.Sprintf(": the pool has enough now (%s), but had not when the server started", d.words())
		if waits.any() {
			c.Found, c.Takes = c.Found+"; "+waits.words(s, d), ""
			return
		}
		c.Fix = restartServer(s)
	case s.hardlyPays(d) && !s.meant(d):
		c.Found += "; nobody has made a pool for it, and here it would not pay (see huge_pages_pay)"
		c.Takes = ""
	default:
		c.Status = Fail
		if d.pool.Total == 0 && !s.meant(d) || s.hardlyPays(d) {
			c.Status = Warn // the default setting on a machine where nobody has made a pool, or none pays
		}
		c.Found += fmt.Sprintf(": %s of %s short: %s", probes.Plural(d.short(), "page"), memory(uint64(d.pageKB)), d.words())
		if waits.any() {
			c.Found += "; " + waits.words(s, d)
		}
		s.grow(c, d)
		if len(c.Fix) == 0 {
			c.Takes = ""
		}
	}
}

func checkMode(s *Snapshot) Check {
	c := Check{
		ID: "huge_pages_mode", Title: "huge_pages = on or try", Status: OK,
		Why: "on: the server does not start when the pool is too small, which shows at once, also at 3 in the morning after a " +
			"reboot. try: it always starts, and says nothing when it runs on ordinary pages; then memory and speed are " +
			"lost until somebody looks. Choose on where a failed start is noticed and a standby takes over, try " +
			"where the server must come up whatever happens and something watches huge_pages_status (from 17 on) or this check.",
		Sources: []string{"SHOW huge_pages"},
	}
	if s.Server == nil {
		c.Status, c.Found = NotHere, "no running server is examined: "+s.ServerUnknown
		return c
	}
	h := s.Server.Info.HugePages
	c.Found = "huge_pages = " + h.Requested
	switch {
	case h.Unsupported || h.Requested == "off" || s.sysV():
		c.Status = NotHere
	case h.Requested == "try" && h.InUse == "on":
		c.Found += ", and huge pages are in use; the next start falls back without a word if the pool is smaller then"
	case h.FellBack() && s.hardlyPays(s.demand()):
		c.Found += ", and it fell back, where huge pages would hardly pay (see huge_pages_pay)"
	case h.FellBack() && s.coming(s.demand()).hugePages != "":
		c.Found += ", and another value waits for a restart (see settings_pending)"
	case h.FellBack() && (s.HostUnknown != "" || s.demand().pool.Total > 0):
		c.Status, c.Takes = Warn, TakesRestart
		c.Found += ", and it fell back without a word: with on the start would have failed and said by how much"
		fix, undo := s.alter("huge_pages", "on")
		c.Fix, c.Undo = append([]string{"# once the pool is large enough:"}, fix...), undo
	}
	return c
}
