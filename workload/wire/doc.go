// Package wire drives many PostgreSQL connections from a few OS threads.
//
// A connection is made, authenticated and prepared by pgx and then handed over
// (Adopt): from then on this package owns its descriptor. Run gives each thread
// its share of the clients. A thread waits for all of them with epoll, writes
// requests from one reused buffer and looks at no more of an answer than the
// type and length of its messages, so that a transaction costs the client three
// system calls and no allocation.
//
// What a client does is a Task: it appends messages to a buffer (the Append
// functions encode them) and is told the result. The package knows nothing of
// scenarios or of a script's language.
//
// It needs Linux, and connections that carry the protocol in the clear: TCP or
// Unix sockets without TLS. Everything else is an *UnsupportedError, before
// anything has been done to the connection.
package wire
