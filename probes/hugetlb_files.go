package probes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxHugetlbFiles bounds how many files of a hugetlbfs mount are looked at.
const maxHugetlbFiles = 10000

// mounts looks at the files of the hugetlbfs mounts: they keep their pages
// without any process that has them mapped. The mounts are below the directory
// that proc is in.
func (h *holders) mounts() {
	b, err := os.ReadFile(h.roots.ProcPath("self/mountinfo"))
	if err != nil {
		h.limit("%v", unreadable(h.roots.ProcPath("self/mountinfo"), err, ""))
		return
	}
	top := filepath.Dir(h.roots.ProcPath())
	for _, m := range hugetlbMounts(string(b)) {
		h.mount(filepath.Join(top, m.path), m.path, m.pageKB)
	}
}

// mount looks at the files below root, whose names begin with shown.
func (h *holders) mount(root, shown string, pageKB int) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil && d != nil && d.IsDir() && path != root:
			h.limit("files in huge pages: %v", unreadable(path, err, ""))
			return fs.SkipDir // the others can be read
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		}
		if files++; files > maxHugetlbFiles {
			h.limit("%s has more than %d files: the rest was not looked at", shown, maxHugetlbFiles)
			return fs.SkipAll
		}
		id, kb, err := fileMemory(path)
		if err != nil {
			return nil // removed meanwhile
		}
		m := h.memory[id]
		if m == nil {
			info, err := d.Info()
			if err != nil {
				return nil
			}
			m = &HugetlbMemory{Kind: HugetlbFile, Dev: id.dev, Inode: id.inode, SizeKB: uint64(info.Size()) / 1024}
			h.memory[id] = m
		}
		m.Name, m.PageKB, m.TouchedKB = Clean(shown+strings.TrimPrefix(path, root)), pageKB, &kb
		return nil
	})
	if err != nil {
		h.limit("files in huge pages: %v", unreadable(root, err, ""))
	}
}

// hugetlbMount is a place where a hugetlbfs is mounted.
type hugetlbMount struct {
	path   string
	pageKB int
}

// hugetlbMounts reads the lines of /proc/self/mountinfo.
func hugetlbMounts(mountinfo string) []hugetlbMount {
	var out []hugetlbMount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, fs := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(fs) < 3 || fs[0] != "hugetlbfs" {
			continue
		}
		m := hugetlbMount{path: unescapeMount(f[4])}
		for o := range strings.SplitSeq(fs[2], ",") {
			if size, ok := strings.CutPrefix(o, "pagesize="); ok {
				m.pageKB = sizeKB(size)
			}
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// sizeKB reads a size like "2M", "1024M" or "64K"; 0 for what is none.
func sizeKB(s string) int {
	if s == "" {
		return 0
	}
	unit, ok := map[byte]int{'K': 1, 'M': 1 << 10, 'G': 1 << 20}[s[len(s)-1]]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 24)
	if !ok || err != nil {
		return 0
	}
	return int(n) * unit
}

// unescapeMount undoes what the kernel does with blanks in a path: \040.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// sysV looks at the System V segments: those in huge pages that are mapped get
// what the kernel says they have touched. Of a segment that nothing has mapped the
// kernel does not tell which pages it is in: it is named where it can be in pages
// of a pool that has some in use.
func (h *holders) sysV() {
	path := h.roots.ProcPath("sysvipc/shm")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return // a kernel without System V memory
	}
	if err != nil {
		h.limit("%v", unreadable(path, err, ""))
		return
	}
	pools, _ := ReadPools(h.roots) // without pools nothing is in huge pages
	possible := func(s sysVSegment) bool {
		return slices.ContainsFunc(pools, func(p Pool) bool { return p.Touched() > 0 && s.rssKB%uint64(p.PageKB) == 0 })
	}
	orphans, kb := 0, uint64(0)
	for _, s := range parseSysV(string(b)) {
		for id, m := range h.memory {
			if m != nil && m.Kind == HugetlbSysV && id.inode == s.id {
				m.TouchedKB, m.SizeKB = &s.rssKB, max(m.SizeKB, s.sizeKB)
			}
		}
		if s.attached == 0 && s.rssKB > 0 && possible(s) {
			orphans++
			kb += s.rssKB
		}
	}
	if orphans > 0 {
		h.limit("%d System V segments with %d kB in memory are mapped by no process and may be in huge pages, which the kernel does not say (see: ipcs -m; ipcrm -m SHMID removes one)", orphans, kb)
	}
}

// sysVSegment is a line of /proc/sysvipc/shm.
type sysVSegment struct {
	id            uint64
	sizeKB, rssKB uint64
	attached      uint64
}

// parseSysV reads /proc/sysvipc/shm by the names of its columns.
func parseSysV(s string) []sysVSegment {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	at := map[string]int{}
	for i, name := range strings.Fields(lines[0]) {
		at[name] = i
	}
	var out []sysVSegment
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		number := func(column string) uint64 {
			i, ok := at[column]
			if !ok || i >= len(f) {
				return 0
			}
			n, _ := parseDecimal([]byte(f[i])) // the kernel writes numbers
			return n
		}
		out = append(out, sysVSegment{number("shmid"), number("size") / 1024, number("rss") / 1024, number("nattch")})
	}
	return out
}
