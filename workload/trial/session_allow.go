package trial

import (
	"context"
	"fmt"
	"strings"

	"pgtlb/workload"
)

// startAllowed asks before a load is started on a server that pgtlb did not
// make, each time.
func (s *Session) startAllowed(ctx context.Context, l *load) {
	q := s.allowQuestion(l)
	l.status, l.detail = LoadStarting, "waits for your answer"
	s.job(func() {
		yes := s.question(ctx, q)
		s.post(func() {
			switch {
			case l.status != LoadStarting || l.drive != nil: // it was stopped meanwhile
			case yes && s.st.Phase == Ready && s.st.Unreachable == "":
				s.startLoad(ctx, l)
			default:
				l.status, l.detail = LoadStopped, ""
			}
		})
	})
}

// allowQuestion names host, database, clients and size of a load.
func (s *Session) allowQuestion(l *load) Question {
	server, name := s.st.Server, l.what.Scenario.Name
	q := Question{
		Text: fmt.Sprintf("Start %s on a server that pgtlb did not make?", name),
		Yes:  fmt.Sprintf("start %s with %s", name, plural(l.what.Clients, "client")), No: "start nothing",
	}
	q.Detail = []string{
		fmt.Sprintf("server: %s, PostgreSQL %s", server.Where, server.Version),
		fmt.Sprintf("database: %s, as user %s", server.Database, server.User),
		"clients: " + s.clientsText(l),
	}
	if size := sizeText(l); size != "" {
		q.Detail = append(q.Detail, "data: "+size)
	}
	q.Detail = append(q.Detail, "It takes CPU time, memory and I/O from all else that this server does, until it is stopped.")
	return q
}

// clientsText says how many connections the load opens, and how many there are.
func (s *Session) clientsText(l *load) string {
	text := plural(l.what.Clients, "connection")
	if most := s.st.Server.MaxConnections; most > 0 {
		text += fmt.Sprintf("; the server allows %d", most)
	}
	n := 0
	for i := len(s.tl.history) - 1; i >= 0; i-- {
		f := &s.tl.history[i]
		if f.TooShort {
			continue
		}
		for b := range f.Backends {
			if f.Backends[b].Role == clientRole && !f.Backends[b].Own {
				n++
			}
		}
		return text + fmt.Sprintf(" and has %d now", n)
	}
	return text
}

// rowBytes is what a row of the dataset takes with its index entry, about.
const rowBytes = 140

// sizeText says what the load works on, and what is made where it is not there
// yet; "" for a load without data.
func sizeText(l *load) string {
	what := l.what
	values, err := what.Scenario.Resolve(what.Values)
	if err != nil || len(what.Scenario.Needs(values)) == 0 {
		return ""
	}
	text := "made in schema " + workload.Schema + " where it is not there yet"
	var parts []string
	for _, p := range what.Scenario.Params {
		parts = append(parts, fmt.Sprintf("%s %s", p.Name, Number(float64(values[p.Name]))))
	}
	if len(parts) > 0 {
		text = strings.Join(parts, ", ") + "; " + text
	}
	for _, d := range what.Scenario.Needs(values) {
		if set, ok := d.(workload.Dataset); ok {
			text += ", about " + Memory(float64(set.Rows)*rowBytes/1024)
		}
	}
	return text
}
