package probes

import "testing"

func TestMapFailureTakesTheLast(t *testing.T) {
	const fatal = "2026-11-30 13:43:40.066 UTC [3677] FATAL:  " + mapFailed
	hint := func(bytes string) string {
		return "HINT:  This error usually means … To reduce the request size (currently " + bytes + " bytes), reduce …"
	}
	for name, c := range map[string]struct {
		log  []string
		want int64
	}{
		"one":                    {[]string{fatal, hint("123243331584")}, 123243331584},
		"two, the last counts":   {[]string{fatal, hint("4096"), "LOG:  starting", fatal, hint("8192")}, 8192},
		"hint alone":             {[]string{hint("4096")}, 0},
		"failure without a size": {[]string{fatal, hint("4096"), fatal}, 0},
		"a size too large":       {[]string{fatal, hint("99999999999999999999")}, 0},
		"another failure":        {[]string{"FATAL:  could not create shared memory segment", hint("4096")}, 0},
	} {
		got, ok := MapFailure(c.log)
		if ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, ok, c.want)
		}
	}
}

func TestBusError(t *testing.T) {
	for text, want := range map[string]bool{
		"Bus error (core dumped)": true,
		"LOG:  server process (PID 81) was terminated by signal 7: Bus": true,
		"child process was terminated by signal 7":                      true,
		"child process exited with exit code 135":                       true,
		"was terminated by signal 9: Killed":                            false,
		"was terminated by signal 71":                                   false,
		"":                                                              false,
	} {
		if got := BusError(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzMapFailure(f *testing.F) {
	f.Add("FATAL:  "+mapFailed, "(currently 8192 bytes)")
	f.Fuzz(func(t *testing.T, a, b string) {
		if n, ok := MapFailure([]string{a, b}); ok && n <= 0 {
			t.Errorf("%d bytes", n)
		}
	})
}
