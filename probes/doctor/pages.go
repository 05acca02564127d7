package doctor

// Pages are facts about huge pages and page tables.
type Pages struct{}

func lookAtPages(s *Snapshot, w Wanted, postmaster int) {}

func pagesChecks() []func(*Snapshot) Check { return nil }

func hugePages(s *Snapshot) HugePages { return HugePages{} }

func verdict(s *Snapshot, e *Exam) string { return "" }
