package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pgtlb/probes"
)

// schema is the version of Snapshot's form on disk. A field that is added does
// not raise it: it is empty in older files, and checks say "unknown" then.
const schema = 1

// Snapshot is all that the checks know. It holds no passwords and no query texts.
type Snapshot struct {
	Schema int       `json:"schema"`
	Taken  time.Time `json:"taken"`
	By     string    `json:"by,omitempty"` // version of pgtlb
	// Host, Pages and System are facts of the machine; HostUnknown says why there
	// are none (a server elsewhere), and is empty where there are.
	Host        probes.Host `json:"host"`
	HostUnknown string      `json:"host_unknown,omitempty"`
	Pages       Pages       `json:"pages"`
	System      System      `json:"system"`
	// Server is nil where no server was asked; ServerUnknown then says why.
	Server        *Server `json:"server,omitempty"`
	ServerUnknown string  `json:"server_unknown,omitempty"`
	// PlannedKB is the shared memory of a server that does not run yet, in kB; 0
	// where a running one is examined.
	PlannedKB uint64 `json:"planned_kb,omitempty"`
	// Unread are sources that could not be read. A check that needs one of them
	// says "unknown" with this reason.
	Unread []Unread `json:"unread,omitempty"`
}

// Unread is a source that could not be read.
type Unread struct {
	Source string `json:"source"` // path or view
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}

// Server is what a running server says about itself, and what its processes show.
type Server struct {
	Info probes.ServerInfo `json:"info"`
	// Exam holds its settings with their sources; see probes.ServerExam.
	Exam probes.ServerExam `json:"exam"`
}

// Tree is the root directory of the machine to look at: "/" for the running one,
// another for a copy of its files.
type Tree string

// Roots are the mount points of proc and sys below the tree.
func (t Tree) Roots() probes.Roots {
	return probes.Roots{Proc: t.Path("proc"), Sys: t.Path("sys")}
}

// Path is the path of a file below the tree.
func (t Tree) Path(elem ...string) string {
	return filepath.Join(append([]string{string(t)}, elem...)...)
}

// Wanted says what to look at.
type Wanted struct {
	Tree Tree
	// Server is nil to look at the machine alone.
	Server *probes.Server
	// PlannedKB is Snapshot.PlannedKB.
	PlannedKB uint64
	// Log is a server log to look for a failed start in; empty for none.
	Log string
	By  string
}

// Look gathers a snapshot. What cannot be read is in it with the reason; the
// error says that the server did not answer or that ctx ended, which stops it
// between two parts and within the walk over all processes.
func Look(ctx context.Context, w Wanted) (Snapshot, error) {
	s := Snapshot{Schema: schema, Taken: time.Now(), By: w.By, PlannedKB: w.PlannedKB}
	pid, own := 0, 0
	here := true
	if w.Server != nil {
		info, err := w.Server.Info(ctx)
		if err != nil {
			return s, fmt.Errorf("looking at the server: %w", err)
		}
		exam, err := w.Server.Exam(ctx)
		if err != nil {
			return s, fmt.Errorf("looking at the server's settings: %w", err)
		}
		s.Server = &Server{Info: info, Exam: exam}
		if own, err = w.Server.SessionPid(ctx); err != nil {
			return s, fmt.Errorf("looking at the server: %w", err)
		}
		pid = info.PostmasterPid
		if info.PostmasterPid == 0 {
			here, s.HostUnknown = false, info.NoPostmasterWhy
		}
	} else {
		s.ServerUnknown = "no server was asked"
	}
	if here && ctx.Err() == nil {
		var err error
		if s.Host, err = probes.ReadHost(w.Tree.Roots()); err != nil {
			s.unread("the machine", err)
		}
		lookAtPages(ctx, &s, w, pid, own)
		lookAtSystem(ctx, &s, w, pid)
	}
	return s, ctx.Err()
}

// unread notes a source that could not be read.
func (s *Snapshot) unread(source string, err error) {
	u := Unread{Source: source, Reason: err.Error()}
	var un *probes.Unavailable
	if errors.As(err, &un) {
		u.Reason, u.Remedy = un.Reason, un.Remedy
	}
	s.Unread = append(s.Unread, u)
}

// Write saves a snapshot as indented JSON.
func (s Snapshot) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// Read takes a snapshot that Write saved.
func Read(r io.Reader) (Snapshot, error) {
	var s Snapshot
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return s, fmt.Errorf("reading a snapshot: %w", err)
	}
	switch {
	case s.Schema == 0:
		return s, errors.New("reading a snapshot: this is no snapshot of pgtlb doctor")
	case s.Schema > schema:
		return s, fmt.Errorf("reading a snapshot: it has form %d, this pgtlb knows up to %d: use a newer pgtlb", s.Schema, schema)
	}
	return s, nil
}
