package doctor

import (
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
)

// sharedSettings are the settings that the size of shared memory hangs on, or
// which pages it asks for.
func sharedSettings() []string {
	return []string{
		"huge_pages", "shared_buffers", "huge_page_size", "shared_memory_type", "max_connections", "wal_buffers",
		"max_locks_per_transaction", "max_pred_locks_per_transaction", "max_prepared_transactions",
		"min_dynamic_shared_memory", "max_worker_processes", "max_wal_senders", "max_replication_slots",
		"autovacuum_max_workers", "autovacuum_worker_slots", "io_max_concurrency", "track_activity_query_size",
		"shared_preload_libraries",
	}
}

// coming is what the next start brings to the shared memory that the running
// server does not have yet.
type coming struct {
	names     []string // the settings that wait, the weighty first
	hugePages string   // huge_pages then; empty where it does not change
	// atLeast is how many pages the server needs then at least, or about where
	// shared_buffers gets smaller; 0 where nothing tells.
	atLeast int
	smaller bool
}

// coming finds the settings of shared memory that wait for a restart.
func (s *Snapshot) coming(d demand) coming {
	var c coming
	if s.Server == nil {
		return c
	}
	names, won := waiting(s)
	for _, name := range names {
		if !slices.Contains(sharedSettings(), name) {
			continue
		}
		c.names = append(c.names, name)
		set, _ := s.Server.Exam.Setting(name)
		switch f, inFile := won[name]; {
		case !inFile || f.Secret:
		case name == "huge_pages":
			c.hugePages = hugePagesWord(f.Value)
		case name == "shared_buffers" && d.need > 0:
			c.atLeast, c.smaller = s.needWith(f.Value, set.Unit, d)
		}
	}
	return c
}

// waiting are the names of all settings that wait for a restart, the weighty first,
// and the lines of the files that count.
func waiting(s *Snapshot) (names []string, won map[string]probes.FileSetting) {
	won = winners(s)
	found := map[string]bool{}
	for _, set := range s.Server.Exam.Settings {
		if set.Pending {
			found[set.Name] = true
		}
	}
	for name, f := range won {
		if f.NeedsRestart || blocked(s, f) {
			found[name] = true
		}
	}
	return sortedNames(found), won
}

// hugePagesWord is a value of huge_pages as SHOW prints it.
func hugePagesWord(value string) string {
	if on, ok := boolean(value); ok {
		return map[bool]string{true: "on", false: "off"}[on]
	}
	return strings.ToLower(value)
}

// needWith is how many pages the shared memory takes once shared_buffers has
// another value and all else is as now.
func (s *Snapshot) needWith(buffers, unit string, d demand) (n int, smaller bool) {
	kb, ok := quantity(buffers, unit)
	now, shared := s.Server.Info.SharedBuffersKB, s.sharedKB()
	if !ok || kb <= 0 || now == 0 || shared < now {
		return 0, false
	}
	return pagesFor(shared-now+uint64(kb), d.pageKB), uint64(kb) < now
}

// any tells whether something waits.
func (c coming) any() bool { return len(c.names) > 0 }

// words say for which values a number of pages holds and what tells the one after
// the restart.
func (c coming) words(s *Snapshot, d demand) string {
	text := fmt.Sprintf("for the running values: %s waits for a restart", strings.Join(c.names, ", "))
	if len(c.names) > 1 {
		text = fmt.Sprintf("for the running values: %s wait for a restart", strings.Join(c.names, ", "))
	}
	switch {
	case c.hugePages == "off":
		return text + ", after which huge_pages is off and the server asks for no huge pages"
	case c.atLeast > d.need:
		text += fmt.Sprintf(", after which it needs more, at least %s", pages(c.atLeast, d.pageKB))
	case c.smaller && c.atLeast > 0 && c.atLeast < d.need:
		text += fmt.Sprintf(", after which it needs less, about %s", pages(c.atLeast, d.pageKB))
	case slices.Equal(c.names, []string{"huge_pages"}):
		return text + ", after which huge_pages is " + c.hugePages
	default:
		text += ", after which it needs another number"
	}
	return text + c.tells(s)
}

// short is that something waits, for a sentence of few words.
func (c coming) short() string {
	return "for the running values (" + strings.Join(c.names, ", ") + " will change with a restart)"
}

// tells is what tells the number of pages after the restart. A running server
// holds its data directory, and postgres -C counts what the files ask for only
// without it.
func (c coming) tells(s *Snapshot) string {
	i := s.Server.Info
	if i.VersionNum < 150000 || i.DataDir == "" {
		return ""
	}
	command := s.asOwner() + s.program("postgres") + " -C shared_memory_size_in_huge_pages -D " + quote(i.DataDir)
	if set, ok := s.Server.Exam.Setting("config_file"); ok && set.Value != "" && set.Value != i.DataDir+"/postgresql.conf" {
		command += " -c config_file=" + quote(set.Value)
	}
	return "; once it is stopped, this tells: " + command
}

// keepsPool says why no pool may be made smaller now: pages that look idle may be
// those that a stopped or changed server waits for. Empty where one may.
func (s *Snapshot) keepsPool() string {
	switch {
	case s.Server == nil:
		return "no server is examined, and a stopped one may wait for them"
	case s.coming(s.demand()).any():
		return "settings of shared memory wait for a restart, after which they may be needed"
	}
	return ""
}
