package doctor

import (
	"time"

	"pgtlb/probes"
)

// Status is the outcome of a check.
type Status string

// The outcomes of a check.
const (
	OK      Status = "ok"
	Warn    Status = "warn"    // works, and costs or risks something
	Fail    Status = "fail"    // does not do what was asked for
	Unknown Status = "unknown" // could not be seen from here; Found says why
	NotHere Status = "n/a"     // the question does not arise here; Found says why
)

// Check is one question and its answer. Texts are for people; ID is stable.
type Check struct {
	ID       string `json:"id"`
	Status   Status `json:"status"`
	Title    string `json:"title"`
	Found    string `json:"found"`    // what is, with numbers and units
	Expected string `json:"expected"` // what would be good; empty where nothing is
	Why      string `json:"why"`      // why it matters, for a person who has not met it
	// Fix are commands, or lines of a file after a comment that names it, to be
	// copied as they are; Undo takes them back.
	Fix  []string `json:"fix"`
	Undo []string `json:"undo"`
	// UndoFirst is set where the fix may do harm: then the undo is to be read first.
	UndoFirst bool `json:"-"`
	// Takes is what puts the fix into effect.
	Takes Takes `json:"takes,omitempty"`
	// Sources are the files, views or commands that Found was read from.
	Sources []string `json:"sources,omitempty"`
}

// Takes is what puts a fix into effect.
type Takes string

// What a fix takes.
const (
	TakesNothing Takes = "nothing: in effect at once"
	TakesReload  Takes = "a reload of the server"
	TakesRestart Takes = "a restart of the server"
	TakesReboot  Takes = "a reboot of the machine"
	TakesSession Takes = "new sessions"
	TakesPgtlb   Takes = "a new start of pgtlb"
)

// Exam is the outcome of all checks.
type Exam struct {
	Taken  time.Time   `json:"taken"`
	Host   probes.Host `json:"host"`
	Server string      `json:"server,omitempty"` // version and place; empty where none was asked
	// Verdict is the whole in one sentence.
	Verdict   string    `json:"verdict"`
	Checks    []Check   `json:"checks"`
	Bill      Bill      `json:"page_bill"`
	HugePages HugePages `json:"huge_pages"`
	// Service is the systemd unit that runs the server; empty where it is not known.
	Service string `json:"service,omitempty"`
}

// HugePages sums up what was asked for, what is in use and what the pool has.
type HugePages struct {
	Requested string `json:"requested"`         // huge_pages; empty where no server runs
	InUse     string `json:"in_use"`            // on, off; empty where it is not proved
	PageKB    int    `json:"page_kb,omitempty"` // in use
	Proof     string `json:"proof"`
	// WantedKB is the page size that the server asks for, or would; 0 where the
	// kernel has no huge pages. DefaultKB is the kernel's default huge page size,
	// the only one that sysctl vm.nr_hugepages sets.
	WantedKB  int `json:"wanted_kb,omitempty"`
	DefaultKB int `json:"default_kb,omitempty"`
	Needed    int `json:"needed"` // pages of WantedKB for the server's shared memory; 0 unknown
	Total     int `json:"pool_total"`
	Free      int `json:"pool_free"`
	Reserved  int `json:"pool_reserved"`
	Shortfall int `json:"shortfall"` // pages the pool lacks for the server to start on it
	// Waits are the settings of shared memory that wait for a restart: Needed and
	// Shortfall are for the values that the server runs with.
	Waits []string `json:"waits_for_restart,omitempty"`
}

// Found tells whether a check warns or fails.
func (e Exam) Found() bool {
	for _, c := range e.Checks {
		if c.Status == Warn || c.Status == Fail {
			return true
		}
	}
	return false
}

// Examine runs every check over a snapshot. It reads nothing else.
func Examine(s Snapshot) Exam {
	e := Exam{Taken: s.Taken, Host: s.Host, HugePages: hugePages(&s), Bill: bill(&s)}
	if s.Server != nil {
		e.Service = probes.Clean(s.runsUnder())
		e.Server = "PostgreSQL " + s.Server.Info.Version + " on " + s.Server.Info.Where
	}
	for _, list := range [][]func(*Snapshot) Check{pagesChecks(), systemChecks(), serverChecks()} {
		for _, check := range list {
			e.Checks = append(e.Checks, s.printed(check(&s)))
		}
	}
	e.Verdict = verdict(&s, &e)
	return e
}
