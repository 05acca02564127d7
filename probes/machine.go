package probes

import "time"

// Host describes the machine as far as it matters for a comparison.
type Host struct {
	Hostname   string            `json:"hostname"`
	OS         string            `json:"os"`
	Kernel     string            `json:"kernel"`
	Arch       string            `json:"arch"`
	CPUModel   string            `json:"cpu_model"`
	CPUs       int               `json:"cpus"`
	MemTotalKB uint64            `json:"mem_total_kb"`
	Virtual    string            `json:"virtual,omitempty"` // hypervisor or container, where it shows
	BootTime   time.Time         `json:"boot_time,omitzero"`
	THP        map[string]string `json:"thp,omitempty"` // enabled, defrag, shmem_enabled: the choice in brackets
	Pools      []Pool            `json:"pools,omitempty"`
	// Emulated is set for a run on an emulated machine and says so in words.
	Emulated string `json:"emulated,omitempty"`
}

// Pool is the explicit huge page pool of one size.
type Pool struct {
	PageKB   int `json:"page_kb"`
	Total    int `json:"total"`
	Free     int `json:"free"`
	Reserved int `json:"reserved"`
	Surplus  int `json:"surplus"`
}

// Touched is the number of pages that some process really uses.
func (p Pool) Touched() int { return p.Total - p.Free }

// Available is the number of pages that a new user can still have: free alone
// also counts pages that are promised to running ones.
func (p Pool) Available() int { return max(p.Free-p.Reserved, 0) }

// Persistent is the number an administrator set; the kernel adds surplus pages
// to the total on its own.
func (p Pool) Persistent() int { return p.Total - p.Surplus }

// ServerInfo describes the PostgreSQL server.
type ServerInfo struct {
	Version    string    `json:"version"`     // "15.18"
	VersionNum int       `json:"version_num"` // 150018
	Started    time.Time `json:"started,omitzero"`
	DataDir    string    `json:"data_dir,omitempty"`
	Where      string    `json:"where"` // "socket /run/postgresql:5432"
	Database   string    `json:"database"`
	User       string    `json:"user"`
	// Settings are the non-default ones, sorted by name, secrets left out.
	Settings         []Setting `json:"settings,omitempty"`
	SharedBuffersKB  uint64    `json:"shared_buffers_kb,omitempty"`
	MaxConnections   int       `json:"max_connections,omitempty"`
	SharedMemoryKB   uint64    `json:"shared_memory_kb,omitempty"` // 0 where unknown
	PostmasterPid    int       `json:"postmaster_pid,omitempty"`   // in our namespace; 0 where not visible
	NoPostmasterWhy  string    `json:"no_postmaster_why,omitempty"`
	HugePages        HugePages `json:"huge_pages"`
	StatementsLoaded bool      `json:"pg_stat_statements"`
}

// Setting is one server setting that is not at its default.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // with unit, as SHOW prints it
	Source string `json:"source"`
}

// HugePages is what was asked for and what the server really has.
type HugePages struct {
	Requested string `json:"requested"` // huge_pages: on, off, try
	// InUse is "on" or "off"; empty where nothing proves it, then Proof says why.
	InUse  string `json:"in_use"`
	PageKB int    `json:"page_kb,omitempty"` // size in use: 4, 2048, 1048576
	Proof  string `json:"proof"`             // "smaps KernelPageSize", "huge_pages_status"
	// Needed is how many pages of the wanted size the server needs; 0 unknown.
	Needed int `json:"needed,omitempty"`
	// Short is how many of those the pool lacked, known only after a fall-back.
	Short int `json:"short,omitempty"`
	// WantedKB is the size that the server asks for: huge_page_size, else the
	// kernel's default; 0 where nothing tells.
	WantedKB int `json:"wanted_kb,omitempty"`
	// Unsupported is set where the server says that it cannot have huge pages
	// here: shared_memory_size_in_huge_pages is -1.
	Unsupported bool `json:"unsupported,omitempty"`
}

// FellBack tells whether huge_pages = try silently ended with small pages.
func (h HugePages) FellBack() bool { return h.Requested == "try" && h.InUse == "off" }
