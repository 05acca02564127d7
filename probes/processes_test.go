package probes

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process that has not run is not read again until it is time, and one that has
// is.
func TestOnlyProcessesThatRanAreRead(t *testing.T) {
	tr := newTree(t, 3)
	table := newProcessTable(tr.roots)
	defer table.close()
	read := func() map[int]*process {
		t.Helper()
		list, err := table.read(tr.postmaster())
		if err != nil {
			t.Fatal(err)
		}
		out := map[int]*process{}
		for _, p := range list {
			out[p.pid] = p
		}
		return out
	}
	ran := func(list map[int]*process) (pids []int) {
		for pid := treePostmaster; pid <= treePostmaster+3; pid++ {
			if list[pid] != nil && list[pid].ran {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	if got := ran(read()); len(got) != 4 {
		t.Fatalf("the first read knows of %v that they ran", got)
	}
	if got := ran(read()); len(got) != 0 {
		t.Errorf("nobody ran, and it says %v", got)
	}
	before := *read()[1002].use
	tr.run(t, 1002)
	list := read()
	if got := ran(list); len(got) != 1 || got[0] != 1002 {
		t.Errorf("1002 ran, and it says %v", got)
	}
	if is := *list[1002].use; is.User <= before.User || is.MinorFaults <= before.MinorFaults {
		t.Errorf("%+v, then %+v", before, is)
	}

	// The memory of a sleeping process is taken away by others: seen when it is due.
	tr.put(t, 1003, "status", "Pid:\t1003\nThreads:\t1\nVmPTE:\t8 kB\nRssAnon:\t1 kB\nRssShmem:\t1 kB\nHugetlbPages:\t0 kB\n")
	if is := read()[1003].mem.PageTables; is != 268 {
		t.Errorf("page tables %d kB: it was read although it slept", is)
	}
	table.procs[1003].due = time.Now()
	if is := read()[1003].mem.PageTables; is != 8 {
		t.Errorf("page tables %d kB although it was due", is)
	}

	// The run time is that of the main thread: with more threads it proves nothing.
	tr.put(t, 1001, "status", "Pid:\t1001\nThreads:\t2\n")
	tr.run(t, 1001)
	for range 3 {
		if got := ran(read()); len(got) != 1 || got[0] != 1001 {
			t.Errorf("1001 has two threads, and it says %v", got)
		}
	}
}

// A child that cannot be read leaves the list short, and the error says so; one
// that has ended does not.
func TestAnUnreadableChildIsNotLeftOutSilently(t *testing.T) {
	tr := newTree(t, 3)
	table := newProcessTable(tr.roots)
	defer table.close()
	tr.put(t, 1002, "stat", "1002 (postgres) S x\n")
	list, err := table.read(tr.postmaster())
	if err == nil || !strings.Contains(err.Error(), "process 1002") || len(list) != 3 {
		t.Errorf("%d processes, %v", len(list), err)
	}
	tr.end(t, 1002) // still in the list of children
	if list, err = table.read(tr.postmaster()); err != nil || len(list) != 3 {
		t.Errorf("%d processes, %v", len(list), err)
	}
}

// A kernel without scheduler statistics has no file, or says 0 0 0.
func TestWithoutRunTimesEveryProcessIsRead(t *testing.T) {
	tr := newTree(t, 2)
	tr.put(t, 1001, "schedstat", "0 0 0\n")
	if err := os.Remove(tr.roots.ProcPath("1002", "schedstat")); err != nil {
		t.Fatal(err)
	}
	table := newProcessTable(tr.roots)
	defer table.close()
	for range 3 {
		list, err := table.read(tr.postmaster())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list[1:] {
			if !p.ran {
				t.Errorf("%d is taken to have slept", p.pid)
			}
		}
	}
}

func TestRunTime(t *testing.T) {
	for in, want := range map[string]uint64{"2034983 117 21\n": 2034983, "0 0 0\n": 0, "": 0, "x 1 2": 0, "12": 0} {
		if got, ok := parseRunTime([]byte(in)); ok != (want > 0) || ok && got != want {
			t.Errorf("%q gives %d, %v", in, got, ok)
		}
	}
}

// Only the rows of those that ran are asked for, all of them now and then.
func TestStaleRows(t *testing.T) {
	now := time.Now()
	rows := newActivityTable()
	seen := []*process{{nspid: 1, ran: true}, {nspid: 2}, {nspid: 3, ran: true}}
	if _, whole := rows.stale(seen, 1, now); !whole {
		t.Error("the first time not all rows are asked for")
	}
	rows.whole = now
	if pids, whole := rows.stale(seen, 1, now.Add(time.Second)); whole || len(pids) != 1 || pids[0] != 3 {
		t.Errorf("asks for %v, %v", pids, whole)
	}
	idle := []*process{{nspid: 1, ran: true}, {nspid: 2}, {nspid: 4, ran: true, role: "bgwriter"}}
	if pids, whole := rows.stale(idle, 1, now); whole || len(pids) != 0 {
		t.Errorf("asks for %v, %v although nothing but the bgwriter has woken", pids, whole)
	}
	if pids, _ := rows.stale(append(seen, idle[2]), 1, now); len(pids) != 2 {
		t.Errorf("asks for %v", pids)
	}
	if _, whole := rows.stale(seen, 1, now.Add(lookAgain)); !whole {
		t.Error("after a while not all rows are asked for")
	}
	many := make([]*process, askAtMost+2)
	for i := range many {
		many[i] = &process{nspid: i + 1, ran: true}
	}
	if _, whole := rows.stale(many, 1, now); !whole {
		t.Errorf("%d rows are asked for one by one", len(many)-1)
	}
	rows.put([]activity{{pid: 2, state: "idle"}, {pid: 9, state: "idle"}}, 1)
	rows.forget(seen)
	if len(rows.byPid) != 1 || rows.byPid[2] == nil {
		t.Errorf("the rows of the processes that are there: %v", rows.byPid)
	}
}

// Half an hour of watching sessions that come and go: descriptors and live
// memory stay what they are.
func TestWatchingDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("need: more time than -short leaves")
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("need: /proc of a Linux kernel")
	}
	const sessions, ticks, settled = 40, 2000, 200
	tr := newTree(t, sessions)
	table := newProcessTable(tr.roots)
	defer table.close()
	rows := newActivityTable()
	var d Deriver
	next := treePostmaster + sessions + 1
	var files, heap [2]int
	for i := range ticks {
		oldest := tr.children[0]
		tr.end(t, oldest)
		delete(tr.ran, oldest)
		tr.fork(t, next)
		next++
		tr.run(t, tr.children[i%sessions])
		tr.list(t)
		list, err := table.read(tr.postmaster())
		if err != nil || len(list) != sessions+1 {
			t.Fatalf("tick %d: %d processes, %v", i, len(list), err)
		}
		pids, _ := rows.stale(list, 0, time.Now())
		var told []activity
		for _, pid := range pids {
			told = append(told, activity{pid: int(pid), backendType: "client backend", state: "idle", query: "SELECT " + strconv.Itoa(i)})
		}
		rows.put(told, 0)
		rows.forget(list)
		b := Batch{Probe: "backends", Backends: joinBackends(rows.byPid, seenProcesses{time.Now(), list})}
		b.Readings, b.Misses = backendSums(b.Backends, nil)
		f := d.Next(&Sample{Seq: uint64(i), T: time.Duration(i) * time.Second, Batches: []Batch{b}})
		if len(f.Backends) != sessions+1 {
			t.Fatalf("tick %d: %d rows", i, len(f.Backends))
		}
		if i == settled || i == ticks-1 {
			at := min(1, i/(settled+1))
			files[at], heap[at] = openFiles(t), liveHeap()
		}
	}
	if files[0] != files[1] {
		t.Errorf("%d files were open, then %d", files[0], files[1])
	}
	if grown := heap[1] - heap[0]; grown > 256<<10 {
		t.Errorf("live memory grew by %d bytes over %d ticks", grown, ticks-settled)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
