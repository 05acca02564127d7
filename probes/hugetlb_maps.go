package probes

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// hugeMapping is one mapping of a process as maps or smaps tell it.
type hugeMapping struct {
	memoryID
	name   string
	kb     uint64
	shared bool
	pageKB int
	huge   bool // VmFlags has "ht"; smaps only
}

// mappedBy returns the memory in huge pages that a process has mapped, each piece
// once. maps is cheap but does not tell the pages; smaps, which does, is read
// only where maps names memory that is not known yet: for one process of a
// server, not for each of its backends. Without touched, that is with HugetlbPages
// of 0, only what can be reserved and not touched is looked at: not the data of
// programs, which every process has mapped.
func (h *holders) mappedBy(pid int, touched bool) ([]*HugetlbMemory, error) {
	found, err := readMappings(h.roots, pid, "maps")
	if err != nil {
		return nil, err
	}
	if !touched {
		found = slices.DeleteFunc(found, func(m hugeMapping) bool { return !m.shared && m.kind() != HugetlbAnonymous })
	}
	for _, m := range found {
		if _, known := h.memory[m.memoryID]; !known {
			if err := h.learn(pid); err != nil {
				return nil, err
			}
			break
		}
	}
	sizes := map[memoryID]uint64{} // one piece may be mapped in parts
	var out []*HugetlbMemory
	for _, m := range found {
		memory := h.memory[m.memoryID]
		if memory == nil {
			continue
		}
		if sizes[m.memoryID] == 0 {
			out = append(out, memory)
		}
		sizes[m.memoryID] += m.kb
		memory.SizeKB = max(memory.SizeKB, sizes[m.memoryID])
	}
	return out, nil
}

// learn finds out what pages the memory has that a process has mapped.
func (h *holders) learn(pid int) error {
	all, err := readMappings(h.roots, pid, "smaps")
	if err != nil {
		return err
	}
	for _, m := range all {
		switch {
		case h.memory[m.memoryID] != nil:
		case m.huge:
			h.memory[m.memoryID] = &HugetlbMemory{Kind: m.kind(), Name: Clean(m.name), Dev: m.dev, Inode: m.inode, PageKB: m.pageKB}
		default:
			h.memory[m.memoryID] = nil
		}
	}
	return nil
}

func (m hugeMapping) kind() HugetlbKind {
	switch {
	case strings.HasPrefix(m.name, "/anon_hugepage"):
		return HugetlbAnonymous
	case strings.HasPrefix(m.name, "/SYSV"):
		return HugetlbSysV
	}
	return HugetlbFile
}

// readMappings reads maps or smaps of a process and keeps what may be in huge
// pages.
func readMappings(roots Roots, pid int, file string) ([]hugeMapping, error) {
	f, err := os.Open(pidPath(roots, pid, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMappings(f)
}

func parseMappings(r io.Reader) ([]hugeMapping, error) {
	var out []hugeMapping
	keep := false
	err := scanSmaps(r, func(line string) {
		var m hugeMapping
		if m, keep = mappingOf(line); keep {
			out = append(out, m)
		}
	}, func(key string, value []byte) {
		if !keep {
			return
		}
		m := &out[len(out)-1]
		switch key {
		case "KernelPageSize":
			if n, ok := parseDecimal(bytes.TrimSuffix(value, []byte(" kB"))); ok && n < 1<<31 {
				m.pageKB = int(n)
			}
		case "VmFlags":
			m.huge = bytes.Contains(append([]byte(" "), value...), []byte(" ht"))
		}
	})
	return out, err
}

// mappingOf reads the first line of a mapping, "start-end perms offset dev inode
// name", and tells whether huge pages may be behind it: those have an inode, which
// is 0 for the first System V segment (it is the shmid), and what is not writable is
// programs and their libraries.
func mappingOf(line string) (hugeMapping, bool) {
	f := strings.Fields(line)
	if len(f) < 6 || len(f[1]) < 4 || f[1][1] != 'w' {
		return hugeMapping{}, false
	}
	from, to, ok := strings.Cut(f[0], "-")
	start, err := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	inode, ok3 := parseDecimal([]byte(f[4]))
	if !ok || err != nil || err2 != nil || !ok3 || end < start {
		return hugeMapping{}, false
	}
	m := hugeMapping{memoryID: memoryID{f[3], inode}, name: strings.Join(f[5:], " "), kb: (end - start) / 1024, shared: f[1][3] == 's'}
	return m, inode != 0 || m.kind() == HugetlbSysV
}
