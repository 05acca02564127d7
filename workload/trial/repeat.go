package trial

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// repeat says how to do the same again, in lines for a shell. A session's
// command line does not tell what its keys did later, so for a lab the command
// is made from what the run had: scenario, rows, pages, clients, seed, length.
// seconds is the measured length, for loads that were stopped by hand.
func repeat(m Meta, seconds float64) []string {
	if !m.Lab || len(m.Loads) == 0 || ofScripts(m.Loads[0]) {
		if m.Command == "" {
			return []string{}
		}
		return []string{m.Command}
	}
	l := m.Loads[0]
	if len(m.Loads) > 1 {
		lines := []string{command("lab", "--scenario", l.Scenario, labFlags(m), "-c", strconv.Itoa(l.Clients))}
		for _, other := range m.Loads[1:] {
			lines = append(lines, fmt.Sprintf("# then start %s (%d clients) with its key", other.Scenario, other.Clients))
		}
		return lines
	}
	if l.DurationS > 0 {
		seconds = l.DurationS
	}
	length := max(1, int(math.Round(seconds)))
	return []string{command("bench", l.Scenario, "--lab", labFlags(m), "-c", strconv.Itoa(l.Clients), "-T", strconv.Itoa(length))}
}

// ofScripts tells of a load of pgbench's scripts, which alone has a scale: its
// flags are in the command line only.
func ofScripts(l LoadMeta) bool {
	_, scaled := l.Params["scale"]
	return scaled
}

// command writes a command line from words and lists of words.
func command(parts ...any) string {
	words := []string{"pgtlb"}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			words = append(words, shellQuote(p))
		case []string:
			for _, w := range p {
				words = append(words, shellQuote(w))
			}
		}
	}
	return strings.Join(words, " ")
}

// labFlags are the flags that make the lab of a run again.
func labFlags(m Meta) []string {
	l := m.Loads[0]
	rows := l.Params["rows"]
	if m.Dataset != nil {
		rows = m.Dataset.Rows
	}
	var flags []string
	if rows > 0 {
		flags = append(flags, "--rows", strconv.FormatInt(rows, 10))
	}
	if kB := m.Server.SharedBuffersKB; kB > 0 {
		flags = append(flags, "--shared-buffers", sizeFlag(kB))
	}
	if m.Pages != "" {
		flags = append(flags, "--pages", m.Pages)
		if m.Pages != "4kB" {
			flags = append(flags, "--reserve")
		}
	}
	flags = append(flags, "--random-seed", strconv.FormatInt(l.Seed, 10))
	return append(flags, keptFlags(m.Command)...)
}

// sizeFlag writes kilobytes with the largest unit that holds them exactly.
func sizeFlag(kB uint64) string {
	switch {
	case kB%(1<<20) == 0:
		return fmt.Sprintf("%dGB", kB>>20)
	case kB%(1<<10) == 0:
		return fmt.Sprintf("%dMB", kB>>10)
	}
	return fmt.Sprintf("%dkB", kB)
}

// keptFlags takes from the session's command line what holds for all its runs
// and is not in a run's header.
func keptFlags(command string) []string {
	var kept []string
	words := shellWords(command)
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		switch name {
		case "--set", "--pg-bindir", "--os-user", "--scope":
		default:
			continue
		}
		if !joined {
			if i++; i == len(words) {
				break
			}
			value = words[i]
		}
		if name == "--set" && fromHeader(value) {
			continue
		}
		kept = append(kept, name, value)
	}
	return kept
}

// fromHeader tells of a setting whose value in the run is given by other flags:
// a key may have changed it.
func fromHeader(set string) bool {
	switch name, _, _ := strings.Cut(set, "="); strings.TrimSpace(name) {
	case "huge_pages", "huge_page_size", "shared_buffers":
		return true
	}
	return false
}
