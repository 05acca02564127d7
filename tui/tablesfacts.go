package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pgtlb/probes"
	"pgtlb/workload/trial"
)

// tablesFacts is what the zoomed pane of the page tables says first: where they
// go, and who holds the huge pages.
func (sc *scene) tablesFacts(w int) []para {
	const label = 20
	var out []para
	add := func(name, text string) {
		st := stPlain
		if strings.HasPrefix(text, "n/a: ") {
			st = stDim
		}
		for i, l := range wrap(clean(text), max(20, w-label), 4) {
			if i > 0 {
				name = ""
			}
			out = append(out, para{name + strings.Repeat(" ", max(1, label-textWidth(name))) + l, st})
		}
	}
	for _, f := range trial.ForecastFacts(sc.forecast(), &sc.st.Server) {
		add(f.Label, f.Value)
	}
	for i, l := range sc.holders() {
		name := ""
		if i == 0 {
			name = "huge pages held by"
		}
		add(name, l)
	}
	return out
}

// forecast is where the page tables go by the newest frames.
func (sc *scene) forecast() probes.PageTableForecast {
	return probes.ForecastPageTables(sc.st.History, &sc.st.Server)
}

// growth is that of client backends, in kB per minute.
func (sc *scene) growth() probes.Value {
	if len(sc.st.History) == 0 {
		return probes.Value{Missing: "no sample yet"}
	}
	return probes.GrowthOfClients(sc.st.History).Growth
}

// holders says who has huge pages, as far as it was asked for.
func (sc *scene) holders() []string {
	h := sc.st.Holders
	switch {
	case sc.st.Mode == trial.Replaying:
		return []string{"n/a: a recording does not tell"}
	case h == nil || h.At.IsZero():
		return []string{"n/a: all processes are being looked at"}
	case h.Missing != "":
		return []string{"n/a: " + h.Missing}
	}
	out := holderLines(&h.Use, sc.st.Server.PostmasterPid)
	if len(out) == 0 {
		out = []string{"no process that can be seen"}
	}
	out[0] += " (at " + h.At.Format("15:04:05") + ")"
	return append(out, h.Use.Limits...)
}

// holderLines name each piece of memory in huge pages once with those that have
// it mapped, then the processes of which only the amount is known. Sums over
// processes would count shared memory again for each.
func holderLines(u *probes.HugetlbUse, postmaster int) []string {
	byPid := map[int]*probes.HugetlbProcess{}
	for i := range u.Processes {
		byPid[u.Processes[i].Pid] = &u.Processes[i]
	}
	var out []string
	told := map[int]bool{}
	for _, m := range u.Memory {
		text := probes.Memory(float64(m.SizeKB))
		if m.PageKB > 0 {
			text += " in pages of " + pageSize(m.PageKB)
		}
		if m.TouchedKB != nil {
			text += ", " + probes.Memory(float64(*m.TouchedKB)) + " touched"
		}
		if m.Kind != probes.HugetlbAnonymous {
			text += ", " + m.Name
		}
		var users []*probes.HugetlbProcess
		for _, pid := range m.Pids {
			if p := byPid[pid]; p != nil {
				users = append(users, p)
				told[pid] = true
			}
		}
		if len(users) == 0 {
			out = append(out, text+": mapped by no process that can be seen")
			continue
		}
		out = append(out, text+": "+usersText(users, postmaster))
	}
	var rest []*probes.HugetlbProcess
	for i := range u.Processes {
		if p := &u.Processes[i]; !told[p.Pid] {
			rest = append(rest, p)
		}
	}
	return append(out, restLines(rest, postmaster)...)
}

// restLines are the processes whose memory could not be told apart: for each
// server the one that has touched most, since its processes share.
func restLines(rest []*probes.HugetlbProcess, postmaster int) []string {
	var out []string
	for len(rest) > 0 {
		same, others := sameOwner(rest)
		most := slices.MaxFunc(same, func(a, b *probes.HugetlbProcess) int { return cmp.Compare(a.HugetlbKB, b.HugetlbKB) })
		text := probes.Memory(float64(most.HugetlbKB)) + " touched"
		if len(same) > 1 {
			text += " by the one with most"
		}
		out = append(out, text+": "+usersText(same, postmaster))
		rest = others
	}
	return out
}

// sameOwner splits off the first process and all others of its server.
func sameOwner(list []*probes.HugetlbProcess) (same, others []*probes.HugetlbProcess) {
	for _, p := range list {
		if p == list[0] || p.Postmaster != 0 && p.Postmaster == list[0].Postmaster {
			same = append(same, p)
		} else {
			others = append(others, p)
		}
	}
	return same, others
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// usersText names processes: those of one server together.
func usersText(users []*probes.HugetlbProcess, postmaster int) string {
	var out []string
	for len(users) > 0 {
		same, others := sameOwner(users)
		p := same[0]
		user := fmt.Sprintf("uid %d", p.UID)
		if p.User != "" {
			user = "user " + p.User
		}
		switch {
		case p.Postmaster == 0:
			out = append(out, fmt.Sprintf("%s (pid %d, %s)", p.Name, p.Pid, user))
		case p.Postmaster == postmaster:
			out = append(out, fmt.Sprintf("this server (postmaster %d, %s)", p.Postmaster, processes(len(same))))
		case p.DataDir == "":
			out = append(out, fmt.Sprintf("PostgreSQL (postmaster %d, %s, %s)", p.Postmaster, user, processes(len(same))))
		default:
			out = append(out, fmt.Sprintf("PostgreSQL in %s (postmaster %d, %s, %s)", p.DataDir, p.Postmaster, user, processes(len(same))))
		}
		users = others
	}
	return strings.Join(out, ", ")
}
