package probes

// Ids of the metrics that other rooms name in code. The catalogue lists all.
const (
	TPS                  = "tps"
	Transactions         = "transactions"
	Failed               = "failed"
	Latency              = "latency"
	LatencyMean          = "latency_mean_ms"
	LatencyP50           = "latency_p50_ms"
	LatencyP95           = "latency_p95_ms"
	LatencyP99           = "latency_p99_ms"
	ServerTPS            = "server_tps"
	Commits              = "commits"
	Rollbacks            = "rollbacks"
	ServerLatencyMean    = "server_latency_mean_ms"
	StmtCalls            = "stmt_calls"
	StmtExecMS           = "stmt_exec_ms"
	PageFaults           = "page_faults"
	PageFaultsMinor      = "page_faults_minor"
	PageFaultsMajor      = "page_faults_major"
	ServerPageFaults     = "server_page_faults"
	ClientPageFaults     = "page_faults_per_client"
	DTLBLoads            = "dtlb_loads"
	DTLBLoadMisses       = "dtlb_load_misses"
	DTLBMissPct          = "dtlb_miss_pct"
	DTLBMissesPerKInstr  = "dtlb_misses_per_kinstr"
	DTLBWalks            = "dtlb_walks"
	WalkCyclesLoad       = "walk_cycles_load"
	WalkCyclesStore      = "walk_cycles_store"
	WalkCyclesPct        = "walk_cycles_pct"
	WalkCeilingPct       = "walk_ceiling_pct"
	WalkUserCycles       = "walk_user_cycles"
	WalkUserLoad         = "walk_user_load"
	WalkUserStore        = "walk_user_store"
	WalkUserData         = "walk_user_data"
	WalkUserInstr        = "walk_user_instr"
	DTLBWalks4K          = "dtlb_walks_4k"
	DTLBWalks2M          = "dtlb_walks_2m"
	DTLBWalks1G          = "dtlb_walks_1g"
	Cycles               = "cycles"
	CyclesUser           = "cycles_user"
	CyclesKernel         = "cycles_kernel"
	Instructions         = "instructions"
	CPUUser              = "cpu_user_s"
	CPUKernel            = "cpu_kernel_s"
	CPUIdle              = "cpu_idle_s"
	CPUSteal             = "cpu_steal_s"
	ContextSwitches      = "context_switches"
	TLBShootdowns        = "tlb_shootdowns"
	PageTables           = "page_tables_kb"
	SecPageTables        = "sec_page_tables_kb"
	PageTableBackendsSum = "page_table_backends_kb"
	PageTableMaxBackend  = "page_table_max_backend_kb"
	PageTableOthers      = "page_table_others_kb"
	HugetlbUsed          = "hugetlb_used_kb"
	PoolTotal            = "pool_total_pages"
	PoolFree             = "pool_free_pages"
	PoolReserved         = "pool_reserved_pages"
	PoolSurplus          = "pool_surplus_pages"
	MemTotal             = "mem_total_kb"
	MemAvailable         = "mem_available_kb"
	AnonHuge             = "anon_huge_kb"
	ShmemHuge            = "shmem_huge_kb"
	Backends             = "backends"
	RunQueue             = "run_queue"
	BlksHit              = "blks_hit"
	BlksRead             = "blks_read"
	TempBytes            = "temp_bytes"
	TempFiles            = "temp_files"
	TupReturned          = "tup_returned"
	TupFetched           = "tup_fetched"
	TupInserted          = "tup_inserted"
	TupUpdated           = "tup_updated"
	TupDeleted           = "tup_deleted"
	Catalog              = "catalog_kb"
	THPFaultAlloc        = "thp_fault_alloc"
	CompactStall         = "compact_stall"
	PSICPU               = "psi_cpu_some_us"
	PSIMemory            = "psi_memory_some_us"
	PSIIO                = "psi_io_some_us"

	ServerPageFaultsPerTxn = "server_page_faults_per_txn"
	PageFaultsPerTxn       = "page_faults_per_txn"
	DTLBMissesPerTxn       = "dtlb_load_misses_per_txn"
	CyclesUserPerTxn       = "cycles_user_per_txn"
	CyclesKernelPerTxn     = "cycles_kernel_per_txn"
	CPUUserPerTxn          = "cpu_user_us_per_txn"
	CPUKernelPerTxn        = "cpu_kernel_us_per_txn"
)

// Catalogue returns every metric that pgtlb knows, in the order in which
// screens and reports list them. The slice is the caller's own.
func Catalogue() []Metric {
	return []Metric{
		{TPS, "TPS", "txn/s", Gauge, Up, "load driver", "clients of the load", "Transactions of the load that finished per second, all its clients together; time spent connecting is not in it."},
		{LatencyMean, "latency mean", "ms", Gauge, Down, "load driver", "clients of the load", "Mean time of one transaction from sending it to the last byte of its answer."},
		{LatencyP50, "latency p50", "ms", Gauge, Down, "load driver, HDR histogram", "clients of the load", "Half of the transactions were at most this slow."},
		{LatencyP95, "latency p95", "ms", Gauge, Down, "load driver, HDR histogram", "clients of the load", "95 of 100 transactions were at most this slow."},
		{LatencyP99, "latency p99", "ms", Gauge, Down, "load driver, HDR histogram", "clients of the load", "99 of 100 transactions were at most this slow."},
		{Transactions, "transactions", "transactions", Counter, Up, "load driver", "clients of the load", "Transactions of the load that finished."},
		{Failed, "failed transactions", "transactions", Counter, Down, "load driver", "clients of the load", "Transactions of the load that the server answered with an error."},
		{Latency, "latency", "ms", Distribution, Down, "load driver, HDR histogram", "clients of the load", "Time of each transaction from sending it to the last byte of its answer, kept from 1 µs on."},
		{ServerTPS, "server TPS", "txn/s", Gauge, Up, "pg_stat_database xact_commit + xact_rollback", "all databases", "Transactions of the whole server per second, all databases, pgtlb's own included. Backends report at most once a second, so it trails by up to that much."},
		{ServerLatencyMean, "server latency mean", "ms", Gauge, Down, "pg_stat_statements total_exec_time / calls", "all databases", "Mean execution time of the statements that ended in the interval; needs pg_stat_statements."},
		{PageFaults, "page faults", "faults", Counter, Down, "perf software event page-faults", "", "Times a processor met a page that the process's page table did not map yet."},
		{PageFaultsMinor, "minor faults", "faults", Counter, Down, "perf software event minor-faults", "", "Page faults that needed no I/O: the page was in memory, only the page table entry was missing."},
		{PageFaultsMajor, "major faults", "faults", Counter, Down, "perf software event major-faults", "", "Page faults that waited for I/O."},
		{ServerPageFaults, "page faults of the server", "faults", Counter, Down, "/proc/PID/stat minflt + majflt, summed", "processes of the server", "Page faults of all processes of this server, pgtlb's own sessions left out; what a process did between the last sample and its end is not in it."},
		{ClientPageFaults, "page faults per client", "faults", Gauge, Down, "/proc/PID/stat minflt + majflt", "backends of the load", "Mean of what the backends of pgtlb's load have faulted since each began, the warm-up included: how often a connection had to wait for its page table to be filled."},
		{DTLBLoads, "dTLB loads", "loads", Counter, Neither, "perf hardware cache event dTLB-loads", "", "Loads that looked an address up in the data TLB."},
		{DTLBLoadMisses, "dTLB load misses", "misses", Counter, Down, "perf hardware cache event dTLB-load-misses", "", "Loads whose address was not in the TLB and needed a page walk; what exactly is counted depends on the CPU."},
		{DTLBMissPct, "dTLB miss rate", "%", Ratio, Down, "dTLB-load-misses / dTLB-loads of one counter group", "", "Share of dTLB loads that missed. It means different things on Intel, AMD and ARM."},
		{DTLBMissesPerKInstr, "dTLB misses per 1000 instructions", "misses/1000 instr", Ratio, Down, "dTLB-load-misses / instructions", "", "dTLB load misses per 1000 instructions (MPKI): used where the CPU counts dTLB misses but not dTLB loads."},
		{WalkCyclesPct, "cycles in page walks", "%", Ratio, Down, "page-walk-active / cycles of one counter group", "", "Share of cycles, user space and kernel, in which a page walk was under way for a load."},
		{WalkCeilingPct, "ceiling of page walks", "%", Ratio, Down, "page walks for loads, stores and instructions / cycles:u, of one counter group, kernel excluded", "", "The walks themselves are at most this share of the user-space cycles: those that overlap count twice and those behind other work cost nothing. What page table entries take of the caches, hits in the second-level TLB, and page faults, which are kernel time, come besides."},
		{CyclesUser, "cycles:u", "cycles", Counter, Neither, "perf hardware event cycles:u", "", "CPU cycles spent in user space."},
		{CyclesKernel, "cycles:k", "cycles", Counter, Down, "perf hardware event cycles:k", "", "CPU cycles spent in the kernel."},
		{Cycles, "cycles", "cycles", Counter, Neither, "perf hardware event cycles", "", "CPU cycles, user space and kernel together."},
		{Instructions, "instructions", "instructions", Counter, Neither, "perf hardware event instructions", "", "Instructions retired."},
		{DTLBWalks, "data page walks", "walks", Counter, Down, "perf raw event DTLB_WALK (ARM)", "", "Page walks for data: a count, not cycles."},
		{WalkCyclesLoad, "load walk cycles", "cycles", Counter, Down, "perf raw event, load page walk active", "", "Cycles in which a page walk for a load was under way."},
		{WalkCyclesStore, "store walk cycles", "cycles", Counter, Down, "perf raw event, store page walk active", "", "Cycles in which a page walk for a store was under way."},
		{WalkUserCycles, "cycles:u of the walks", "cycles", Counter, Neither, "perf hardware event cycles:u", "", "CPU cycles spent in user space, counted at the same moments as the page walks of the user space."},
		{WalkUserLoad, "user load walk cycles", "cycles", Counter, Down, "perf raw event, load page walk active", "", "Cycles in user space in which a page walk for a load was under way."},
		{WalkUserStore, "user store walk cycles", "cycles", Counter, Down, "perf raw event, store page walk active", "", "Cycles in user space in which a page walk for a store was under way."},
		{WalkUserData, "user data walk cycles", "cycles", Counter, Down, "perf raw event DTLB_WALK_PERCYC (ARM)", "", "Page walks for data under way in user space, summed over cycles."},
		{WalkUserInstr, "user instruction walk cycles", "cycles", Counter, Down, "perf raw event, instruction page walk active", "", "Cycles in user space in which a page walk for an instruction was under way."},
		{DTLBWalks4K, "data page walks, 4 kB", "walks", Counter, Down, "perf raw event ls_l1_d_tlb_miss (AMD)", "", "Page walks for data in 4 kB pages, those that the CPU joined included: what larger pages could save. A count, not cycles."},
		{DTLBWalks2M, "data page walks, 2 MB", "walks", Counter, Down, "perf raw event ls_l1_d_tlb_miss (AMD)", "", "Page walks for data in 2 MB pages: a count, not cycles."},
		{DTLBWalks1G, "data page walks, 1 GB", "walks", Counter, Down, "perf raw event ls_l1_d_tlb_miss (AMD)", "", "Page walks for data in 1 GB pages: a count, not cycles."},
		{CPUUser, "CPU time user", "s", Counter, Neither, "/proc/stat user + nice", "system wide", "CPU seconds spent in user space: time, not cycles."},
		{CPUKernel, "CPU time kernel", "s", Counter, Down, "/proc/stat system + irq + softirq", "system wide", "CPU seconds spent in the kernel: time, not cycles."},
		{CPUIdle, "CPU time idle", "s", Counter, Neither, "/proc/stat idle + iowait", "system wide", "CPU seconds in which a processor had nothing to run."},
		{CPUSteal, "CPU time stolen", "s", Counter, Down, "/proc/stat steal", "system wide", "CPU seconds that the hypervisor gave to another guest."},
		{ServerPageFaultsPerTxn, "server faults per transaction", "faults/txn", Ratio, Down, "page faults of the server / transactions", "processes of the server", "Page faults of the server's processes per transaction; of the load where one runs, else of the whole server."},
		{PageFaultsPerTxn, "page faults per transaction", "faults/txn", Ratio, Down, "page faults / transactions", "", "Page faults per transaction; of the load where one runs, else of the whole server."},
		{DTLBMissesPerTxn, "dTLB misses per transaction", "misses/txn", Ratio, Down, "dTLB load misses / transactions", "", "dTLB load misses per transaction; of the load where one runs, else of the whole server."},
		{CyclesUserPerTxn, "cycles:u per transaction", "cycles/txn", Ratio, Down, "cycles:u / transactions", "", "CPU cycles in user space per transaction; of the load where one runs, else of the whole server."},
		{CyclesKernelPerTxn, "cycles:k per transaction", "cycles/txn", Ratio, Down, "cycles:k / transactions", "", "CPU cycles in the kernel per transaction; of the load where one runs, else of the whole server."},
		{CPUUserPerTxn, "user time per transaction", "µs/txn", Ratio, Down, "/proc/stat user + nice / transactions", "system wide", "CPU time in user space per transaction, the load driver's included; of the load where one runs, else of the whole server."},
		{CPUKernelPerTxn, "kernel time per transaction", "µs/txn", Ratio, Down, "/proc/stat system + irq + softirq / transactions", "system wide", "CPU time in the kernel per transaction, the load driver's included; of the load where one runs, else of the whole server."},
		{ContextSwitches, "context switches", "switches", Counter, Neither, "perf software event context-switches", "", "Times a processor changed to another task."},
		{TLBShootdowns, "TLB shootdowns", "interrupts", Counter, Down, "/proc/interrupts TLB", "system wide", "Interrupts sent to other processors to drop TLB entries."},
		{PageTables, "PageTables", "kB", Gauge, Down, "/proc/meminfo PageTables", "system wide", "Memory used by the page tables of all processes of the machine."},
		{SecPageTables, "SecPageTables", "kB", Gauge, Down, "/proc/meminfo SecPageTables", "system wide", "Memory used by secondary page tables, those of virtual machines and IOMMUs."},
		{PageTableBackendsSum, "page tables of the server", "kB", Gauge, Down, "/proc/PID/status VmPTE, summed", "processes of the server", "Page tables of all processes of this server together."},
		{PageTableMaxBackend, "largest backend page table", "kB", Gauge, Down, "/proc/PID/status VmPTE, largest", "client backends of the server", "Page table of the client backend that has the largest one."},
		{PageTableOthers, "page tables of others", "kB", Gauge, Down, "PageTables - VmPTE summed over the server", "all but the server", "What is left of PageTables without the server's: other processes, pgtlb's own sessions, and the top-level tables, which VmPTE does not hold."},
		{HugetlbUsed, "huge pages in use", "kB", Gauge, Neither, "/sys/kernel/mm/hugepages, total - free", "system wide", "Memory of explicit huge pages that some process has touched."},
		{PoolTotal, "pool total", "pages", Gauge, Neither, "/sys/kernel/mm/hugepages nr_hugepages", "system wide", "Huge pages in the pool of this size."},
		{PoolFree, "pool free", "pages", Gauge, Neither, "/sys/kernel/mm/hugepages free_hugepages", "system wide", "Huge pages that no process has touched; some of them may be reserved."},
		{PoolReserved, "pool reserved", "pages", Gauge, Neither, "/sys/kernel/mm/hugepages resv_hugepages", "system wide", "Huge pages promised to a process that has not touched them yet."},
		{PoolSurplus, "pool surplus", "pages", Gauge, Neither, "/sys/kernel/mm/hugepages surplus_hugepages", "system wide", "Huge pages beyond nr_hugepages, from the overcommit allowance."},
		{MemTotal, "memory", "kB", Gauge, Neither, "/proc/meminfo MemTotal", "system wide", "Memory of the machine."},
		{MemAvailable, "memory available", "kB", Gauge, Up, "/proc/meminfo MemAvailable", "system wide", "Memory that new programs can have without swapping."},
		{AnonHuge, "anonymous THP", "kB", Gauge, Neither, "/proc/meminfo AnonHugePages", "system wide", "Private memory backed by transparent huge pages: not the explicit huge page pool."},
		{ShmemHuge, "shared memory THP", "kB", Gauge, Neither, "/proc/meminfo ShmemHugePages", "system wide", "Shared memory backed by transparent huge pages: not the explicit huge page pool."},
		{THPFaultAlloc, "THP faults", "faults", Counter, Neither, "/proc/vmstat thp_fault_alloc", "system wide", "Faults that were served with a transparent huge page."},
		{CompactStall, "compaction stalls", "stalls", Counter, Down, "/proc/vmstat compact_stall", "system wide", "Times a process waited while the kernel moved memory to make a large page."},
		{Backends, "backends", "processes", Gauge, Neither, "processes of the server", "processes of the server", "Processes of the server, auxiliary ones included, pgtlb's own sessions left out."},
		{RunQueue, "run queue", "tasks", Gauge, Neither, "/proc/stat procs_running", "system wide", "Tasks that run or wait for a processor."},
		{StmtCalls, "statements", "statements", Counter, Neither, "pg_stat_statements calls", "all databases", "Statements that ended; needs pg_stat_statements."},
		{StmtExecMS, "statement time", "ms", Counter, Down, "pg_stat_statements total_exec_time", "all databases", "Execution time of the statements that ended; needs pg_stat_statements."},
		{Commits, "commits", "transactions", Counter, Neither, "pg_stat_database xact_commit", "all databases", "Transactions committed, pgtlb's own included."},
		{Rollbacks, "rollbacks", "transactions", Counter, Down, "pg_stat_database xact_rollback", "all databases", "Transactions rolled back."},
		{BlksHit, "buffer hits", "blocks", Counter, Neither, "pg_stat_database blks_hit", "all databases", "Blocks found in shared buffers."},
		{BlksRead, "buffer reads", "blocks", Counter, Down, "pg_stat_database blks_read", "all databases", "Blocks not found in shared buffers; the kernel may have had them in its page cache."},
		{TempFiles, "temporary files", "files", Counter, Down, "pg_stat_database temp_files", "all databases", "Temporary files that queries wrote."},
		{TempBytes, "temporary bytes", "bytes", Counter, Down, "pg_stat_database temp_bytes", "all databases", "Bytes that queries wrote to temporary files."},
		{TupReturned, "rows read", "rows", Counter, Neither, "pg_stat_database tup_returned", "all databases", "Live rows that sequential scans read and index entries that index scans returned."},
		{TupFetched, "rows fetched by index", "rows", Counter, Neither, "pg_stat_database tup_fetched", "all databases", "Live rows that index scans fetched from their table."},
		{TupInserted, "rows inserted", "rows", Counter, Neither, "pg_stat_database tup_inserted", "all databases", "Rows inserted."},
		{TupUpdated, "rows updated", "rows", Counter, Neither, "pg_stat_database tup_updated", "all databases", "Rows updated; each leaves a dead version behind."},
		{TupDeleted, "rows deleted", "rows", Counter, Neither, "pg_stat_database tup_deleted", "all databases", "Rows deleted."},
		{Catalog, "system catalog", "kB", Gauge, Down, "pg_total_relation_size of pg_class, pg_attribute, pg_type, pg_depend, pg_statistic", "database that pgtlb is connected to", "Size of the catalogue tables that temporary tables are written into, with their indexes: it grows by dead rows until autovacuum keeps up."},
		{PSICPU, "CPU pressure", "µs", Counter, Down, "/proc/pressure/cpu some total", "system wide", "Time in which some task waited for a processor."},
		{PSIMemory, "memory pressure", "µs", Counter, Down, "/proc/pressure/memory some total", "system wide", "Time in which some task waited for memory."},
		{PSIIO, "I/O pressure", "µs", Counter, Down, "/proc/pressure/io some total", "system wide", "Time in which some task waited for I/O."},
	}
}

// Lookup finds a metric of the catalogue by id.
func Lookup(id string) (Metric, bool) {
	for _, m := range Catalogue() {
		if m.ID == id {
			return m, true
		}
	}
	return Metric{}, false
}

// MustLookup is Lookup for ids that are constants of this package.
func MustLookup(id string) Metric {
	m, ok := Lookup(id)
	if !ok {
		panic("probes: metric " + id + " is not in the catalogue")
	}
	return m
}
