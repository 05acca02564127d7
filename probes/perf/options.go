package perf

// Options say what to open.
type Options struct {
	Scope Scope
	// Root is where proc and sys are found, "/" when empty. Events are always opened on the running kernel.
	Root string
	// CPU replaces the processor found in cpuinfo, for tests of event tables.
	CPU *CPU
	// Binary is the path to print in setcap commands; the running executable when empty.
	Binary string
	// MaxFiles bounds the descriptors used; 0 takes what RLIMIT_NOFILE leaves.
	MaxFiles int
}

// root returns the root of proc and sys.
func (o Options) root() string {
	if o.Root == "" {
		return "/"
	}
	return o.Root
}
