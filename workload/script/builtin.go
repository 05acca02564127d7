package script

import (
	"fmt"
	"strings"
)

// Built is a script that needs no file.
type Built struct {
	Name        string // for -b
	Description string // in the place of the file's name
	Text        string
}

const (
	setAccount = `\set aid random(1, 100000 * :scale)` + "\n"
	setOthers  = `\set bid random(1, 1 * :scale)` + "\n" +
		`\set tid random(1, 10 * :scale)` + "\n" +
		`\set delta random(-5000, 5000)` + "\n"
	selectAccount = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
	updateAccount = "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
	updateOthers  = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n" +
		"UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
	insertHistory = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
)

// Builtins are pgbench's three, over the tables of pgbench -i.
func Builtins() []Built {
	return []Built{
		{"tpcb-like", "<builtin: TPC-B (sort of)>", setAccount + setOthers + "BEGIN;\n" + updateAccount + selectAccount +
			updateOthers + insertHistory + "END;\n"},
		{"simple-update", "<builtin: simple update>", setAccount + setOthers + "BEGIN;\n" + updateAccount + selectAccount +
			insertHistory + "END;\n"},
		{"select-only", "<builtin: select only>", setAccount + selectAccount},
	}
}

// Builtin finds one by its name or by a prefix that only one name has.
func Builtin(name string) (Built, error) {
	var found []Built
	for _, b := range Builtins() {
		if strings.HasPrefix(b.Name, name) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 0:
		return Built{}, fmt.Errorf("no builtin script found for name %q", name)
	case 1:
		return found[0], nil
	}
	return Built{}, fmt.Errorf("ambiguous builtin name: %d builtin scripts found for prefix %q", len(found), name)
}
