// Package lab makes a private, throw-away PostgreSQL and takes it away again.
//
// Start runs initdb and postgres in a directory of its own (mode 0700, a marker file in it), reachable by a Unix
// socket in that directory only, under an unprivileged OS account when pgtlb runs as root. Restart changes settings and
// the page size of shared memory. Stop ends the server, removes the directory and gives huge pages back. What a crash
// left behind is found by its marker and removed by Sweep.
//
// The package also finds server programs (Find), installs them with the system's package manager (Install) or fetches a
// portable server by npm (FetchPortable), says whether a huge page pool is large enough (Preflight), proves which
// page size the shared memory really has (Verify), and grows and shrinks the machine's pools (Reserve).
//
// It is the only room that runs other programs. Running a lab needs Linux; elsewhere the package builds and Start says
// that it is not supported.
//
// The settings every lab starts with, and why, are in DefaultSettings. A lab is made to look at memory pages, not at
// disks, so nothing in it survives a crash of the machine.
package lab

// Progress is told what is going on: the phase ("initdb", "start", …), a detail in words, and how much of how much is
// done. A total of 0 means that the amount of work is not known. It is called from the goroutine that called Start,
// Restart or Stop.
type Progress func(phase, detail string, done, total int64)

func (p Progress) say(phase, detail string, done, total int64) {
	if p != nil {
		p(phase, detail, done, total)
	}
}
