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
		Expected: fmt.Sprintf("less than %.0f %% taken: put a connection pooler before the server (PgBouncer and others), or have clients close what they do not use. ", crowded*100) +
			"A larger max_connections takes a restart and more shared memory, so the huge page pool is to be counted anew; every further session takes a page table and work_mem; " +
			"and it goes to the standbys first: one that has less than its primary stops (13) or pauses replay (from 14)",
		Why: "Every session has a page table of its own: with 4 kB pages its size is the shared memory that the session has touched, /512. When all are taken new ones get \"too many clients already\"."}
	if _, ok := serverSetting(s, &c, "max_connections"); !ok {
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
	}
	return c
}

// checkWorkMemory is "work_memory": what sessions may come to take beside shared
// memory.
func checkWorkMemory(s *Snapshot) Check {
	c := Check{ID: "work_memory", Title: "Memory of sessions (work_mem)", Sources: []string{"pg_settings: work_mem, hash_mem_multiplier, max_connections, shared_memory_size", "/proc/meminfo MemTotal"},
		Why: "One query may take work_mem for each sort and work_mem × hash_mem_multiplier for each hash, in each of its processes. " +
			"What the huge page pool holds is not there for them. The figure is one of either in each session, not the most that is possible."}
	if _, ok := serverSetting(s, &c, "work_mem"); !ok {
		return c
	}
	each, ok := hashKB(s, &c)
	if !ok {
		return c
	}
	most, _ := settingNumber(s, "max_connections")
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
	c.Expected += ": fewer sessions by a connection pooler, or a smaller work_mem for the roles that have many (ALTER ROLE … SET work_mem). " +
		"work_mem is not to be lowered for the whole server on this account: queries that fit in memory today would write temporary files"
	return c
}
