package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/term"
)

// confirm shows what is going to be done and asks. yes answers beforehand;
// without it and without a terminal the answer is no. nothing says, for the
// error, what has not been done.
func (a *app) confirm(ctx context.Context, lines []string, question string, yes bool, nothing string) error {
	for _, l := range lines {
		_, _ = fmt.Fprintln(a.err, l)
	}
	if yes {
		return nil
	}
	if !a.mayAsk() {
		return fmt.Errorf("%s: there is no terminal to ask on; -y answers yes", nothing)
	}
	switch answer, err := a.ask(ctx, question+" [y/N] "); {
	case err != nil:
		return &exitError{exitInterrupted, errors.New(nothing)}
	case answer == "y" || answer == "yes":
		return nil
	}
	return errors.New(nothing)
}

// ask shows a prompt on the terminal and returns what was typed, in small letters
// and without blanks around it, or ctx's error.
func (a *app) ask(ctx context.Context, prompt string) (string, error) {
	_, _ = fmt.Fprint(a.err, prompt)
	answer := make(chan string, 1)
	// Nothing can end the read of a terminal: at a signal the program ends under it.
	go func() {
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case s := <-answer:
		return s, nil
	case <-ctx.Done():
		_, _ = fmt.Fprintln(a.err)
		return "", ctx.Err()
	}
}

// mayAsk tells whether a person reads the standard error and can type.
func (a *app) mayAsk() bool { return a.in != nil && isTerminal(a.in) && isTerminal(a.err) }

// isTerminal tells whether a file is a terminal.
func isTerminal(f any) bool {
	fd, ok := f.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(fd.Fd()))
}
