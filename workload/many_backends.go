package workload

// ManyBackends is point-select with many sessions.
func ManyBackends() Scenario {
	s := PointSelect()
	s.Name = "many-backends"
	s.Version = 1
	s.Summary = "reads random rows from many sessions at once, all over the table"
	s.Shows = "Each backend has a page table of its own, and shared memory is mapped anew in each. Every block a backend touches for the " +
		"first time is a page fault and an entry of 8 bytes per 4 kB, so page tables grow with sessions times touched memory until each " +
		"backend has touched everything: the ceiling is sessions times shared memory / 512. With 2 MB pages it is 512 times lower. " +
		"Watch PageTables and the backends' column grow and flatten; raise the number of clients (up to 1,000 has been tried) within max_connections."
	s.Clients = 80
	return s
}
