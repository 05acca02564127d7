package trial

import (
	"context"
	"fmt"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload"
)

// startAllowed counts the server's sessions and asks before a load is started on
// a server that pgtlb did not make, each time. An answer counts only for the start
// that was asked about: a load that was stopped meanwhile may have other parameters.
func (s *Session) startAllowed(ctx context.Context, l *load) {
	what := l.what
	l.tries++
	try := l.tries
	waiting := func() bool { return l.tries == try && l.status == LoadStarting && l.drive == nil }
	l.status, l.detail = LoadStarting, "waits for your answer"
	s.job(func() {
		yes := false
		room, err := s.room(ctx, what)
		if err == nil {
			yes = s.question(ctx, l, func() (Question, bool) { return s.allowQuestion(l, room), waiting() })
		}
		s.post(func() {
			switch {
			case !waiting(): // it was stopped meanwhile
			case yes && s.st.Phase == Ready && s.st.Unreachable == "":
				s.startLoad(ctx, l)
			default:
				l.status, l.detail = LoadStopped, ""
			}
			if err != nil {
				s.notify(true, l.what.Scenario.Name+": "+err.Error())
			}
		})
	})
}

// room counts the sessions of the server, and returns an error where the clients do
// not fit or the data cannot be made.
func (s *Session) room(ctx context.Context, what workload.Load) (workload.Connections, error) {
	values, err := what.Scenario.Resolve(what.Values)
	if err != nil {
		return workload.Connections{}, err
	}
	conn, err := s.connectAs(probes.SetupName)(ctx)
	if err != nil {
		return workload.Connections{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	room, err := workload.Room(ctx, conn)
	if err == nil {
		err = room.Check(what.Clients)
	}
	if err == nil {
		err = what.Scenario.MayMake(ctx, conn, values)
	}
	return room, err
}

// allowQuestion names host, database, clients and size of a load.
func (s *Session) allowQuestion(l *load, room workload.Connections) Question {
	server, name := s.st.Server, l.what.Scenario.Name
	q := Question{
		Text: fmt.Sprintf("Start %s on a server that pgtlb did not make?", name),
		Yes:  fmt.Sprintf("start %s with %s", name, probes.Plural(l.what.Clients, "client")), No: "start nothing",
	}
	q.Detail = []string{
		fmt.Sprintf("server: %s, PostgreSQL %s", server.Where, server.Version),
		fmt.Sprintf("database: %s, as user %s", server.Database, server.User),
		fmt.Sprintf("clients: %s; the server allows %d and has %d now", probes.Plural(l.what.Clients, "connection"), room.Max, room.InUse),
	}
	q.Detail = append(q.Detail, dataLines(l)...)
	q.Detail = append(q.Detail, "It takes CPU time, memory and I/O from all else that this server does, until it is stopped.")
	return q
}

// dataLines say what the load works on, and what is made where it is not there
// yet; nil for a load without data.
func dataLines(l *load) []string {
	what := l.what
	values, err := what.Scenario.Resolve(what.Values)
	if err != nil {
		return nil
	}
	makes := what.Scenario.Makes(values)
	if len(makes) == 0 {
		return nil
	}
	var parts []string
	for _, p := range what.Scenario.Params {
		parts = append(parts, fmt.Sprintf("%s %s", p.Name, probes.Number(float64(values[p.Name]))))
	}
	if bytes := what.Scenario.Estimate(values); bytes > 0 {
		parts = append(parts, "about "+probes.Memory(float64(bytes)/1024))
	}
	return []string{
		"data: " + strings.Join(parts, ", "),
		"makes, where it is not there yet: " + strings.Join(makes, "; "),
		"pgtlb bench --cleanup removes what it made",
	}
}
