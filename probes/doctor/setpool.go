package doctor

import (
	"fmt"
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
	case set != nil && set.Line > 0 && !strings.HasPrefix(set.File, "/usr/"):
		edit := func(from, to int) string {
			return fmt.Sprintf(`sed -i '%ds/\b%d\b/%d/' %s`, set.Line, from, to, set.File)
		}
		return []string{edit(set.Pages, n)}, []string{edit(n, set.Pages)}
	case pageKB == s.Pages.Memory.DefaultPageKB:
		const file = "/etc/sysctl.d/99-z-huge-pages.conf" // the last name wins
		return []string{fmt.Sprintf("echo 'vm.nr_hugepages = %d' > %s", n, file)}, []string{"rm " + file}
	case pageKB >= 1<<20:
		return addToBootLine(s, fmt.Sprintf("hugepagesz=%dG hugepages=%d", pageKB>>20, n))
	default:
		const file = "/etc/tmpfiles.d/huge-pages.conf"
		return []string{fmt.Sprintf("echo 'w %s - - - - %d' > %s", poolFile(pageKB), n, file)}, []string{"rm " + file}
	}
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

// compact are the commands that join free memory to larger pieces.
func compact() []string {
	return []string{"sync", "echo 3 > /proc/sys/vm/drop_caches", "echo 1 > /proc/sys/vm/compact_memory"}
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
	if set != nil && set.Pages > before { // the kernel has not found them all
		do = append(do, compact()...)
	}
	do = append(do, setPool(s, pageKB, n)...)
	do = append(do, readBack(pageKB, n))
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
