// Package wire drives many PostgreSQL connections with little CPU time.
//
// A connection is made, authenticated and prepared by pgx and then handed over
// (Adopt): from then on it is this package's own. What a client does over it is a
// Task: it appends messages to a buffer (the Append functions encode them) and is
// told the result. The package knows nothing of scenarios or of a script's language.
//
// Run gives each of a few threads its share of the clients. A thread waits for all
// of them with epoll, writes requests from one reused buffer and looks at no more of
// an answer than the type and length of its messages, so that a transaction costs
// the client three system calls and no allocation. Few threads are better than many:
// most of the client's CPU time is the waking of a backend and being woken by it, and a
// thread that finds several answers at once is woken less often. On 2 CPUs with 8
// clients, a thread for each client used more than twice the CPU time of one thread for
// all. Pinning a thread to a CPU gained nothing.
//
// That needs Linux and the socket itself. A connection over TLS or on another
// system, and one that is opened anew for each transaction (Options.Reconnect), has a
// goroutine for each client instead, which waits in reads and writes. Everything but
// the CPU time is the same; Stats.Indirect says that it was so, and why.
package wire
