package probes

import (
	"context"
	"strings"
	"time"
)

// maxQuery bounds the query text that is kept per backend, in bytes: samples
// are recorded every second.
const maxQuery = 1024

// CutMark ends a query text that is not whole, because the server keeps no more
// of one than track_activity_query_size, or pgtlb than maxQuery.
const CutMark = "…"

// activity is one row of pg_stat_activity as the server sent it.
type activity struct {
	pid                        int // as the server sees it
	backendType, state         string
	database, user, app, query string
	waitType, waitEvent        string
	started                    *time.Time // nil without the right to see it
	cut                        bool       // the server may have cut the query
	secret                     bool       // the query is too long to be kept whole, and speaks of secrets
}

// queryActivity asks for the rows of these processes, by the pids that the
// server knows; without pids for all rows.
func queryActivity(ctx context.Context, c *session, pids []int32) ([]activity, error) {
	asked := make([]*int32, max(1, len(pids))) // one NULL stands for all
	for i := range pids {
		asked[i] = &pids[i]
	}
	rows, err := c.conn.Query(ctx, activitySQL, asked)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []activity
	for rows.Next() {
		var r activity
		err := rows.Scan(&r.pid, &r.backendType, &r.state, &r.database, &r.user, &r.app,
			&r.waitType, &r.waitEvent, &r.query, &r.started)
		if err != nil {
			return nil, err
		}
		r.cut = c.mayBeCut(r.query)
		r.secret = longSecret(r.query)
		out = append(out, r)
	}
	return out, rows.Err()
}

// backend is the row as far as SQL gives it. Pid is the server's own until the
// process is found.
func (r activity) backend(ownPid int) Backend {
	b := Backend{
		Pid:         r.pid,
		Role:        roleOf(r.backendType),
		State:       Clean(r.state),
		Database:    Clean(r.database),
		User:        Clean(r.user),
		App:         Clean(r.app),
		Query:       queryText(r.query, r.cut),
		QuerySecret: r.secret,
		Own:         r.pid == ownPid || r.app == AppName || strings.HasPrefix(r.app, SetupName),
	}
	if r.waitEvent != "" {
		b.Wait = Clean(r.waitType + ":" + r.waitEvent)
	}
	if r.started != nil {
		b.Started = *r.started
	}
	return b
}

// mayBeCut tells whether a text is as long as the server keeps them: it cuts
// between characters, of which one has up to four bytes, and ends them with a zero.
func (c *session) mayBeCut(query string) bool {
	const longestCharacter = 4
	return c.querySize > 0 && len(query) >= c.querySize-longestCharacter
}

// longSecret tells whether a text of which queryText keeps a part only speaks of
// secrets, wherever it does.
func longSecret(query string) bool {
	if len(query) <= maxQuery {
		return false
	}
	at, _ := SecretWord(Clean(query))
	return at >= 0
}

// queryText makes a query safe to draw and to write. Its lines stay apart, since
// the end of one ends a comment; one that is cut says so with CutMark.
func queryText(query string, cut bool) string {
	cut = cut || len(query) > maxQuery
	lines := strings.Split(strings.ReplaceAll(shorten(query), "\r", "\n"), "\n")
	for i, l := range lines {
		lines[i] = Clean(l)
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if cut {
		text += CutMark
	}
	return text
}

// shorten cuts a text at maxQuery bytes; half a character at the end is left
// to Clean, which replaces it.
func shorten(s string) string {
	if len(s) <= maxQuery {
		return s
	}
	cut := maxQuery
	for cut > maxQuery-4 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut]
}
