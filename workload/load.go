package workload

import "time"

// Load is one scenario being driven.
type Load struct {
	Scenario Scenario
	Values   Values
	Clients  int
	// Duration ends the load; 0 means until it is cancelled.
	Duration time.Duration
	Seed     int64
	// Connect opens one client's connection.
	Connect Connect
	// Started is called once, when every client is connected and prepared and
	// before the first transaction is sent; clients wait until it returns.
	Started func()
	// Stopped is called once, if Started was, when every client has returned and
	// before their connections are closed, with what made the load fail, if
	// anything.
	Stopped func(err error)
}
