package doctor

import (
	"fmt"
	"strings"
)

// protectedAdjust is the oom_score_adj from which on down a process is hardly ever
// chosen: packages give the postmaster −900, the kubelet a guaranteed pod −997.
const protectedAdjust = -500

// UnitOOM is what the files of the server's unit say about the out-of-memory killer.
type UnitOOM struct {
	Adjust string `json:"adjust,omitempty"` // OOMScoreAdjust; empty for systemd's default
	File   string `json:"file,omitempty"`   // where it is said
}

func lookAtOOM(f files, u *Service) UnitOOM {
	var out UnitOOM
	if u == nil {
		return out
	}
	for _, file := range append([]string{u.File}, u.DropIns...) {
		text, _ := f.text(file)
		if v, ok := unitSetting(text, "Service", "OOMScoreAdjust"); ok {
			out = UnitOOM{v, file}
		}
	}
	return out
}

// checkOOMProtection is "oom_protection": whether the out-of-memory killer spares
// the postmaster, and only it.
func checkOOMProtection(s *Snapshot) Check {
	c := Check{ID: "oom_protection", Title: "Postmaster and the out-of-memory killer",
		Sources:  []string{"oom_score_adj in /proc/PID of the postmaster and of its children", "the files of its systemd unit"},
		Expected: fmt.Sprintf("oom_score_adj of the postmaster %d or lower, of its children 0", -900),
		Why: "When memory runs out the kernel kills a process. A killed backend costs all sessions a restart of the server's processes; a killed postmaster costs the server. " +
			"The postmaster is spared with a low oom_score_adj. Its children inherit that, so it is given to start with and taken back in each of them (PG_OOM_ADJUST_FILE): " +
			"otherwise the kernel spares the backend that took the memory and kills others."}
	if noPostmaster(s, &c) {
		return c
	}
	p, kids, u := s.System.Processes.Postmaster, s.System.Processes.Children, s.System.OOM
	c.Found = fmt.Sprintf("postmaster %d has oom_score_adj %d", p.Pid, p.Adjust)
	if kids.Count > 0 {
		c.Found += fmt.Sprintf(", its children (%d) %s", kids.Count, adjustRange(kids))
	}
	if u.Adjust != "" {
		c.Found += fmt.Sprintf("; %s has OOMScoreAdjust=%s", u.File, u.Adjust)
	}
	shielded := kids.Count > 0 && kids.MinAdjust <= protectedAdjust
	switch {
	case p.Adjust <= protectedAdjust && !shielded:
		c.Status = OK
		return c
	case p.Adjust <= protectedAdjust:
		c.Status = Warn
		c.Found += ": the children are spared too"
	default:
		c.Status = Warn
	}
	switch {
	case s.inContainer():
		c.Fix, c.Undo = containerAdjust(s, p.Adjust)
	case !s.byUnit():
		c.Fix, c.Undo = startScript("echo -900 > /proc/self/oom_score_adj", "export PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj PG_OOM_ADJUST_VALUE=0")
	default:
		c.Fix, c.Undo = dropIn(s, "pgtlb-oom.conf", "OOMScoreAdjust=-900",
			"Environment=PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj", "Environment=PG_OOM_ADJUST_VALUE=0")
	}
	c.Takes = TakesRestart
	return c
}

func adjustRange(c Children) string {
	if c.MinAdjust == c.MaxAdjust {
		return fmt.Sprint(c.MinAdjust)
	}
	return fmt.Sprintf("%d to %d", c.MinAdjust, c.MaxAdjust)
}

// containerAdjust says how the manager of containers sets the value.
func containerAdjust(s *Snapshot, old int) (fix, undo []string) {
	if s.inPod() {
		env := []string{"env:", "- {name: PG_OOM_ADJUST_FILE, value: /proc/self/oom_score_adj}", "- {name: PG_OOM_ADJUST_VALUE, value: \"0\"}"}
		return append([]string{
				"# in the pod's manifest: the kubelet gives oom_score_adj -997 where memory and cpu have requests equal to their limits",
				"# in every container of the pod (class Guaranteed), and 2 to 1000 otherwise:",
			}, env...),
			append([]string{"# in the pod's manifest: put the old requests and limits back and take out"}, env[1:]...)
	}
	return []string{"# start the container with these options:",
			"--oom-score-adj=-900 -e PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj -e PG_OOM_ADJUST_VALUE=0"},
		[]string{"# start the container with these options:", fmt.Sprintf("--oom-score-adj=%d", old)}
}

// checkOOMVictim is "oom_victim": whom the out-of-memory killer would take first.
func checkOOMVictim(s *Snapshot) Check {
	c := Check{ID: "oom_victim", Title: "Who would be killed first",
		Sources: []string{"/proc/*/oom_score", "/proc/vmstat oom_kill", "/proc/sys/vm/panic_on_oom", "/proc/sys/vm/oom_kill_allocating_task"},
		Why: "The kernel takes the process with the highest oom_score: what it has resident, in swap and in page tables, moved by oom_score_adj. " +
			"With 4 kB pages every backend is charged the shared buffers that it has touched and the page table for them; huge pages are charged to nobody. " +
			"A backend that is killed ends all sessions, and the server recovers."}
	if elsewhere(s, &c) {
		return c
	}
	first := s.System.Processes.First
	if len(first) == 0 {
		return unknown(s, c, "/proc")
	}
	kills, counted := s.System.Events["oom_kill"]
	c.Status = OK
	c.Found = "in this order: " + s.victims(first)
	if counted {
		c.Found += fmt.Sprintf("; killed since the boot: %d", kills)
	}
	if s.Server != nil {
		if set, ok := s.Server.Exam.Setting("restart_after_crash"); ok && set.Value == "off" {
			c.Found += "; restart_after_crash is off: after a killed backend the server stays down unless something else starts it"
		}
	}
	c.warnVictim(s, kills)
	return c
}

// warnVictim finds what makes the order a bad one.
func (c *Check) warnVictim(s *Snapshot, kills uint64) {
	warn := func(text, expected string) {
		if c.Expected != "" {
			expected = c.Expected + "; " + expected
		}
		c.Status, c.Found, c.Expected = Warn, c.Found+"; "+text, expected
	}
	first, group := s.System.Processes.First[0], s.System.Tasks.OOMGroup
	if p := s.System.Processes.Postmaster; p != nil && first.Pid == p.Pid && first.Score > 0 {
		warn("the postmaster comes first: see the check of its oom_score_adj", "any other process first")
	}
	for _, o := range []struct{ name, meaning string }{
		{"vm.panic_on_oom", "the machine stops instead of killing a process"},
		{"vm.oom_kill_allocating_task", "whoever asks for memory next is killed, not the largest"},
	} {
		if n, ok := s.sysctl(o.name); ok && n > 0 {
			warn(fmt.Sprintf("%s is %d: %s", o.name, n, o.meaning), o.name+" 0")
			fix, undo := persistent(s, "91-pgtlb-"+strings.TrimPrefix(o.name, "vm.")+".conf", o.name+"=0")
			c.Fix, c.Undo, c.Takes = append(c.Fix, fix...), append(c.Undo, undo...), TakesNothing
		}
	}
	if group != "" && s.System.Processes.Postmaster != nil {
		warn(group+" is 1: all processes of the server are killed at once", "memory.oom.group 0 for the server's group")
		if s.inPod() {
			const where = "# /var/lib/kubelet/config.yaml on the node (from Kubernetes 1.32), then systemctl restart kubelet and start the pod anew:"
			c.Fix, c.Undo, c.Takes = append(c.Fix, where, "singleProcessOOMKill: true"), append(c.Undo, where, "singleProcessOOMKill: false"), TakesRestart
		} else {
			c.Fix, c.Undo, c.Takes = append(c.Fix, "echo 0 > "+quote(group)), append(c.Undo, "echo 1 > "+quote(group)), TakesNothing
		}
	}
	if kills > 0 {
		warn("memory has run out before: dmesg says when, in lines with \"Out of memory\"", "nothing killed")
	}
}

// victims names processes with their scores.
func (s *Snapshot) victims(list []Process) string {
	var out []string
	for _, p := range list {
		whose := ""
		if pm := s.System.Processes.Postmaster; pm != nil {
			switch {
			case p.Pid == pm.Pid:
				whose = "the postmaster, "
			case p.Parent == pm.Pid:
				whose = "a child of the postmaster, "
			}
		}
		out = append(out, fmt.Sprintf("%s %d (%soom_score %d, adjusted by %d, %s resident)", p.Name, p.Pid, whose, p.Score, p.Adjust, memory(p.RSSKB)))
	}
	return strings.Join(out, ", ")
}
