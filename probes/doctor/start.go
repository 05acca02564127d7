package doctor

import (
	"fmt"
	"os"
	"strings"

	"pgtlb/probes"
)

// Start is what a server's log says about a failed start.
type Start struct {
	Log string `json:"log"`
	// Unread says why the log could not be read; empty where it was.
	Unread string `json:"unread,omitempty"`
	// NeedBytes is the shared memory that could not be mapped; 0 where the log
	// does not say so.
	NeedBytes int64 `json:"need_bytes,omitempty"`
	BusError  bool  `json:"bus_error,omitempty"`
	// Later tells that a server has started since.
	Later bool `json:"later,omitempty"`
	// Fatal is the line with which the last start failed for another reason than
	// its shared memory; empty where it did not.
	Fatal string `json:"fatal,omitempty"`
	// Part tells that the log is longer than what was read of it.
	Part bool `json:"part,omitempty"`
}

func lookAtStart(f files, log string) *Start {
	if log == "" {
		return nil
	}
	lines, err := probes.LogTail(log, 0)
	if err != nil {
		return &Start{Log: log, Unread: err.Error()}
	}
	s := parseStart(log, lines)
	info, err := os.Stat(log)
	s.Part = err == nil && info.Size() > probes.MaxTail
	return s
}

// fatalStart tells whether a line says why a server ends that is starting: sessions
// end with FATAL too, and say so in other words.
func fatalStart(line string) bool {
	if !strings.Contains(line, "FATAL:") && !strings.Contains(line, "PANIC:") {
		return false
	}
	for _, session := range []string{"the database system is", "terminating ", "authentication failed", "no pg_hba.conf entry",
		"role \"", "database \"", "connection slots", "too many", "frontend protocol", "connection to client", "startup packet"} {
		if strings.Contains(line, session) {
			return false
		}
	}
	return true
}

// parseStart looks for the last failure in the lines of a log.
func parseStart(log string, lines []string) *Start {
	s := &Start{Log: log}
	if n, ok := probes.MapFailure(lines); ok {
		s.NeedBytes = n
	}
	runs := false
	for _, l := range lines {
		switch {
		case probes.BusError(l):
			s.BusError, s.Later = true, false
		case strings.Contains(l, "could not map anonymous shared memory"):
			s.Later, s.Fatal = false, ""
		case strings.Contains(l, "database system is ready to accept"):
			s.Later, s.Fatal, runs = true, "", true
		case strings.Contains(l, "database system is shut down"), strings.Contains(l, "starting PostgreSQL"):
			runs = false
		case !runs && fatalStart(l):
			s.Later, s.Fatal = false, shortened(l)
		}
	}
	return s
}

// shortened is a line of a log as it can be shown in a sentence.
func shortened(line string) string {
	const most = 200
	r := []rune(strings.TrimRight(probes.Clean(line), ". "))
	if len(r) > most {
		return string(r[:most]) + " …"
	}
	return string(r)
}

func checkFailedStart(s *Snapshot) Check {
	c := Check{
		ID: "failed_start", Title: "Failed start in the server's log", Status: OK,
		Expected: "the server starts",
		Why: "With huge_pages = on a server does not start where the pool is too small. Its log names the size of the shared " +
			"memory in bytes, not the number of pages.",
	}
	st := s.Pages.Start
	if st == nil {
		c.Status, c.Found = NotHere, "no log was given"
		return c
	}
	c.Sources = []string{st.Log}
	switch {
	case st.Unread != "":
		c.Status, c.Found = Unknown, "the log could not be read: "+st.Unread
	case st.Fatal != "":
		c.Status = Fail
		c.Found = "the last start failed, and not for want of huge pages: " + st.Fatal
	case st.NeedBytes > 0:
		s.explainMapFailure(&c, st)
	case st.BusError:
		c.Status, c.Found = Fail, "a process died of a bus error (signal 7): it touched a huge page that it may not have"
		if st.Later {
			c.Status = Warn
		}
		if l := s.Pages.Cgroup.tightest(s.demand().pageKB, 0); l != nil {
			c.Found += fmt.Sprintf("; %s allows %s", l.File, bytesText(l.Max))
			c.Fix, c.Undo, c.Takes = s.raiseHugetlb(*l, s.demand())
			break
		}
		c.Found += "; look at the hugetlb limits of its container or service (initdb before 16 tries huge pages whatever is configured)"
	default:
		c.Found = "it tells of no start that failed for want of huge pages"
	}
	if st.Part {
		c.Found += fmt.Sprintf("; only the last %d kB of the log were read", probes.MaxTail>>10)
	}
	return c
}

func (s *Snapshot) explainMapFailure(c *Check, st *Start) {
	d := s.demand()
	kb := uint64(st.NeedBytes+1023) / 1024
	c.Found = fmt.Sprintf("could not map %s bytes of shared memory", number64(st.NeedBytes))
	if st.Later {
		c.Found += ", and a later start succeeded"
		return
	}
	c.Status = Fail
	if d.pageKB == 0 {
		return
	}
	need := pagesFor(kb, d.pageKB)
	d.need, d.exact = need, true
	if d.own >= need {
		return // it runs on them by now
	}
	c.Found += ": " + d.words()
	short := d.short()
	if short == 0 {
		c.Found += "; they are there now: start the server again"
		return
	}
	c.Found += fmt.Sprintf(": %s short", number(short))
	c.Takes = TakesNothing
	s.grow(c, d)
}

// grow advises to bring the pool to the demand, or says why not.
func (s *Snapshot) grow(c *Check, d demand) {
	if n := s.cgroupPages(d); n >= 0 && n < d.need {
		c.Found += fmt.Sprintf("; first of all, the control group allows this server only %s (see cgroup_hugetlb)", probes.Plural(n, "page"))
	}
	switch waits := s.coming(d); {
	case !d.hasPool:
		c.Found += "; see hugetlb_kernel"
	case waits.any(): // a pool for the running values is wrong after the restart that takes it
		c.Found += "; no commands, because they would be those for the running values"
	case d.target() <= s.mostPages(d.pageKB, false):
		c.Fix, c.Undo = growPool(s, d.pageKB, d.target())
		c.UndoFirst = true
		c.Fix = append(c.Fix, restartServer(s)...)
	case d.target() <= s.mostPages(d.pageKB, true) && s.keepsPool() == "":
		// There is room once idle pools of other sizes are given back.
		for _, p := range s.Host.Pools {
			if p.PageKB != d.pageKB && p.Available() > 0 {
				do, undo := shrinkPool(s, p.PageKB, p.Persistent()-p.Available())
				c.Fix, c.Undo = append(c.Fix, do...), append(c.Undo, undo...)
			}
		}
		do, undo := growPool(s, d.pageKB, d.target())
		c.Fix = append(append(c.Fix, do...), restartServer(s)...)
		c.Undo = append(undo, c.Undo...)
		c.UndoFirst = true
	default:
		c.Found += fmt.Sprintf("; this machine can spare %s at most (%s): make shared_buffers smaller by %s",
			probes.Plural(max(s.mostPages(d.pageKB, false), 0), "page"), s.rule(),
			memory(kBOf(d.target()-s.mostPages(d.pageKB, false), d.pageKB)))
		if d.target() <= s.mostPages(d.pageKB, true) {
			c.Found += ", or give back pages of other sizes (see pool_other_sizes)"
		}
	}
}
