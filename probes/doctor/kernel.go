package doctor

import (
	"fmt"
	"strings"
)

// Kernel is what the kernel offers of huge pages.
type Kernel struct {
	// Hugetlbfs tells whether /proc/filesystems lists it: the kernel was built
	// with CONFIG_HUGETLBFS. Nil where the file cannot be read.
	Hugetlbfs *bool `json:"hugetlbfs,omitempty"`
	// Overcommit is nr_overcommit_hugepages by page size in kB, where not 0.
	Overcommit map[int]int `json:"overcommit,omitempty"`
	// BootLine is /proc/cmdline.
	BootLine   string `json:"boot_line,omitempty"`
	Kubernetes bool   `json:"kubernetes,omitempty"` // pgtlb runs in a pod
}

func lookAtKernel(f files) Kernel {
	k := Kernel{Kubernetes: f.exists("/run/secrets/kubernetes.io") || f.exists("/var/run/secrets/kubernetes.io")}
	if text, ok := f.text("/proc/filesystems"); ok {
		has := strings.Contains(text+"\n", "\thugetlbfs\n")
		k.Hugetlbfs = &has
	}
	if text, ok := f.text("/proc/cmdline"); ok {
		k.BootLine = strings.TrimSpace(text)
	}
	for _, p := range f.s.Host.Pools {
		n, ok := f.number(fmt.Sprintf("/sys/kernel/mm/hugepages/hugepages-%dkB/nr_overcommit_hugepages", p.PageKB))
		if ok && n > 0 {
			if k.Overcommit == nil {
				k.Overcommit = map[int]int{}
			}
			k.Overcommit[p.PageKB] = int(n)
		}
	}
	return k
}

func checkKernel(s *Snapshot) Check {
	c := Check{
		ID: "hugetlb_kernel", Title: "Kernel with explicit huge pages", Status: OK,
		Expected: "the kernel offers pools of huge pages (CONFIG_HUGETLBFS)",
		Why: "PostgreSQL's huge_pages uses the kernel's explicit huge page pools. A kernel that was built without them, " +
			"as those of some small virtual machines and containers, cannot give any.",
		Sources: []string{"/sys/kernel/mm/hugepages", "/proc/filesystems"},
	}
	if len(s.Host.Pools) > 0 {
		var sizes []string
		for _, p := range s.Host.Pools {
			sizes = append(sizes, memory(uint64(p.PageKB)))
		}
		c.Found = "pools of " + strings.Join(sizes, ", ")
		if d := s.Pages.Memory.DefaultPageKB; d > 0 {
			c.Found += "; the default is " + memory(uint64(d))
		}
		if s.pool(1<<20) == nil && s.granuleKB() == 4 {
			c.Found += "; no pool of 1 GB (it needs a CPU with pdpe1gb, and hypervisors and containers may hide it)"
		}
		return c
	}
	has := s.Pages.Kernel.Hugetlbfs
	switch {
	case has == nil:
		c.Status, c.Found = Unknown, "there is no /sys/kernel/mm/hugepages, and /proc/filesystems cannot be read"
	case *has:
		c.Status = Warn
		c.Found = "the kernel has huge pages, but /sys/kernel/mm/hugepages is not to be seen here"
		c.Fix = []string{"mount -t sysfs sysfs /sys"}
		c.Undo = []string{"umount /sys"}
		c.Takes = TakesNothing
	default:
		c.Status = Warn
		c.Found = "this kernel was built without CONFIG_HUGETLBFS: no pools, huge_pages = on does not start here"
		c.Fix = []string{"# boot a kernel with CONFIG_HUGETLBFS=y: those of the distributions have it"}
		c.Takes = TakesReboot
	}
	return c
}
