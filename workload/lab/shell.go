package lab

import (
	"context"
	"errors"
	"os/exec"
)

// Shell runs a command of a script by /bin/sh, which is ended with what it
// started when ctx ends, and returns what it wrote to its standard output. The
// error of a command that ended with another code than 0 has that code as ExitCode.
// What it leaves behind in the background, a server for example, is not waited for.
func Shell(ctx context.Context, text string) (output string, err error) {
	output, err = run(ctx, command{path: "/bin/sh", args: []string{"-c", text}})
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended with 0; what it left holds its output
	}
	return output, err
}

// ExitCode is the code that the program ended with, -1 where it could not be run.
func (e *runError) ExitCode() int { return e.code }
