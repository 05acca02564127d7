package probes

// kernelStackKB is the kernel's own memory of a process that is known for each:
// its stack (16 kB on x86-64, arm64 and riscv64) and the top level of its page
// table (4 kB), which VmPTE does not hold.
const kernelStackKB = 16 + 4

// pageSizes are the page sizes in kB that PostgreSQL can have its shared memory
// in on common machines.
var pageSizes = [...]int{4, 2 << 10, 1 << 20}

// ConnectionCost is what one more connection takes of the machine's memory, in
// kB. Shared memory is not in it: it is there once, whoever uses it.
type ConnectionCost struct {
	// Clients is how many client backends the medians are over.
	Clients int
	// Private (RssAnon) and PageTables (VmPTE) are measured: the median client
	// backend now.
	Private, PageTables Value
	// KernelKB is the part of the kernel's memory that is the same for each
	// process. Its files, socket and task are not seen process by process.
	KernelKB float64
	// Now is the sum of these; AtMax that of max_connections of them.
	Now, AtMax Value
	// Sizes are computed: the same with all shared memory touched, by page size.
	Sizes []ConnectionCostIn
}

// ConnectionCostIn is what one connection takes at most in one page size, in kB.
type ConnectionCostIn struct {
	PageKB     int
	PageTables Value
	Total      Value // with private memory and the kernel's
	AtMax      Value // max_connections of them
}

// ClientMemory is the memory of the client backends among the rows.
func ClientMemory(rows []BackendRow) []BackendMem {
	var out []BackendMem
	for i := range rows {
		if rows[i].client() {
			out = append(out, *rows[i].Mem)
		}
	}
	return out
}

// MedianPrivateKB is the private memory of the median client backend in kB, from
// which the ceiling of a backend's page table is computed everywhere; 0 without any.
func MedianPrivateKB(clients []BackendMem) float64 {
	if len(clients) == 0 {
		return 0
	}
	private := make([]float64, len(clients))
	for i, m := range clients {
		private[i] = float64(m.Private)
	}
	return Median(private)
}

// CostOfConnection computes what one more connection costs on a server with these
// client backends. Without any, why says why there are none.
func CostOfConnection(clients []BackendMem, why string, server *ServerInfo) ConnectionCost {
	c := ConnectionCost{Clients: len(clients), KernelKB: kernelStackKB}
	if len(clients) == 0 {
		c.Private, c.PageTables = Value{Missing: why}, Value{Missing: why}
	} else {
		tables := make([]float64, len(clients))
		for i, m := range clients {
			tables[i] = float64(m.PageTables)
		}
		c.Private, c.PageTables = Value{V: MedianPrivateKB(clients)}, Value{V: Median(tables)}
	}
	atMax := func(one Value) Value {
		if one.OK() && server.MaxConnections == 0 {
			return Value{Missing: "max_connections is not known"}
		}
		one.V *= float64(server.MaxConnections)
		return one
	}
	with := func(tables Value) Value { return sum(c.Private, tables, Value{V: c.KernelKB}) }
	c.Now = with(c.PageTables)
	c.AtMax = atMax(c.Now)
	for _, size := range pageSizes {
		in := ConnectionCostIn{PageKB: size, PageTables: Value{Missing: unknownShared(server)}}
		if in.PageTables.OK() {
			in.PageTables.V = PageTableCeilingKB(server.SharedMemoryKB, size, uint64(c.Private.V))
		}
		in.Total = with(in.PageTables)
		in.AtMax = atMax(in.Total)
		c.Sizes = append(c.Sizes, in)
	}
	return c
}
