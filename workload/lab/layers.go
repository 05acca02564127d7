package lab

import (
	"maps"
	"strings"
)

// layers are the settings of a lab beyond DefaultSettings, in the order in which later ones win: page size and
// shared_buffers, the person's own (--set), and those of the present arm of an experiment (Change.Settings).
type layers struct {
	pages   Pages
	buffers string            // shared_buffers
	user    map[string]string // Options.Settings
	arm     map[string]string // Change.Settings, replaced at every Restart
	page    map[string]string // made of pages by resolve
}

// resolve turns the page size into settings for a server version.
func (l *layers) resolve(r Roots, major int) error {
	m, err := readMemory(r)
	if err != nil {
		return err
	}
	l.page, err = pageSettings(l.pages, major, m.HugepageKB)
	return err
}

func (l layers) all() []map[string]string {
	return []map[string]string{{"shared_buffers": l.buffers}, l.page, l.user, l.arm}
}

// effective gives the last word on a setting.
func (l layers) effective(name string) string {
	merged := map[string]string{}
	for _, layer := range l.all() {
		maps.Copy(merged, layer)
	}
	return merged[name]
}

// preloads tells whether the server loads any library by itself.
func (l layers) preloads() bool {
	for _, setting := range []string{"shared_preload_libraries", "session_preload_libraries", "local_preload_libraries"} {
		if strings.Trim(l.effective(setting), ` "`) != "" {
			return true
		}
	}
	return false
}

// insists gives the huge page size without which the server will not start; Pages4kB when it starts in any case. A
// --set of huge_pages may say otherwise than the page size.
func (l layers) insists(defaultKB int) Pages {
	switch strings.ToLower(l.effective("huge_pages")) {
	case "on", "true", "yes", "1":
	default:
		return Pages4kB
	}
	size, err := ParsePages(l.effective("huge_page_size"))
	if err == nil && size != Pages4kB {
		return size
	}
	return Pages(defaultKB) // huge_page_size 0 means the machine's default
}
