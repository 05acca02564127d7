package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pgtlb/probes"
)

// PoolSetting is a line that sets the size of a pool when the machine starts.
type PoolSetting struct {
	Kind   SettingKind `json:"kind"`
	File   string      `json:"file"`
	Line   int         `json:"line,omitempty"`
	PageKB int         `json:"page_kb"`
	Pages  int         `json:"pages"`
	Text   string      `json:"text"`
	// Ignored says why the line does nothing; empty where it does.
	Ignored string `json:"ignored,omitempty"`
}

// SettingKind is what reads a PoolSetting.
type SettingKind string

// What sets pools at a boot, in the order in which it happens.
const (
	bootLine SettingKind = "boot line"
	sysctl   SettingKind = "sysctl"
	tmpfiles SettingKind = "tmpfiles"
	script   SettingKind = "rc.local"
	service  SettingKind = "service"
	tuned    SettingKind = "tuned"
)

func (p PoolSetting) where() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// BootTools are what the machine changes its boot line with.
type BootTools struct {
	Grubby     bool `json:"grubby,omitempty"`
	UpdateGrub bool `json:"update_grub,omitempty"`
}

// update is the command that makes a changed /etc/default/grub take effect.
func (b BootTools) update() string {
	if b.UpdateGrub {
		return "update-grub"
	}
	return "grub2-mkconfig -o /boot/grub2/grub.cfg"
}

func lookAtBoot(f files) ([]PoolSetting, BootTools) {
	tools := BootTools{
		Grubby:     f.exists("/usr/sbin/grubby") || f.exists("/sbin/grubby"),
		UpdateGrub: f.exists("/usr/sbin/update-grub"),
	}
	defaultKB := f.s.Pages.Memory.DefaultPageKB
	out := parseBootLine(f.s.Pages.Kernel.BootLine, defaultKB)
	for _, setting := range readSysctl(f) {
		n, err := strconv.Atoi(setting.value)
		if err != nil || n < 0 || !slices.Contains([]string{"vm.nr_hugepages", "vm.nr_hugepages_mempolicy"}, setting.key) {
			continue
		}
		out = append(out, PoolSetting{Kind: sysctl, File: setting.file, Line: setting.line, PageKB: defaultKB, Pages: n,
			Text: setting.text, Ignored: setting.ignored})
	}
	out = append(out, lookInFiles(f, tmpfiles, tmpfilesDirs(), ".conf", defaultKB)...)
	for _, file := range []string{"/etc/rc.local", "/etc/rc.d/rc.local"} {
		out = append(out, poolLines(f, script, file, defaultKB)...)
	}
	out = append(out, lookInFiles(f, service, unitDirs(), ".service", defaultKB)...)
	// tuned starts last and sets what its profile says.
	if profile, ok := f.text("/etc/tuned/active_profile"); ok {
		for _, dir := range []string{"/etc/tuned", "/etc/tuned/profiles", "/usr/lib/tuned", "/usr/lib/tuned/profiles"} {
			out = append(out, poolLines(f, tuned, path.Join(dir, strings.TrimSpace(profile), "tuned.conf"), defaultKB)...)
		}
	}
	return out, tools
}

// bootWord is the value of a word of a kernel command line.
func bootWord(line, key string) (string, bool) {
	for _, word := range strings.Fields(line) {
		if v, ok := strings.CutPrefix(word, key+"="); ok {
			return v, true
		}
	}
	return "", false
}

// poolLines are the lines of a file that write a number of pages.
func poolLines(f files, kind SettingKind, file string, defaultKB int) []PoolSetting {
	text, ok := f.text(file)
	if !ok || !strings.Contains(text, "nr_hugepages") {
		return nil
	}
	var out []PoolSetting
	for i, line := range strings.Split(text, "\n") {
		if p, ok := parsePoolLine(line, defaultKB); ok {
			p.Kind, p.File, p.Line = kind, file, i+1
			out = append(out, p)
		}
	}
	return out
}

// parseBootLine reads hugepagesz= and hugepages= of a kernel command line. A
// number belongs to the size before it, else to the default size; the kernel
// takes the first of two for one size.
func parseBootLine(line string, defaultKB int) []PoolSetting {
	var out []PoolSetting
	sizeKB, sizeText := defaultKB, ""
	for _, word := range strings.Fields(line) {
		word = strings.Trim(word, `"`)
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
		case key == "hugepagesz":
			sizeKB, sizeText = parsePageSize(value), word+" "
		case key == "hugepages":
			n, ok := parseBootPages(value)
			if !ok || sizeKB == 0 {
				continue
			}
			p := PoolSetting{Kind: bootLine, File: "/proc/cmdline", PageKB: sizeKB, Pages: n, Text: sizeText + word}
			if slices.ContainsFunc(out, func(o PoolSetting) bool { return o.PageKB == sizeKB }) {
				p.Ignored = "the boot line has a number for this size before"
			}
			out = append(out, p)
		}
	}
	return out
}

// parsePageSize reads a size such as 2M or 1G in kB; 0 where it is none.
func parsePageSize(s string) int {
	kB, ok := parseSizeKB(s)
	if !ok || kB > 1<<40 {
		return 0
	}
	return int(kB)
}

// parseBootPages reads "16", or "0:8,1:8" where the number is per memory node.
func parseBootPages(s string) (int, bool) {
	sum := 0
	for part := range strings.SplitSeq(s, ",") {
		if _, n, ok := strings.Cut(part, ":"); ok {
			part = n
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<30 {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// tmpfilesDirs are where systemd-tmpfiles looks, the strongest first.
func tmpfilesDirs() []string {
	return []string{"/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"}
}

// lookInFiles looks for lines that write a number of pages, in the files with a
// suffix in the directories; of two files with one name the first counts.
func lookInFiles(f files, kind SettingKind, dirs []string, suffix string, defaultKB int) []PoolSetting {
	var out []PoolSetting
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, name := range f.names(dir) {
			if !strings.HasSuffix(name, suffix) || seen[name] {
				continue
			}
			seen[name] = true
			for _, p := range poolLines(f, kind, path.Join(dir, name), defaultKB) {
				if kind == service && !enabled(f, name) {
					p.Ignored = name + " is not enabled"
				}
				out = append(out, p)
			}
		}
	}
	return out
}

// enabled tells whether some target wants a unit at boot.
func enabled(f files, unit string) bool {
	for _, dir := range unitDirs() {
		for _, d := range f.names(dir) {
			if (strings.HasSuffix(d, ".wants") || strings.HasSuffix(d, ".requires")) && slices.Contains(f.names(path.Join(dir, d)), unit) {
				return true
			}
		}
	}
	return false
}

// parsePoolLine reads a line that writes a pool's size: "echo 512 >
// …/hugepages-2048kB/nr_hugepages", "sysctl -w vm.nr_hugepages=512", or a line of
// systemd-tmpfiles, "w …/nr_hugepages - - - - 512".
func parsePoolLine(line string, defaultKB int) (PoolSetting, bool) {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line[:1], "#;") {
		return PoolSetting{}, false
	}
	before, after, ok := strings.Cut(line, "nr_hugepages")
	if !ok || strings.HasSuffix(before, "_overcommit_") {
		return PoolSetting{}, false
	}
	p := PoolSetting{PageKB: defaultKB, Text: line}
	if i := strings.LastIndex(before, "hugepages-"); i >= 0 {
		kb, _, ok := strings.Cut(before[i+len("hugepages-"):], "kB")
		n, err := strconv.Atoi(kb)
		if !ok || err != nil {
			return PoolSetting{}, false
		}
		p.PageKB = n
	}
	word := ""
	switch {
	case strings.HasPrefix(after, "="), strings.HasPrefix(after, " ="): // sysctl
		word = strings.TrimLeft(after, "= ")
	case strings.HasPrefix(line, "w"): // tmpfiles
		f := strings.Fields(line)
		word = f[len(f)-1]
	default: // echo
		i := strings.LastIndex(before, "echo")
		if i < 0 {
			return PoolSetting{}, false
		}
		word = before[i+len("echo"):]
	}
	end := strings.IndexFunc(strings.TrimLeft(word, ` "'`), func(r rune) bool { return r < '0' || r > '9' })
	word = strings.TrimLeft(word, ` "'`)
	if end >= 0 {
		word = word[:end]
	}
	n, err := strconv.Atoi(word)
	if err != nil || n > 1<<30 {
		return PoolSetting{}, false
	}
	p.Pages = n
	return p, true
}

// setAtBoot is the line that decides the size of a pool at a boot: the last that
// is not ignored. Nil where there is none.
func (s *Snapshot) setAtBoot(pageKB int) *PoolSetting {
	for i := len(s.Pages.Boot) - 1; i >= 0; i-- {
		if p := &s.Pages.Boot[i]; p.PageKB == pageKB && p.Ignored == "" {
			return p
		}
	}
	return nil
}

func checkPersistence(s *Snapshot) Check {
	c := Check{
		ID: "pool_persistence", Title: "Huge page pool after a reboot", Status: OK,
		Expected: "what sets the pool at a boot gives what is needed",
		Why: "A pool that was set by hand is gone after a reboot: the server then falls back to small pages with " +
			"huge_pages = try, and does not start with on.",
		Sources: []string{"/proc/cmdline", "/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d", "/etc/sysctl.conf", "/etc/tmpfiles.d", "/etc/rc.local", "/etc/systemd/system", "/etc/tuned"},
	}
	d := s.demand()
	switch {
	case s.inContainer():
		c.Status = Unknown
		c.Found = "pgtlb runs in a container: the files that set the pools are those of the machine below it"
		return c
	case !d.hasPool:
		c.Status, c.Found = NotHere, "there is no pool to keep"
		return c
	}
	set := s.setAtBoot(d.pageKB)
	c.Found = s.bootWords(d, set)
	atBoot := 0
	if set != nil {
		atBoot = set.Pages
	}
	// What must be there at a boot: what the server holds, or needs.
	want := d.need
	if d.asked == "off" {
		want = 0
	}
	if s.coming(d).any() {
		want = max(want, d.pool.Persistent()) // the next start may need all of it
	}
	switch {
	case d.pool.Persistent() == 0 && atBoot == 0:
		c.Status, c.Found = NotHere, "there is no pool and nothing sets one at a boot"
	case atBoot == d.pool.Persistent():
	case atBoot < d.pool.Persistent() && atBoot >= want:
		c.Found += "; the rest of the pool goes at the next boot and is not needed by this server"
	case atBoot < d.pool.Persistent() && d.short() > 0:
		c.Status = Warn
		c.Found += "; the commands that make the pool large enough keep it too (see pool_size)"
	case atBoot < d.pool.Persistent():
		c.Status, c.Takes = Warn, TakesNothing
		target := d.pool.Persistent()
		if want > 0 {
			target = min(max(want, atBoot), target)
		}
		c.Fix, c.Undo = keepPool(s, d.pageKB, target)
	case atBoot > s.mostPages(d.pageKB, false) && s.Pages.Memory.TotalKB > 0:
		c.Status, c.Takes = Fail, TakesNothing
		c.Found += fmt.Sprintf("; the next boot asks for more than this machine can spare (%s)", s.rule())
		c.Fix, c.Undo = keepPool(s, d.pageKB, d.pool.Persistent())
	default:
		c.Found += "; why the pool is smaller is another check (pool_got)"
	}
	return c
}

// bootWords says what sets the pool at a boot, and what looks as if it did.
func (s *Snapshot) bootWords(d demand, set *PoolSetting) string {
	text := "nothing sets the pool at a boot"
	if set != nil {
		text = fmt.Sprintf("%s sets %s (%s)", set.where(), pages(set.Pages, set.PageKB), set.Text)
	}
	text += fmt.Sprintf("; the pool has %s now", probes.Plural(d.pool.Persistent(), "page"))
	for _, p := range s.Pages.Boot {
		switch {
		case p.PageKB != d.pageKB || set != nil && p == *set:
		case p.Ignored != "":
			text += fmt.Sprintf("; %s (%s) does nothing: %s", p.where(), p.Text, p.Ignored)
		default:
			text += fmt.Sprintf("; %s (%s) is overridden by it", p.where(), p.Text)
		}
	}
	return text
}
