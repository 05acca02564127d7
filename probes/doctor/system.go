package doctor

// System are facts about the operating system around the server.
type System struct{}

func lookAtSystem(s *Snapshot, w Wanted, postmaster int) {}

func systemChecks() []func(*Snapshot) Check { return nil }
