//go:build !linux

package probes

import (
	"net"
	"runtime"
	"time"
)

func notHere(what string) error {
	return &Unavailable{What: what, State: NotThere, Reason: "unavailable on this system (" + runtime.GOOS + ")"}
}

func peerPid(*net.UnixConn) (int, error) { return 0, notHere("the peer's pid") }

func sinceBoot() (time.Duration, error) { return 0, notHere("the boot clock") }

type procFile struct{}

func noProcFile() procFile { return procFile{} }

func openProcFile(path string, _ bool) (procFile, error) { return procFile{}, notHere(path) }

func (procFile) read([]byte) ([]byte, error) { return nil, notHere("/proc") }

func (procFile) close() {}

func mayOpen() int { return 0 }

func madeByKernel(string) bool { return false }

func gone(error) bool { return false }

func fileMemory(path string) (memoryID, uint64, error) { return memoryID{}, 0, notHere(path) }
