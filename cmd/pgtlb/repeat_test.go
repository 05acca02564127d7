package main

import (
	"strings"
	"testing"

	"pgtlb/workload/trial"
)

// TestRepeatIsUnderstood: the verbs know the flags that a report tells to use.
func TestRepeatIsUnderstood(t *testing.T) {
	loads := []trial.LoadMeta{{Scenario: "point-select", Clients: 8, Seed: 3}, {Scenario: "join-aggregate", Clients: 8, Seed: 3}}
	m := trial.Meta{Lab: true, Pages: "2MB", Dataset: &trial.Dataset{Rows: 5000}, Command: "pgtlb lab --set jit=off --scope server"}
	m.Server.SharedBuffersKB = 65536
	for _, m.Loads = range [][]trial.LoadMeta{loads[:1], loads} {
		words := strings.Fields(trial.BuildReport(&trial.Run{Meta: m}, nil, trial.ReportOptions{}).Repeat[0])
		cmd, args, err := (&app{}).root().Find(words[1:])
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		for flag, want := range map[string]string{"rows": "5000", "pages": "2MB", "reserve": "true", "random-seed": "3", "client": "8", "scope": "server", "set": "[jit=off]"} {
			if got := cmd.Flag(flag).Value.String(); got != want {
				t.Errorf("%q: --%s is %s, want %s", words, flag, got, want)
			}
		}
	}
}
