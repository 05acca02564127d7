package probes

import (
	"os"
	"strings"
)

// thpDirs are where kernels keep the settings of transparent huge pages; the
// second is that of Red Hat Enterprise Linux 6.
func thpDirs() []string {
	return []string{"kernel/mm/transparent_hugepage", "kernel/mm/redhat_transparent_hugepage"}
}

// ReadTHP returns the chosen setting of transparent huge pages by file name:
// "enabled", "defrag", "shmem_enabled". They have nothing to do with the
// explicit huge page pools. The error wraps ErrUnavailable where the kernel has
// no transparent huge pages.
func ReadTHP(roots Roots) (map[string]string, error) {
	out := map[string]string{}
	var first error
	for _, dir := range thpDirs() {
		for _, name := range []string{"enabled", "defrag", "shmem_enabled"} {
			path := roots.SysPath(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				if first == nil {
					first = unreadable(path, err, "the kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE), or /sys is not mounted")
				}
				continue
			}
			if choice, ok := parseTHPChoice(string(b)); ok {
				out[name] = choice
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	if first == nil {
		first = &Unavailable{What: "transparent huge pages", State: NotThere, Reason: "the kernel's files have no setting in brackets"}
	}
	return nil, first
}

// parseTHPChoice returns the word in brackets of "always [madvise] never", or
// the only word where the kernel offers no choice.
func parseTHPChoice(s string) (string, bool) {
	words := strings.Fields(s)
	for _, w := range words {
		if c, ok := strings.CutPrefix(w, "["); ok && strings.HasSuffix(c, "]") && len(c) > 1 {
			return strings.TrimSuffix(c, "]"), true
		}
	}
	if len(words) == 1 {
		return words[0], true
	}
	return "", false
}
