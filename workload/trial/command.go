package trial

import "time"

// Command is what a key asks the session for. Its outcome shows in a later
// State.
type Command interface{ command() }

type (
	// ToggleLoad starts or stops the scenario of a key.
	ToggleLoad struct{ Key int }
	// SetParam gives a parameter of a key's load another value; "" is the value
	// that the session began with. A running load keeps its own.
	SetParam struct {
		Key         int
		Name, Value string
	}
	// SaveBaseline takes the current or last run as the baseline.
	SaveBaseline struct{}
	// ChooseBaseline takes a stored run as the baseline.
	ChooseBaseline struct{ Name string }
	// ToggleCompare lays the baseline under the lines, or takes it away.
	ToggleCompare struct{}
	// SetPages restarts the lab with "4kB", "2MB" or "1GB" pages.
	SetPages struct{ Pages string }
	// Answer answers the Question with that id.
	Answer struct {
		ID  int
		Yes bool
	}
	// Export writes the report of the current or last run.
	Export struct{}
	// SetInterval changes the time between samples.
	SetInterval struct{ Every time.Duration }
	// Inspect reads one backend's exact memory.
	Inspect struct{ Pid int }
	// InspectAll reads every backend's exact memory, one after the other.
	InspectAll struct{}
	// StopInspecting ends that before all have been read.
	StopInspecting struct{}
	// FindHolders looks at all processes for who holds huge pages.
	FindHolders struct{}
	// Examine has the doctor look at machine and server.
	Examine struct{}
	// Seek moves a replay: relative samples, or pause and play.
	Seek struct {
		By    int
		Pause bool // toggles
	}
)

func (ToggleLoad) command()     {}
func (SetParam) command()       {}
func (SaveBaseline) command()   {}
func (ChooseBaseline) command() {}
func (ToggleCompare) command()  {}
func (SetPages) command()       {}
func (Answer) command()         {}
func (Export) command()         {}
func (SetInterval) command()    {}
func (Inspect) command()        {}
func (InspectAll) command()     {}
func (StopInspecting) command() {}
func (FindHolders) command()    {}
func (Examine) command()        {}
func (Seek) command()           {}
