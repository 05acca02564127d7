package trial

import (
	"context"
	"path/filepath"

	"pgtlb/probes"
	"pgtlb/probes/doctor"
)

// Examined is what the doctor found in machine and server.
type Examined struct {
	// Looking is set while it looks; Exam is then that of the last time, if any.
	Looking bool
	Exam    *doctor.Exam
	Err     string // why it could not look
}

// examine has the doctor look, which takes too long for every tick.
func (s *Session) examine(ctx context.Context) {
	var old Examined
	if s.st.Examined != nil {
		old = *s.st.Examined
	}
	if old.Looking {
		return
	}
	s.st.Examined = &Examined{Looking: true, Exam: old.Exam}
	w := doctor.Wanted{Tree: doctor.Tree(filepath.Dir(s.o.Roots.ProcPath())), By: s.o.Program}
	if s.link != nil {
		w.Server = s.link.server
	}
	s.job(func() {
		now := Examined{Exam: old.Exam}
		snapshot, err := doctor.Look(ctx, w)
		if err != nil {
			now.Err = probes.Clean(err.Error())
		} else {
			exam := doctor.Examine(snapshot)
			now.Exam = &exam
		}
		s.post(func() { s.st.Examined = &now })
	})
}
