package trial

import (
	"cmp"
	"fmt"
	"slices"

	"pgtlb/probes"
)

// QueriesSeen are the query texts of a run over its load, constants taken out.
type QueriesSeen struct {
	Run string `json:"run"`
	// Note says why there are none, or what of them is left out.
	Note  string      `json:"note,omitempty"`
	Texts []QuerySeen `json:"texts"` // those seen most often come first
}

// QuerySeen is a text, and what the processes did that had it as their query: the one
// that they ran, or ran last.
type QuerySeen struct {
	Text string `json:"text"`
	// Cut tells that the text is not whole: the server keeps no more of it than
	// track_activity_query_size, or the rest may be a constant or a secret.
	Cut bool `json:"cut,omitempty"`
	// Seen counts samples × sessions that had it, Running those that were running it.
	Seen     int `json:"seen"`
	Running  int `json:"running"`
	Backends int `json:"backends"` // different processes
	// PageTablesKB is the largest page table that one of them had; null where not known.
	PageTablesKB *uint64 `json:"max_page_tables_kb"`
	// FaultsPerSecond is the mean of a process while it ran; null where not known.
	FaultsPerSecond *float64 `json:"page_faults_per_second"`
	// Load tells that only pgtlb's own load ran it.
	Load bool `json:"load,omitempty"`
}

// mostQueries is how many texts a report has.
const mostQueries = 50

// queriesOf lists the texts of a run; frames are those of its samples.
func queriesOf(run *Run, frames []probes.Frame) QueriesSeen {
	out := QueriesSeen{Run: run.Meta.Name, Texts: []QuerySeen{}}
	switch {
	case run.Meta.ByHand != nil:
		out.Note = "A run that was entered by hand has no samples and so no query texts."
		return out
	case !run.Meta.Queries:
		out.Note = "This run holds no query texts, since they are recorded only on request: record it anew with --with-queries to have them."
		return out
	}
	from, to, _ := LoadWindow(frames)
	texts := map[string]*queryCount{}
	known := map[string]statement{} // by the text as it is recorded
	for i := from; i < to; i++ {
		for j := range frames[i].Backends {
			b := &frames[i].Backends[j]
			if b.Query == "" || b.Own || b.Role == probes.RoleParallelWorker {
				continue
			}
			s, ok := known[b.Query]
			if !ok {
				s = normalized(b.Query, false)
				known[b.Query] = s
			}
			if texts[s.key] == nil {
				texts[s.key] = &queryCount{QuerySeen: QuerySeen{Text: s.text, Cut: s.cut(), Load: true}, backends: map[ident]bool{}}
			}
			texts[s.key].add(b)
		}
	}
	for _, c := range texts {
		out.Texts = append(out.Texts, c.result())
	}
	slices.SortFunc(out.Texts, func(a, b QuerySeen) int {
		return cmp.Or(cmp.Compare(b.Seen, a.Seen), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Text, b.Text))
	})
	out.Note = out.leaveOut()
	return out
}

// leaveOut keeps the first texts, and says what a reader must know of the list.
func (q *QueriesSeen) leaveOut() string {
	if len(q.Texts) == 0 {
		return "No session but pgtlb's own had a query while this run was measured."
	}
	note := "Constants stand as $1, $2 …; pgtlb's own watching sessions are left out."
	if slices.ContainsFunc(q.Texts, func(s QuerySeen) bool { return s.Text == hiddenByServer }) {
		note += " The server shows the queries of other roles to a member of pg_read_all_stats only."
	}
	if more := q.Texts[min(mostQueries, len(q.Texts)):]; len(more) > 0 {
		seen := 0
		for _, s := range more {
			seen += s.Seen
		}
		note += fmt.Sprintf(" %s more, seen %s in all, are left out.", probes.Plural(len(more), "text"), often(seen))
		q.Texts = q.Texts[:mostQueries]
	}
	return note
}

// hiddenByServer is what stands in place of a query that a role may not see.
const hiddenByServer = "<insufficient privilege>"

// queryCount adds up what was seen of one text.
type queryCount struct {
	QuerySeen
	backends map[ident]bool
	faults   float64 // sum of rates
	rates    int     // how many there are
}

func (c *queryCount) add(b *probes.BackendRow) {
	c.Seen++
	c.backends[identOf(&b.Backend)] = true
	c.Load = c.Load && b.OfLoad()
	if b.Mem != nil && (c.PageTablesKB == nil || *c.PageTablesKB < b.Mem.PageTables) {
		c.PageTablesKB = &b.Mem.PageTables
	}
	// A process without a state, such as an autovacuum worker on old servers, works.
	if b.State != "" && b.State != "active" && b.State != "fastpath function call" {
		return
	}
	c.Running++
	if b.Rates != nil {
		c.faults, c.rates = c.faults+b.Rates.MinorFaults+b.Rates.MajorFaults, c.rates+1
	}
}

func (c *queryCount) result() QuerySeen {
	out := c.QuerySeen
	out.Backends = len(c.backends)
	if c.rates > 0 {
		mean := c.faults / float64(c.rates)
		out.FaultsPerSecond = &mean
	}
	return out
}

// often writes how often something was: "once", "1,234 times".
func often(n int) string {
	if n == 1 {
		return "once"
	}
	return probes.Number(float64(n)) + " times"
}

// SeenText says in words what was seen of a text.
func (s QuerySeen) SeenText() string {
	text := fmt.Sprintf("seen %s, running %s, in %s", often(s.Seen), often(s.Running), probes.Plural(s.Backends, "backend"))
	if s.PageTablesKB != nil {
		text += ", page tables up to " + probes.Memory(float64(*s.PageTablesKB))
	}
	if s.FaultsPerSecond != nil {
		text += ", " + probes.Count(*s.FaultsPerSecond) + " page faults/s of each while it ran"
	}
	if s.Load {
		text += "; pgtlb's load"
	}
	return text
}
