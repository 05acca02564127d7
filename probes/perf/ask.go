package perf

import "syscall"

// Asked is what the kernel answers to this process now.
type Asked struct {
	// Facts are those for the machine; those for a tree differ in Scope and TargetUID.
	Facts   Facts
	Answers []Answer
}

// Answer is the kernel's answer to opening one event in one scope.
type Answer struct {
	Event Event
	Scope Scope
	Errno syscall.Errno // 0 = opened
}
