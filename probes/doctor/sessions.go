package doctor

import (
	"fmt"
	"strings"
)

// crowded is the share of max_connections from which on new sessions are close to
// being refused.
const crowded = 0.9

// checkConnections is "connections": how many of max_connections are taken.
func checkConnections(s *Snapshot) Check {
	c := Check{ID: "connections", Title: "Sessions and max_connections", Sources: []string{"pg_stat_activity", "pg_settings: max_connections, superuser_reserved_connections, reserved_connections"},
		Expected: fmt.Sprintf("less than %.0f %% taken", crowded*100),
		Why:      "Every session has a page table of its own: with 4 kB pages its size is the shared memory that the session has touched, /512. When all are taken new ones get \"too many clients already\"."}
	set, ok := serverSetting(s, &c, "max_connections")
	if !ok {
		return c
	}
	most, _ := settingNumber(s, "max_connections")
	reserved, _ := settingNumber(s, "superuser_reserved_connections")
	more, _ := settingNumber(s, "reserved_connections")
	n := 0
	var roles []string
	for _, r := range s.Server.Exam.Sessions {
		n += r.Sessions
		if len(roles) < 5 {
			roles = append(roles, fmt.Sprintf("%s %d", r.Role, r.Sessions))
		}
	}
	free := most - reserved - more
	c.Found = fmt.Sprintf("%d sessions besides ours; max_connections is %d, of which %d are reserved", n, most, reserved+more)
	if len(roles) > 0 {
		c.Found += "; by role: " + strings.Join(roles, ", ")
	}
	c.Status = OK
	if free > 0 && float64(n) >= crowded*float64(free) {
		c.Status = Warn
		c.Fix, c.Undo, c.Takes = alter(s, set, fmt.Sprint(most*3/2))
		c.Fix = append([]string{"# a connection pooler is the better way; more sessions take more page tables:"}, c.Fix...)
	}
	return c
}

// checkWorkMemory is "work_memory": what sessions may come to take beside shared
// memory.
func checkWorkMemory(s *Snapshot) Check {
	c := Check{ID: "work_memory", Title: "Memory of sessions (work_mem)", Sources: []string{"pg_settings: work_mem, hash_mem_multiplier, max_connections, shared_memory_size", "/proc/meminfo MemTotal"},
		Why: "One query may take work_mem for each sort and work_mem × hash_mem_multiplier for each hash, in each of its processes. " +
			"What the huge page pool holds is not there for them. The figure is one of either in each session, not the most that is possible."}
	set, ok := serverSetting(s, &c, "work_mem")
	if !ok {
		return c
	}
	const processes = 3
	most, _ := settingNumber(s, "max_connections")
	each := parallelHashKB(s) / processes
	all := uint64(most) * each
	shared := s.Server.Info.SharedMemoryKB
	if shared == 0 {
		shared = s.Server.Info.SharedBuffersKB
	}
	now := 0
	for _, r := range s.Server.Exam.Sessions {
		now += r.Sessions
	}
	c.Found = fmt.Sprintf("work_mem × hash_mem_multiplier is %s: %s for the %d sessions of now, %s at max_connections (%d), beside %s of shared memory",
		memory(each), memory(uint64(now)*each), now, memory(all), most, memory(shared))
	m := s.Pages.Memory
	if s.HostUnknown != "" || m.TotalKB == 0 {
		c.Status = Unknown
		c.Found += "; the memory of the server's machine is not known here"
		return c
	}
	total, whose := m.TotalKB, "the machine has"
	held := max(shared, s.poolsKB())
	if l := s.Pages.Cgroup.tightest(0, 0); l != nil && uint64(l.Max)>>10 < total {
		total, whose, held = uint64(l.Max)>>10, l.File+" allows", shared
	}
	room := total - min(held, total)
	c.Found += fmt.Sprintf("; %s %s, %s without it", whose, memory(total), memory(room))
	c.Expected = "at max_connections at most " + memory(room)
	c.Status = OK
	if all <= room {
		return c
	}
	c.Status = Warn
	work, _ := settingNumber(s, "work_mem")
	fits := int64(float64(room) / float64(most) * float64(work) / float64(each))
	if fits >= 1024 { // below 1 MB another number of sessions is the way
		c.Fix, c.Undo, c.Takes = alter(s, set, fmt.Sprintf("%dMB", fits/1024))
	}
	return c
}
