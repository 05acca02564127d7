package doctor

import (
	"fmt"
)

// keepTHP are the commands that set a file of transparent huge pages now and at
// each boot.
func keepTHP(file, value, old string) (fix, undo []string) {
	path := "/sys/kernel/mm/transparent_hugepage/" + file
	conf := "/etc/tmpfiles.d/thp-" + file + ".conf"
	return []string{
			fmt.Sprintf("echo %s > %s", value, path),
			fmt.Sprintf("echo 'w %s - - - - %s' > %s", path, value, conf),
		}, []string{
			fmt.Sprintf("echo %s > %s", old, path),
			"rm " + conf,
		}
}

func checkTHP(s *Snapshot) Check {
	c := Check{
		ID: "thp", Title: "Transparent huge pages", Status: OK,
		Expected: "madvise or never",
		Why: "They are not PostgreSQL's huge_pages: the kernel makes them on its own, of private memory, whether a pool exists " +
			"or not. With always the kernel compacts memory while a backend waits, which shows as stalls " +
			"(compact_stall), and processes take more memory than they use.",
		Sources: []string{"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/transparent_hugepage/defrag", "/proc/vmstat"},
	}
	mode, ok := s.Host.THP["enabled"]
	if !ok {
		c.Status, c.Found = NotHere, "the kernel has no transparent huge pages"
		return c
	}
	c.Found = "enabled is " + mode
	if d := s.Host.THP["defrag"]; d != "" {
		c.Found += ", defrag is " + d
	}
	if n, ok := s.Pages.Free.Events["compact_stall"]; ok && n > 0 {
		c.Found += fmt.Sprintf("; processes waited for compaction %s times since the boot", number(int(n)))
	}
	if v, ok := bootWord(s.Pages.Kernel.BootLine, "transparent_hugepage"); ok {
		c.Found += "; the boot line says transparent_hugepage=" + v
	}
	c.Found += "; this says nothing about the explicit pools that huge_pages uses"
	if mode != "always" {
		return c
	}
	c.Status, c.Takes = Warn, TakesNothing
	c.Fix, c.Undo = keepTHP("enabled", "madvise", mode)
	return c
}

func checkTHPShmem(s *Snapshot) Check {
	c := Check{
		ID: "thp_shmem", Title: "Transparent huge pages for shared memory", Status: OK,
		Expected: "never or advise, and the explicit pool for shared buffers",
		Why: "With always, within_size or force the kernel may map shared buffers in transparent huge pages while huge_pages " +
			"is off or has fallen back. How much of them it finds is not certain, and changes.",
		Sources: []string{"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "/proc/PID/smaps"},
	}
	mode, ok := s.Host.THP["shmem_enabled"]
	if !ok {
		c.Status, c.Found = NotHere, "the kernel has no transparent huge pages for shared memory"
		return c
	}
	c.Found = "shmem_enabled is " + mode
	if cl := s.cluster(); cl != nil && cl.PageKB > 0 {
		c.Found += fmt.Sprintf("; %s of the server's %s of shared memory are mapped so", memory(cl.THPKB), memory(cl.SizeKB))
	}
	switch mode {
	case "always", "within_size", "force":
		c.Status, c.Takes = Warn, TakesRestart
		c.Fix, c.Undo = keepTHP("shmem_enabled", "never", mode)
		if s.onHugePages() {
			c.Status = OK // shared buffers are in the pool
			c.Found += "; shared buffers are in the explicit pool, so that it does not concern them"
			c.Fix, c.Undo, c.Takes = nil, nil, ""
		}
	}
	return c
}
