package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pgtlb/probes"
)

// Pages are facts about huge pages and page tables. The sizes of the pools are
// in Snapshot.Host.
type Pages struct {
	Memory    PageMemory    `json:"memory"`
	Kernel    Kernel        `json:"kernel"`
	Nodes     []Node        `json:"nodes,omitempty"`
	Free      Free          `json:"free"`
	Boot      []PoolSetting `json:"boot,omitempty"` // what sets the pools at a boot, in the order in which it takes effect
	BootTools BootTools     `json:"boot_tools"`
	Unit      *Service      `json:"unit,omitempty"`    // of the server; nil where it runs in none
	Program   *Program      `json:"program,omitempty"` // of the server; nil where its processes are not seen
	Lock      Lock          `json:"lock"`
	Cgroup    Cgroup        `json:"cgroup"`
	// Holders are nil where the processes cannot be listed.
	Holders   *probes.HugetlbUse `json:"holders,omitempty"`
	Clusters  []probes.Cluster   `json:"clusters,omitempty"`
	Processes *ServerMemory      `json:"processes,omitempty"` // of the server; nil where they cannot be read
	Start     *Start             `json:"start,omitempty"`     // nil where no log was given
}

// ServerMemory sums up the memory of the server's processes, in kB.
type ServerMemory struct {
	Count        int    `json:"count"`
	Clients      int    `json:"clients"`        // without our own session
	PageTablesKB uint64 `json:"page_tables_kb"` // VmPTE of all
	ClientsKB    uint64 `json:"client_page_tables_kb"`
	// TouchedKB is the most shared memory that one of them has touched: at least
	// so much of it is in memory. Huge pages are not in it.
	TouchedKB uint64 `json:"touched_kb"`
	// ClientPrivateKB is the private memory of the median client; 0 without any.
	ClientPrivateKB float64 `json:"client_private_kb"`
}

// lookAtPages reads the machine and the processes of the server; own is the process
// of our own session, 0 where there is none.
func lookAtPages(ctx context.Context, s *Snapshot, w Wanted, postmaster, own int) {
	f := files{s, w.Tree}
	p := &s.Pages
	p.Memory, s.System.Commit = lookAtMemory(f)
	p.Kernel = lookAtKernel(f)
	p.Nodes = lookAtNodes(f)
	p.Free = lookAtFree(f)
	p.Free.Events, s.System.Events = lookAtEvents(f)
	p.Boot, p.BootTools = lookAtBoot(f)
	p.Cgroup, s.System.Tasks = lookAtCgroup(f, postmaster)
	p.Unit = lookAtUnit(f, p.Cgroup)
	p.Program = lookAtProgram(f, postmaster)
	p.Lock, s.System.Limits = lookAtLock(f, postmaster)
	p.Start = lookAtStart(f, w.Log)
	if ctx.Err() != nil { // what follows walks over all processes
		return
	}
	roots := w.Tree.Roots()
	if use, err := probes.HugetlbHolders(roots); err != nil {
		s.unread("processes with huge pages", err)
	} else {
		p.Holders = &use
	}
	if ctx.Err() != nil {
		return
	}
	var err error
	if p.Clusters, err = probes.FindClusters(roots); err != nil && !errors.Is(err, probes.ErrUnavailable) {
		s.unread("PostgreSQL servers of this machine", err)
	}
	if postmaster != 0 && ctx.Err() == nil {
		p.Processes = lookAtProcesses(s, roots, postmaster, own)
	}
}

func lookAtProcesses(s *Snapshot, roots probes.Roots, postmaster, own int) *ServerMemory {
	list, err := probes.ServerProcesses(roots, postmaster)
	if err != nil {
		s.unread("the server's processes", err)
		return nil
	}
	p := &ServerMemory{}
	var clients []probes.BackendMem
	for _, b := range list {
		if b.Mem == nil {
			continue
		}
		p.Count++
		p.PageTablesKB += b.Mem.PageTables
		p.TouchedKB = max(p.TouchedKB, b.Mem.Shmem)
		if b.Role == probes.RoleClient && b.Pid != own {
			p.Clients++
			p.ClientsKB += b.Mem.PageTables
			clients = append(clients, *b.Mem)
		}
	}
	p.ClientPrivateKB = probes.MedianPrivateKB(clients)
	return p
}

func pagesChecks() []func(*Snapshot) Check {
	return []func(*Snapshot) Check{
		checkFailedStart,
		checkHugePages,
		checkMode,
		onHost(checkKernel),
		onHost(checkNeeded),
		onHost(checkGot),
		onHost(checkIdle),
		onHost(checkOtherSizes),
		onHost(checkHolders),
		onHost(checkClusters),
		onHost(checkRAM),
		onHost(checkNodes),
		onHost(checkPersistence),
		onHost(checkLock),
		onHost(checkCgroupHugetlb),
		onHost(checkCgroupMemory),
		onHost(checkTHP),
		onHost(checkTHPShmem),
		checkLastPage,
		checkBill,
		checkPays,
	}
}

// onHost is a check of facts of the machine: without them it says so.
func onHost(check func(*Snapshot) Check) func(*Snapshot) Check {
	return func(s *Snapshot) Check {
		c := check(s)
		away := Check{ID: c.ID, Title: c.Title, Expected: c.Expected, Why: c.Why, Sources: c.Sources}
		if elsewhere(s, &away) {
			return away
		}
		return c
	}
}

// pool returns the machine's pool of one page size; nil where it has none.
func (s *Snapshot) pool(pageKB int) *probes.Pool {
	i := slices.IndexFunc(s.Host.Pools, func(p probes.Pool) bool { return p.PageKB == pageKB })
	if i < 0 {
		return nil
	}
	return &s.Host.Pools[i]
}

// poolsKB is what all pools take of the machine's memory.
func (s *Snapshot) poolsKB() uint64 {
	var kb uint64
	for _, p := range s.Host.Pools {
		kb += kBOf(p.Total, p.PageKB)
	}
	return kb
}

// inContainer tells whether pgtlb itself runs in a container, where the files of
// the machine's configuration are not to be seen.
func (s *Snapshot) inContainer() bool {
	return s.System.Place.Container != "" || strings.Contains(s.Host.Virtual, "container") || s.Pages.Kernel.Kubernetes
}

// inPod tells whether the server runs in a pod of Kubernetes.
func (s *Snapshot) inPod() bool {
	return s.Pages.Kernel.Kubernetes || s.System.Place.Container == "kubernetes" || strings.Contains(s.Host.Virtual, "kubepods") || strings.Contains(s.Pages.Cgroup.Path, "kubepods")
}

// unreadReason is why a source could not be read; empty where it was.
func (s *Snapshot) unreadReason(source string) string {
	for _, u := range s.Unread {
		if u.Source != source {
			continue
		}
		if u.Remedy == "" {
			return u.Reason
		}
		return u.Reason + " (" + u.Remedy + ")"
	}
	return ""
}
