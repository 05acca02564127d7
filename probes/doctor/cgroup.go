package doctor

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// Cgroup is the control group of the server, or of pgtlb itself, with the limits
// of all its levels.
type Cgroup struct {
	// Path is as /proc/PID/cgroup has it; in a container with a view of its own
	// it is "/".
	Path   string        `json:"path,omitempty"`
	Server bool          `json:"server,omitempty"` // it is the server's
	Limits []CgroupLimit `json:"limits,omitempty"` // innermost level first
	// CountsHugetlb tells whether huge pages count for memory.max too (cgroup2
	// mounted with memory_hugetlb_accounting, since Linux 6.6).
	CountsHugetlb bool `json:"counts_hugetlb,omitempty"`
}

// CgroupLimit is one limit of one level. Levels without a limit have none.
type CgroupLimit struct {
	File   string `json:"file"`              // the file that holds it
	Level  string `json:"level"`             // the group
	PageKB int    `json:"page_kb,omitempty"` // of a limit of huge pages; 0 of all memory
	// Reserving tells that the limit counts when memory is mapped; a limit of huge
	// pages that does not counts when a page is first touched.
	Reserving bool  `json:"reserving,omitempty"`
	Max       int64 `json:"max"`     // bytes
	Current   int64 `json:"current"` // bytes
	Hits      int64 `json:"hits,omitempty"`
}

// Tasks are limits of the postmaster's control group, or of ours where there is
// no server.
type Tasks struct {
	// Max is the tightest limit of processes and threads at any level; 0 for none.
	Max  int64  `json:"max,omitempty"`
	Now  int64  `json:"now,omitempty"`  // at that level
	File string `json:"file,omitempty"` // that holds it
	// OOMGroup is the file of the innermost level at which the kernel kills all
	// processes of the group at once; empty for none.
	OOMGroup string `json:"oom_group,omitempty"`
}

// noLimit is what version 1 shows where there is no limit, and more.
const noLimit = int64(1) << 62

// lookAtGroups reads in which control groups a process is, pgtlb itself for 0; false
// where that cannot be read.
func lookAtGroups(f files, pid int) ([]group, bool) {
	text, ok := f.text("/proc/" + processName(pid) + "/cgroup")
	return parseGroups(text), ok
}

// group is a line of /proc/PID/cgroup.
type group struct {
	controllers []string // of version 1; none of version 2
	path        string
}

func parseGroups(text string) []group {
	var out []group
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && strings.HasPrefix(f[2], "/") {
			controllers := strings.FieldsFunc(f[1], func(r rune) bool { return r == ',' })
			out = append(out, group{controllers, path.Clean(f[2])})
		}
	}
	return out
}

// lookAtCgroup reads the limits of the control groups of the postmaster, or of
// pgtlb itself where there is none.
func lookAtCgroup(f files, postmaster int) (c Cgroup, t Tasks) {
	groups, ok := lookAtGroups(f, postmaster)
	if !ok {
		return c, t
	}
	c.Server = postmaster != 0
	mounts, _ := f.text("/proc/" + processName(postmaster) + "/mounts")
	for line := range strings.Lines(mounts) {
		if strings.Contains(line, " cgroup2 ") && strings.Contains(line, "memory_hugetlb_accounting") {
			c.CountsHugetlb = true
		}
	}
	const base = "/sys/fs/cgroup"
	for _, g := range groups {
		if len(g.controllers) == 0 { // version 2
			c.Path = g.path
			root := base
			if f.exists(base + "/unified") {
				root = base + "/unified"
			}
			c.read(f, root, g.path, false)
			t.read(f, root, g.path)
			continue
		}
		for _, name := range g.controllers {
			root := base + "/" + name
			switch name {
			case "hugetlb", "memory":
				if c.Path == "" || c.Path == "/" {
					c.Path = g.path
				}
				c.read(f, root, g.path, true)
			case "pids":
				t.read(f, root, g.path)
			}
		}
	}
	return c, t
}

// levels gives a group and all above it with their folders, the innermost first. In a
// container the path may name levels that are not mounted there: they have no files.
func levels(root, group string) iter.Seq2[string, string] {
	return func(yield func(level, dir string) bool) {
		for level := group; yield(level, path.Join(root, level)) && level != "/"; {
			level = path.Dir(level)
		}
	}
}

// read adds the limits of a group and of all above it.
func (c *Cgroup) read(f files, root, group string, v1 bool) {
	for level, dir := range levels(root, group) {
		for _, name := range f.names(dir) {
			if l, ok := parseLimitName(name, v1); ok {
				if l, ok = readLimit(f, dir, name, l, v1); ok {
					l.Level = level
					c.Limits = append(c.Limits, l)
				}
			}
		}
	}
}

// read takes the tightest of the limits of a group and of all above it.
func (t *Tasks) read(f files, root, group string) {
	for _, dir := range levels(root, group) {
		if n, ok := f.number(dir + "/pids.max"); ok && (t.File == "" || n < t.Max) {
			t.Max, t.File = n, dir+"/pids.max"
			t.Now, _ = f.number(dir + "/pids.current")
		}
		if n, ok := f.number(dir + "/memory.oom.group"); ok && n == 1 && t.OOMGroup == "" {
			t.OOMGroup = dir + "/memory.oom.group"
		}
	}
}

// parseLimitName knows the files of limits: memory.max, hugetlb.2MB.max,
// hugetlb.2MB.rsvd.max, and in version 1 those with limit_in_bytes.
func parseLimitName(name string, v1 bool) (CgroupLimit, bool) {
	end := ".max"
	if v1 {
		end = ".limit_in_bytes"
	}
	name, ok := strings.CutSuffix(name, end)
	switch {
	case !ok:
		return CgroupLimit{}, false
	case name == "memory":
		return CgroupLimit{}, true
	}
	size, ok := strings.CutPrefix(name, "hugetlb.")
	if !ok {
		return CgroupLimit{}, false
	}
	size, reserving := strings.CutSuffix(size, ".rsvd")
	kb := parsePageSize(strings.TrimSuffix(size, "B"))
	return CgroupLimit{PageKB: kb, Reserving: reserving}, kb > 0
}

// readLimit reads a limit with its use and how often it was hit; false where
// nothing is limited.
func readLimit(f files, dir, name string, l CgroupLimit, v1 bool) (CgroupLimit, bool) {
	limit, ok := f.number(path.Join(dir, name)) // "max" is not a number
	if !ok || limit >= noLimit {
		return l, false
	}
	l.File, l.Max = path.Join(dir, name), limit
	if v1 {
		stem := strings.TrimSuffix(name, "limit_in_bytes")
		l.Current, _ = f.number(path.Join(dir, stem+"usage_in_bytes"))
		l.Hits, _ = f.number(path.Join(dir, stem+"failcnt"))
		return l, true
	}
	stem := strings.TrimSuffix(name, "max")
	l.Current, _ = f.number(path.Join(dir, stem+"current"))
	events, _ := f.text(path.Join(dir, strings.TrimSuffix(stem, "rsvd.")+"events"))
	for line := range strings.Lines(events) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "max "); ok {
			l.Hits, _ = strconv.ParseInt(n, 10, 64)
		}
	}
	return l, true
}

// left is how many bytes a limit leaves for a server, whose own use counts as
// given back.
func (l CgroupLimit) left(own int64) int64 {
	return max(l.Max-max(l.Current-own, 0), 0)
}

// tightest is the limit of one sort that leaves least; nil where nothing limits.
func (c Cgroup) tightest(pageKB int, own int64) *CgroupLimit {
	var best *CgroupLimit
	least := int64(math.MaxInt64)
	for i := range c.Limits {
		if l := &c.Limits[i]; l.PageKB == pageKB && l.left(own) < least {
			best, least = l, l.left(own)
		}
	}
	return best
}

// tooTight are the limits of one sort that leave less than is needed, the tightest
// first: each level has to allow it.
func (c Cgroup) tooTight(pageKB int, own, need int64) []CgroupLimit {
	var out []CgroupLimit
	for _, l := range c.Limits {
		if l.PageKB == pageKB && l.left(own) < need {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b CgroupLimit) int { return cmp.Compare(a.left(own), b.left(own)) })
	return out
}

// unit is the systemd unit of a level; empty where it is none.
func (l CgroupLimit) unit() string {
	name := path.Base(l.Level)
	for _, end := range []string{".service", ".slice", ".scope"} {
		if strings.HasSuffix(name, end) && !strings.HasPrefix(name, "docker-") && !strings.HasPrefix(name, "cri-") && !strings.HasPrefix(name, "libpod-") {
			return name
		}
	}
	return ""
}

// cgroupPages is how many pages of the wanted size the control group lets the
// server have, −1 for any number.
func (s *Snapshot) cgroupPages(d demand) int {
	own := int64(kBOf(d.own, d.pageKB)) << 10
	l := s.Pages.Cgroup.tightest(d.pageKB, own)
	if l == nil || d.pageKB == 0 || s.Server == nil && !s.inContainer() {
		return -1
	}
	return int(l.left(own) >> 10 / int64(d.pageKB))
}

func (c Cgroup) whose() string {
	if c.Server {
		return "the server's control group"
	}
	return "pgtlb's own control group"
}

func checkCgroupHugetlb(s *Snapshot) Check {
	c := Check{
		ID: "cgroup_hugetlb", Title: "Control group limits of huge pages", Status: OK,
		Expected: "no level limits huge pages below what the server needs",
		Why: "A container or service may use only a part of the machine's pool. Where the limit counts at the first touch, " +
			"the server starts and a backend dies of a bus error (SIGBUS) later; initdb before 16 tries huge pages " +
			"whatever is configured and dies of one at once (exit status 135).",
		Sources: []string{"/proc/PID/cgroup", "/sys/fs/cgroup/**/hugetlb.*"},
	}
	d, g := s.demand(), s.Pages.Cgroup
	if g.Path == "" {
		c.Status, c.Found = Unknown, "the control group could not be read"
		return c
	}
	switch {
	case d.pageKB == 0:
		c.Status, c.Found = NotHere, "the machine has no huge pages"
		return c
	case s.noGroup():
		c.Status, c.Found = NotHere, "no server is examined, and one that starts has a control group of its own"
		return c
	}
	own := int64(kBOf(d.own, d.pageKB)) << 10
	l := g.tightest(d.pageKB, own)
	if l == nil {
		c.Found = fmt.Sprintf("no level of %s (%s) limits pages of %s", g.whose(), g.Path, memory(uint64(d.pageKB)))
		return c
	}
	may := s.cgroupPages(d)
	when := "when a page is first touched"
	if l.Reserving {
		when = "when the memory is mapped"
	}
	c.Found = fmt.Sprintf("the tightest level of %s is %s: %s allowed, %s used, so that this server can have %s (it counts %s)",
		g.whose(), l.File, bytesText(l.Max), bytesText(l.Current), probes.Plural(may, "page"), when)
	if l.Hits > 0 {
		c.Found += fmt.Sprintf("; it was hit %s times", number(int(l.Hits)))
	}
	switch {
	case d.asked == "off" || d.need == 0 && l.Max > 0:
		return c
	case may >= d.need && d.need > 0:
		if l.Hits > 0 && s.onHugePages() {
			c.Status = Warn
		}
		return c
	}
	c.Status = Fail
	if !s.onHugePages() && d.pool.Total == 0 && d.asked == "try" {
		c.Status = Warn // nothing can go wrong while there is no pool
	}
	c.Found += fmt.Sprintf("; %s are needed", pages(d.need, d.pageKB))
	if l.Max == 0 && d.pool.Total > 0 {
		c.Found += fmt.Sprintf("; the machine's pool has %s, which looks as if they could be used: initdb before 16 dies here",
			probes.Plural(d.pool.Total, "page"))
	}
	c.Fix, c.Undo, c.Takes = s.raiseHugetlb(*l, d)
	return c
}

// raiseHugetlb are the commands that let a control group have what is needed.
func (s *Snapshot) raiseHugetlb(l CgroupLimit, d demand) (fix, undo []string, takes Takes) {
	if s.inPod() {
		text := kubernetesSnippet(snippetFacts{needed: d.need, pages: d.need, pageKB: d.pageKB, privateKB: privateKB(bill(s).MaxConnections)})
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), []string{"# take the lines with hugepages- out again"}, TakesRestart
	}
	own, need := int64(kBOf(d.own, d.pageKB))<<10, int64(kBOf(d.need, d.pageKB))<<10
	levels := s.Pages.Cgroup.tooTight(l.PageKB, own, need)
	for _, l := range levels {
		fix = append(fix, fmt.Sprintf("echo %d > %s", l.Max+need-l.left(own), quote(l.File)))
		undo = append(undo, fmt.Sprintf("echo %d > %s", l.Max, quote(l.File)))
	}
	if len(fix) == 0 {
		return nil, nil, ""
	}
	return fix, undo, TakesRestart
}

// noGroup tells that the control group that was read says nothing about the server.
func (s *Snapshot) noGroup() bool { return !s.Pages.Cgroup.Server && !s.inContainer() }

func bytesText(n int64) string { return memory(uint64(max(n, 0)) >> 10) }

func checkCgroupMemory(s *Snapshot) Check {
	c := Check{
		ID: "cgroup_memory", Title: "Control group limit of memory", Status: OK,
		Expected: "the limit holds the shared memory, the page tables at max_connections and what the backends allocate",
		Why: "Shared memory in ordinary pages and all page tables count for the limit, and a server that goes over it is " +
			"killed. Huge pages of the pool do not count for it.",
		Sources: []string{"/proc/PID/cgroup", "/sys/fs/cgroup/**/memory.max"},
	}
	g := s.Pages.Cgroup
	if g.CountsHugetlb {
		c.Why += " Here they do: cgroup2 is mounted with memory_hugetlb_accounting."
	}
	l := g.tightest(0, math.MaxInt64) // what the server has of it is given back first
	switch {
	case g.Path == "":
		c.Status, c.Found = Unknown, "the control group could not be read"
		return c
	case s.noGroup():
		c.Status, c.Found = NotHere, "no server is examined, and one that starts has a control group of its own"
		return c
	case l == nil:
		c.Found = fmt.Sprintf("no level of %s (%s) limits memory", g.whose(), g.Path)
		return c
	}
	c.Found = fmt.Sprintf("the tightest level of %s is %s: %s allowed, %s used", g.whose(), l.File, bytesText(l.Max), bytesText(l.Current))
	inside := uint64(0)
	text := "the page tables"
	if !s.onHugePages() || g.CountsHugetlb {
		inside = s.sharedKB()
		text = fmt.Sprintf("shared memory of %s and page tables", memory(inside))
	}
	b := bill(s)
	if row := b.row(s.inUseKB()); row != nil {
		inside += uint64(row.MaxKB)
	}
	if inside == 0 {
		return c
	}
	c.Found += fmt.Sprintf("; %s come to %s of it at max_connections", text, memory(inside))
	if int64(inside)<<10 <= l.Max {
		return c
	}
	c.Status = Fail
	c.Found += ", more than the limit"
	want := inside + inside/4
	head := "# a quarter more than what is computed, for what the backends allocate:"
	if all := s.Pages.Memory.TotalKB; all > 0 {
		if inside > all-min(all, s.Pages.Memory.keepKB()) {
			c.Found += fmt.Sprintf("; the machine has %s in all: make shared_buffers or max_connections smaller, or use huge pages (see page_bill)", memory(all))
			return c
		}
		if want > all {
			want, head = all, "# all of the machine's memory; what is computed and what the backends allocate come close to it:"
		}
	}
	c.Fix = []string{head}
	if s.inPod() {
		c.Fix = append(c.Fix, fmt.Sprintf("#   resources.limits.memory: %dMi", want>>10))
		c.Undo = []string{fmt.Sprintf("#   resources.limits.memory: %dMi", l.Max>>20)}
	} else {
		for _, l := range g.tooTight(0, math.MaxInt64, int64(inside)<<10) {
			fix, undo := setMemory(l, int64(want)<<10), setMemory(l, l.Max)
			c.Fix, c.Undo = append(c.Fix, fix), append(c.Undo, undo)
		}
	}
	c.Takes = TakesNothing
	return c
}

// setMemory is the command that sets a limit of memory: through systemd where the
// level is one of its units, because it would set its own value again.
func setMemory(l CgroupLimit, bytes int64) string {
	if unit := l.unit(); unit != "" && strings.HasSuffix(l.File, "memory.max") {
		return fmt.Sprintf("systemctl set-property %s MemoryMax=%d", quote(unit), bytes)
	}
	return fmt.Sprintf("echo %d > %s", bytes, quote(l.File))
}
