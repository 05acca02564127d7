package doctor

// Bill is the page bill: what the page tables of this server cost in each page size.
type Bill struct {
	SharedMemoryKB uint64 `json:"shared_memory_kb"`
	Backends       int    `json:"backends"` // client backends now
	MaxConnections int    `json:"max_connections"`
	// PageTablesKB is what the server's page tables take now, measured; nil where
	// it cannot be seen.
	PageTablesKB *uint64   `json:"page_tables_kb,omitempty"`
	Sizes        []BillRow `json:"sizes"`
}

// BillRow is the bill in one page size. Sums are computed, not measured: all
// backends with the whole shared memory touched.
type BillRow struct {
	PageKB       int     `json:"page_kb"`
	PerBackendKB float64 `json:"per_backend_kb"`
	NowKB        float64 `json:"now_kb"` // with as many backends as now
	MaxKB        float64 `json:"max_kb"` // at max_connections
	Pages        int     `json:"pages"`  // of the pool; 0 for ordinary pages
	PoolKB       uint64  `json:"pool_kb"`
	SlackKB      uint64  `json:"slack_kb"` // of the last page
}

func bill(s *Snapshot) Bill { return Bill{} }
