//go:build !linux

package wire

import "net"

// open leaves a connection to the runtime.
func open(conn net.Conn) (s socket, fd int, indirect string, err error) {
	why := wrapping(conn)
	if why == "" {
		why = "is driven without epoll, which is Linux's"
	}
	return netSocket{conn}, -1, why, nil
}

// newDirect is another name of newStreams: no connection is direct.
func newDirect(r *run) (engine, error) { return newStreams(r) }
