package probes

import (
	"cmp"
	"strings"
)

// Roles that code asks for.
const (
	RoleClient     = "client"
	RolePostmaster = "postmaster"
	// RoleParallelWorker works for another process, whose query it has.
	RoleParallelWorker = "parallel worker"
	// RoleOther is a child that is no process of the server: a shell of
	// ssl_passphrase_command, or where the postmaster is pid 1 of a container
	// whatever lost its parent there, such as a job of archive_command.
	RoleOther = "other"
	// roleStarting is a child of the postmaster that has not taken its title yet.
	roleStarting = "starting"
)

// roleOf shortens PostgreSQL's backend_type. Types of extensions stay as they are.
func roleOf(backendType string) string {
	switch backendType {
	case "client backend":
		return RoleClient
	case "background writer":
		return "bgwriter"
	case "autovacuum worker":
		return "autovacuum"
	case "logical replication launcher":
		return "logical launcher"
	case "logical replication worker", "logical replication apply worker",
		"logical replication parallel worker", "logical replication parallel apply worker",
		"logical replication tablesync worker":
		return "logical worker"
	}
	return Clean(backendType)
}

// roleOfTitle takes the role from the title that PostgreSQL gives a process,
// "postgres: [cluster_name: ]role …", for the processes that pg_stat_activity
// does not list. A process which has just started still has the postmaster's.
func roleOfTitle(title, postmaster string) string {
	rest, ok := strings.CutPrefix(title, "postgres: ")
	switch {
	case !ok && title != "" && title == postmaster:
		return roleStarting
	case !ok:
		return RoleOther
	}
	if role, ok := knownTitle(rest); ok {
		return role
	}
	// The cluster's name may hold colons too; the role is after the last one
	// that leaves a known role.
	last := rest
	for {
		_, after, ok := strings.Cut(last, ": ")
		if !ok {
			break
		}
		last = after
		if role, ok := knownTitle(last); ok {
			return role
		}
	}
	// "user database client command"; else a background worker of an extension,
	// whose title is its name.
	if hasClient(rest) {
		return RoleClient
	}
	return cmp.Or(strings.TrimSpace(Clean(last)), roleStarting)
}

// hasClient tells whether a title names the other end of a session, "[local]" or
// "host(port)".
func hasClient(title string) bool {
	for f := range strings.FieldsSeq(title) {
		if f == "[local]" {
			return true
		}
		host, port, ok := strings.Cut(strings.TrimSuffix(f, ")"), "(")
		if _, number := parseDecimal([]byte(port)); ok && number && host != "" && strings.HasSuffix(f, ")") {
			return true
		}
	}
	return false
}

// knownTitle knows the titles that begin with a role, of servers 13 to 18.
func knownTitle(s string) (string, bool) {
	for _, role := range []string{"logger", "archiver", "checkpointer", "background writer", "walwriter", "walsender",
		"walreceiver", "walsummarizer", "startup", "autovacuum launcher", "autovacuum worker", "io worker",
		RoleParallelWorker, "logical replication launcher", "logical replication worker",
		"logical replication apply worker", "logical replication parallel apply worker",
		"logical replication tablesync worker", "slotsync worker", "stats collector"} {
		if rest, ok := strings.CutPrefix(s, role); ok && (rest == "" || rest[0] == ' ') {
			return roleOf(role), true
		}
	}
	return "", false
}
