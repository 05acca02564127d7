package doctor

import (
	"fmt"
	"path"
	"strings"

	"pgtlb/probes"
)

// poolFile is where sysfs takes the size of a pool.
func poolFile(pageKB int) string {
	return fmt.Sprintf("/sys/kernel/mm/hugepages/hugepages-%dkB/nr_hugepages", pageKB)
}

// setPool are the commands that change a pool while the machine runs.
func setPool(s *Snapshot, pageKB, n int) []string {
	if pageKB == s.Pages.Memory.DefaultPageKB {
		return []string{fmt.Sprintf("sysctl -w vm.nr_hugepages=%d", n)}
	}
	return []string{fmt.Sprintf("echo %d > %s", n, poolFile(pageKB))}
}

// readBack shows what a pool became: asking succeeds even where memory is short.
func readBack(pageKB, n int) string {
	return fmt.Sprintf("cat %s   # must print %d", poolFile(pageKB), n)
}

// keepPool are the commands that make a pool have n pages after the next boot,
// and those that take them back.
func keepPool(s *Snapshot, pageKB, n int) (do, undo []string) {
	set := s.setAtBoot(pageKB)
	switch {
	case set != nil && set.Pages == n:
		return nil, nil // it is there
	case set != nil && set.Kind == bootLine:
		return changeBootLine(s, set, n)
	case set != nil && set.Line > 0:
		return changeLine(set, n)
	case pageKB == s.Pages.Memory.DefaultPageKB:
		return []string{fmt.Sprintf("echo 'vm.nr_hugepages = %d' > %s", n, poolSysctl)}, []string{"rm " + poolSysctl}
	case pageKB >= 1<<20:
		return addToBootLine(s, fmt.Sprintf("hugepagesz=%dG hugepages=%d", pageKB>>20, n))
	default:
		const file = "/etc/tmpfiles.d/huge-pages.conf"
		return []string{fmt.Sprintf("echo 'w %s - - - - %d' > %s", poolFile(pageKB), n, file)}, []string{"rm " + file}
	}
}

// poolSysctl is the file that keeps the pool of the default page size: of the files
// in its directory the last by name wins.
const poolSysctl = "/etc/sysctl.d/99-z-huge-pages.conf"

// changeLine changes a number in a file. Files of packages and of the running
// system stay as they are: a copy of the same name in /etc counts instead.
func changeLine(set *PoolSetting, n int) (do, undo []string) {
	edit := func(file string, from, to int) string {
		return fmt.Sprintf(`sed -i '%ds/\b%d\b/%d/' %s`, set.Line, from, to, quote(file))
	}
	if strings.HasPrefix(set.File, "/etc/") {
		return []string{edit(set.File, set.Pages, n)}, []string{edit(set.File, n, set.Pages)}
	}
	dir := map[SettingKind]string{sysctl: "/etc/sysctl.d", tmpfiles: "/etc/tmpfiles.d", service: "/etc/systemd/system",
		tuned: path.Join("/etc", strings.TrimPrefix(path.Dir(set.File), "/usr/lib"))}[set.Kind]
	own := path.Join(dir, path.Base(set.File))
	if set.Kind == tuned {
		do = []string{"mkdir -p " + quote(dir)}
	}
	return append(do, fmt.Sprintf("cp %s %s", quote(set.File), quote(own)), edit(own, set.Pages, n)), []string{"rm " + quote(own)}
}

func changeBootLine(s *Snapshot, set *PoolSetting, n int) (do, undo []string) {
	old := set.Text
	size, _, _ := strings.Cut(old, "hugepages=")
	now := fmt.Sprintf("%shugepages=%d", size, n)
	if s.Pages.BootTools.Grubby {
		args := func(remove, add string) string {
			return fmt.Sprintf(`grubby --update-kernel=ALL --remove-args="%s" --args="%s"`, remove, add)
		}
		return []string{args(old, now)}, []string{args(now, old)}
	}
	edit := func(from, to string) []string {
		return []string{fmt.Sprintf("sed -i 's/%s/%s/' /etc/default/grub", from, to), s.Pages.BootTools.update()}
	}
	return edit(old, now), edit(now, old)
}

func addToBootLine(s *Snapshot, args string) (do, undo []string) {
	if s.Pages.BootTools.Grubby {
		return []string{fmt.Sprintf(`grubby --update-kernel=ALL --args="%s"`, args)},
			[]string{fmt.Sprintf(`grubby --update-kernel=ALL --remove-args="%s"`, args)}
	}
	return []string{fmt.Sprintf(`sed -i 's/^GRUB_CMDLINE_LINUX="/&%s /' /etc/default/grub`, args), s.Pages.BootTools.update()},
		[]string{fmt.Sprintf("sed -i 's/%s //' /etc/default/grub", args), s.Pages.BootTools.update()}
}

// shrinkPool are the commands that take a pool down to n pages, now and at a boot,
// and those that bring it back.
func shrinkPool(s *Snapshot, pageKB, n int) (do, undo []string) {
	before := s.pool(pageKB).Persistent()
	do, undo = setPool(s, pageKB, n), setPool(s, pageKB, before)
	if set := s.setAtBoot(pageKB); set != nil && set.Pages > n && !s.inContainer() {
		keep, unkeep := keepPool(s, pageKB, n)
		do, undo = append(do, keep...), append(undo, unkeep...)
	}
	return do, undo
}

// compact is the command that joins free memory to larger pieces.
const compact = "echo 1 > /proc/sys/vm/compact_memory"

// dropCaches are the lines for the case that compact was not enough. They are
// comments: nobody is to drop the caches of a live database by pasting a fix.
func dropCaches() []string {
	return []string{
		"# still too few: drop the file cache, then compact and set the pool again; queries read from the disks for a while after it:",
		"#   sync; echo 1 > /proc/sys/vm/drop_caches",
	}
}

// growPool are the commands that bring a pool to n pages now and after a boot,
// and those that bring it back.
func growPool(s *Snapshot, pageKB, n int) (do, undo []string) {
	before := 0
	if p := s.pool(pageKB); p != nil {
		before = p.Persistent()
	}
	set := s.setAtBoot(pageKB)
	var keep, unkeep []string
	if set == nil || set.Pages < n {
		keep, unkeep = keepPool(s, pageKB, n)
	}
	if s.inContainer() {
		do = append(do, "# on the machine that the container runs on, as root:")
		undo = append(undo, "# on the machine that the container runs on, as root:")
	}
	missed := set != nil && set.Pages > before // the kernel has not found them all
	if missed {
		do = append(do, compact)
	}
	do = append(do, setPool(s, pageKB, n)...)
	do = append(do, readBack(pageKB, n))
	if missed {
		do = append(do, dropCaches()...)
	}
	do = append(do, keep...)
	undo = append(undo, setPool(s, pageKB, before)...)
	return do, append(undo, unkeep...)
}

// quote makes one word for the shell of a path or name that came from elsewhere,
// without what a terminal would act on.
func quote(word string) string {
	word = probes.Clean(word)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-@:+,%=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
