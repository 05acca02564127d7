package doctor

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgtlb/probes"
)

// want is what a check must say of a machine.
type want struct {
	status Status
	found  string // words that Found holds, all of them, apart by " … "
	fix    string // a line of Fix; "-" for none
	undo   string // a line of Undo
}

// TestMachines is what each machine must be told.
func TestMachines(t *testing.T) {
	for machine, checks := range map[string]map[string]want{
		"metal-good": {
			"huge_pages":       {OK, "huge_pages = on … 2 MB in use (proved: smaps KernelPageSize)", "-", ""},
			"huge_pages_mode":  {OK, "huge_pages = on", "-", ""},
			"pool_size":        {OK, "33,794 pages of 2 MB (66.0 GB) needed … held by this server 33,794 … shared_buffers of 64 GB alone would be 32,768 pages … with pages of 1 GB it would be 67", "-", ""},
			"pool_got":         {OK, "60-postgresql.conf:2 asks for 34,000 … the pool has 34,000", "-", ""},
			"pool_idle":        {OK, "206 free for anybody", "-", ""},
			"pool_nodes":       {OK, "node 0 has 17,000 … node 1 has 17,000", "-", ""},
			"pool_persistence": {OK, "/etc/sysctl.d/60-postgresql.conf:2 sets 34,000", "-", ""},
			"pool_holders":     {OK, "this server: 5 processes; nobody else", "-", ""},
			"pool_clusters":    {NotHere, "no other PostgreSQL server", "-", ""},
			"ram_floor":        {OK, "the pools take 66.4 GB of 256 GB … 25.6 GB should stay", "-", ""},
			"cgroup_hugetlb":   {OK, "no level of the server's control group", "-", ""},
			"thp":              {OK, "enabled is madvise", "-", ""},
			"huge_pages_pay":   {OK, "they pay … 51.6 GB of page tables at 400 backends", "-", ""},
			"page_bill":        {OK, "measured now: 1.35 MB … 51.7 GB with pages of 4 kB, 159 MB with pages of 2 MB", "-", ""},
		},
		"short-pool": { // 556 needed, 512 made
			"huge_pages":       {Fail, "FELL BACK to pages of 4 kB … 44 pages of 2 MB short: 556 pages", "sysctl -w vm.nr_hugepages=556", "sysctl -w vm.nr_hugepages=512"},
			"huge_pages_mode":  {Warn, "fell back without a word", `psql -h /run/postgresql -p 5432 -U postgres -d postgres -c "ALTER SYSTEM SET huge_pages = 'on'"`, `psql -h /run/postgresql -p 5432 -U postgres -d postgres -c "ALTER SYSTEM RESET huge_pages"`},
			"pool_size":        {Fail, "556 pages of 2 MB (1.09 GB) needed, 512 available … 44 short … shared_buffers of 1 GB alone would be 512", "-", ""},
			"pool_idle":        {Warn, "1 GB reserved in the pool is used by nobody … once the pool is large enough", "-", ""},
			"pool_persistence": {OK, "/etc/sysctl.conf:2 sets 512", "-", ""},
		},
		"idle-pool": {
			"huge_pages": {Fail, "51 pages of 2 MB short", `sed -i '1s/\b8200\b/8251/' /etc/sysctl.d/10-huge.conf`, `sed -i '1s/\b8251\b/8200/' /etc/sysctl.d/10-huge.conf`},
			"pool_idle":  {Warn, "16.0 GB reserved in the pool is used by nobody", "-", ""},
			"page_bill":  {Warn, "14 % of the machine's memory … a pooler with at most 202 connections", "-", ""},
		},
		"boot-1g": {
			"huge_pages":       {OK, "pages of 1 GB in use", "-", ""},
			"last_page":        {OK, "724 MB of the last page are free; shared_buffers could grow by 702 MB, to 8894 MB", "-", ""},
			"pool_idle":        {Warn, "6 are in use, 3 promised to running programs and 1 free", "sed -i 's/hugepagesz=1G hugepages=10/hugepagesz=1G hugepages=9/' /etc/default/grub", "update-grub"},
			"pool_persistence": {OK, "/proc/cmdline sets 10 pages of 1 GB", "-", ""},
		},
		"almost-empty": {
			"last_page": {Warn, "of the last page are free", `psql -h /run/postgresql -p 5432 -U postgres -d postgres -c "ALTER SYSTEM SET shared_buffers = '4989MB'"`, `psql -h /run/postgresql -p 5432 -U postgres -d postgres -c "ALTER SYSTEM RESET shared_buffers"`},
		},
		"numa-uneven": {
			"pool_nodes": {Warn, "node 0 has 1,100 pages, 0 free (300 MB of other memory free); node 1 has 3,200", "echo 2150 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "echo 1100 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"},
		},
		"fragmented": {
			"pool_got":   {Fail, "90-pg.conf:1 asks for 2,000 … got 812: 1,188 missing … 9 GB of memory are free, in one piece for 6 pages … failed to find a page 1,188 times", "echo 1 > /proc/sys/vm/compact_memory", "sysctl -w vm.nr_hugepages=812"},
			"huge_pages": {Fail, "1,178 pages of 2 MB short", "echo 1 > /proc/sys/vm/compact_memory", "sysctl -w vm.nr_hugepages=812"},
		},
		"wrong-size": {
			"pool_other_sizes": {Fail, "56 pages of 1 GB (56 GB) … used by nobody … would need 17 of them with huge_page_size = 1GB … 87 % of the machine's memory", "echo 0 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "echo 56 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"},
			"ram_floor":        {Fail, "the pools take 56 GB of 64 GB … 1.17 GB are available", "echo 0 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "update-grub"},
			"huge_pages":       {Warn, "8,200 pages of 2 MB short", "sysctl -w vm.nr_hugepages=8200", "sysctl -w vm.nr_hugepages=0"},
			"page_bill":        {Fail, "the machine would run out of memory", "-", ""},
		},
		"container-v2": {
			"cgroup_hugetlb": {Fail, "docker-3f1c.scope/hugetlb.2MB.max: 1 GB allowed, 0 kB used … 512 pages … first touched … hit 7 times", "echo 4422893568 > /sys/fs/cgroup/system.slice/docker-3f1c.scope/hugetlb.2MB.max", "echo 1073741824 > /sys/fs/cgroup/system.slice/docker-3f1c.scope/hugetlb.2MB.max"},
			"cgroup_memory":  {Fail, "4 GB allowed … shared memory of 4.12 GB and page tables come to 5.76 GB … more than the limit", "echo 7727882240 > /sys/fs/cgroup/system.slice/docker-3f1c.scope/memory.max", ""},
			"huge_pages":     {Fail, "the pool would do … the control group allows this server only 512 pages", "-", ""},
		},
		"v1-host": {
			"cgroup_hugetlb": {OK, "hugetlb/system.slice/hugetlb.2MB.limit_in_bytes … so that this server can have 3,180 pages", "-", ""},
			"memlock":        {OK, "any amount … (postgresql-13.service sets LimitMEMLOCK=infinity)", "-", ""},
			"pool_size":      {OK, "3,170 pages of 2 MB (6.19 GB) needed", "-", ""}, // 6490428 kB, not the address space
			"thp":            {Warn, "enabled is always, defrag is always", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", "echo always > /sys/kernel/mm/transparent_hugepage/enabled"},
			"thp_shmem":      {NotHere, "no transparent huge pages for shared memory", "-", ""},
		},
		"k8s-pod": {
			"failed_start":     {Fail, "bus error … hugetlb.2MB.max allows 0 kB", "    hugepages-2Mi: 1100Mi", ""},
			"cgroup_hugetlb":   {Fail, "0 kB allowed … 550 pages of 2 MB (1.07 GB) are needed … 1,024 pages, which looks as if they could be used: initdb before 16 dies here", "    hugepages-2Mi: 1100Mi", ""},
			"cgroup_memory":    {OK, "8 GB allowed", "-", ""},
			"pool_persistence": {Unknown, "in a container", "-", ""},
			"pool_got":         {Unknown, "below this container", "-", ""},
			"huge_pages":       {NotHere, "no running server", "-", ""},
		},
		"no-hugetlb": {
			"hugetlb_kernel": {Warn, "built without CONFIG_HUGETLBFS", "# boot a kernel with CONFIG_HUGETLBFS=y: those of the distributions have it", ""},
			"huge_pages":     {OK, "no pool of huge pages", "-", ""},
			"pool_size":      {NotHere, "huge page size of the machine is not known", "-", ""},
			"cgroup_hugetlb": {NotHere, "no huge pages", "-", ""},
		},
		"unsupported": {
			"huge_pages":      {NotHere, "shared_memory_size_in_huge_pages is -1", "-", ""},
			"pool_size":       {NotHere, "cannot have huge pages here", "-", ""},
			"huge_pages_mode": {NotHere, "huge_pages = try", "-", ""},
		},
		"thp-always": {
			"thp":        {Warn, "enabled is always", "echo 'w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise' > /etc/tmpfiles.d/thp-enabled.conf", ""},
			"thp_shmem":  {Warn, "within_size; 2 GB of the server's 64.5 GB", "echo never > /sys/kernel/mm/transparent_hugepage/shmem_enabled", "echo within_size > /sys/kernel/mm/transparent_hugepage/shmem_enabled"},
			"huge_pages": {Warn, "huge_pages = off", "sysctl -w vm.nr_hugepages=33000", `psql -h /run/postgresql -p 5432 -U postgres -d postgres -c "ALTER SYSTEM RESET huge_pages"`},
			"page_bill":  {Fail, "88.4 GB with pages of 4 kB, 273 MB with pages of 2 MB … 80 GB are available: the machine would run out", "-", ""},
		},
		"two-clusters": {
			"pool_clusters": {Fail, "/var/lib/postgresql/16/other (pid 3000) holds 1,100 … together 2,200, and the pool has 1,200: 1,000 short", "-", ""},
			"pool_holders":  {Warn, "the PostgreSQL server of pid 3000 in /var/lib/postgresql/16/other … lacks 1,000 pages", "-", ""},
			"huge_pages":    {Fail, "1,000 pages of 2 MB short", "sysctl -w vm.nr_hugepages=2200", "sysctl -w vm.nr_hugepages=1200"},
		},
		"two-good": {
			"pool_clusters": {OK, "holds 1,100 … together 2,200, and the pool has 2,300", "-", ""},
		},
		"arm64-64k": {
			"huge_pages": {OK, "pages of 512 MB in use", "-", ""},
			"page_bill":  {OK, "506 MB with pages of 64 kB … 188 MB with pages of 512 MB", "-", ""},
			"pool_size":  {OK, "17 pages of 512 MB (8.50 GB) needed", "-", ""},
			"pool_idle":  {Warn, "11.5 GB reserved in the pool is used by nobody", "sysctl -w vm.nr_hugepages=17", "sysctl -w vm.nr_hugepages=40"},
		},
		"tiny-vm": {
			"huge_pages":     {OK, "FELL BACK … nobody has made a pool for it, and here it would not pay", "-", ""},
			"pool_size":      {OK, "75 short … it would not pay here", "-", ""},
			"huge_pages_pay": {OK, "they hardly pay in memory … 29.3 MB", "-", ""},
		},
		"failed-start": { // 123,243,331,584 bytes
			"failed_start": {Fail, "123,243,331,584 bytes … 58,767 pages of 2 MB (115 GB) needed, 50,000 available … 8,767 short", "sysctl -w vm.nr_hugepages=58767", "sysctl -w vm.nr_hugepages=50000"},
			"pool_size":    {Fail, "8,767 short", "-", ""},
		},
		"remote": {
			"huge_pages": {Fail, "FELL BACK … cannot be seen from here", "-", ""},
			"pool_size":  {Unknown, "SQL only: the server runs on another machine", "-", ""},
			"ram_floor":  {Unknown, "SQL only", "-", ""},
			"page_bill":  {OK, "9.50 GB with pages of 4 kB", "-", ""},
		},
		"by-hand": {
			"pool_persistence": {Warn, "nothing sets the pool at a boot … /etc/sysctl.conf:1 (vm.nr_hugepages = 2400) does nothing … hugepages.service is not enabled", "echo 'vm.nr_hugepages = 2109' > /etc/sysctl.d/99-z-huge-pages.conf", "rm /etc/sysctl.d/99-z-huge-pages.conf"},
			"huge_pages_mode":  {OK, "falls back without a word if the pool is smaller then", "-", ""},
			"pool_got":         {NotHere, "nothing asks for a pool", "-", ""},
		},
		"vm-host": {
			"pool_other_sizes": {OK, "2 pages of 1 GB (2 GB), of which 0 kB is used by nobody", "-", ""},
			"pool_holders":     {Warn, "others: qemu-system-x86 (pid 5100, 6.05 GB touched); this server lacks 1,109 pages", "-", ""},
			"huge_pages":       {Fail, "1,109 pages of 2 MB short", `sed -i '2s/\b4096\b/5205/' /etc/tmpfiles.d/huge.conf`, `sed -i '2s/\b5205\b/4096/' /etc/tmpfiles.d/huge.conf`},
		},
		"overcommit": {
			"pool_size": {Warn, "the kernel may add 3,000 on demand … nr_overcommit_hugepages", "sysctl -w vm.nr_hugepages=2109", "sysctl -w vm.nr_hugepages=0"},
		},
		"sysv": {
			"memlock":    {NotHere, "may lock 64 kB; with shared_memory_type = sysv PostgreSQL has no huge pages", "-", ""},
			"huge_pages": {Warn, "shared_memory_type is sysv", "-", ""},
		},
		"planned-good": {
			"pool_size":    {OK, "2,109 pages of 2 MB (4.12 GB) needed, 2,200 available", "-", ""},
			"failed_start": {OK, "a later start succeeded", "-", ""},
		},
		"too-large": {
			"pool_size": {Fail, "this machine can spare 6,144 pages at most … make shared_buffers smaller by 2 GB", "-", ""},
		},
		"boot-too-much": {
			"pool_persistence": {Fail, "the next boot asks for more than this machine can spare", `sed -i '1s/\b16000\b/2200/' /etc/sysctl.d/90-pg.conf`, `sed -i '1s/\b2200\b/16000/' /etc/sysctl.d/90-pg.conf`},
			"pool_got":         {Fail, "the machine cannot spare so much", `sed -i '1s/\b16000\b/2109/' /etc/sysctl.d/90-pg.conf`, ""},
		},
	} {
		t.Run(machine, func(t *testing.T) {
			e := Examine(look(t, machine))
			for id, w := range checks {
				c := e.check(id)
				if c == nil {
					t.Errorf("no check %s", id)
					continue
				}
				w.compare(t, *c)
			}
		})
	}
}

func (w want) compare(t *testing.T, c Check) {
	t.Helper()
	if c.Status != w.status {
		t.Errorf("%s is %s, want %s: %s", c.ID, c.Status, w.status, c.Found)
	}
	rest := c.Found
	for words := range strings.SplitSeq(w.found, " … ") {
		_, after, ok := strings.Cut(rest, words)
		if !ok {
			t.Errorf("%s: %q is not (or not in this place) in %q", c.ID, words, c.Found)
			break
		}
		rest = after
	}
	if w.fix == "-" && len(c.Fix) > 0 || w.fix != "-" && !slices.Contains(c.Fix, w.fix) {
		t.Errorf("%s: fix %q, want %q", c.ID, c.Fix, w.fix)
	}
	if w.undo != "" && !slices.Contains(c.Undo, w.undo) {
		t.Errorf("%s: undo %q, want %q", c.ID, c.Undo, w.undo)
	}
}

// TestVerdicts: one sentence, the worst first.
func TestVerdicts(t *testing.T) {
	for machine, want := range map[string]string{
		"metal-good":   "huge pages of 2 MB are in use (proved: smaps KernelPageSize)",
		"short-pool":   "huge_pages=try FELL BACK to 4 kB: 44 pages of 2 MB short; 1 GB reserved in the pool is used by nobody",
		"container-v2": "huge_pages=try FELL BACK to 4 kB: the pool would do, but the control group allows only 512 of the 2,109 pages needed; 3.88 GB reserved",
		"failed-start": "the server DID NOT START on huge pages: 8,767 pages of 2 MB short, 58,767 needed",
		"two-clusters": "huge_pages=try FELL BACK to 4 kB: 1,000 pages of 2 MB short; other servers share the pool",
		"tiny-vm":      "huge_pages=try FELL BACK to 4 kB: 75 pages of 2 MB short, and they would hardly pay here",
		"no-hugetlb":   "huge_pages=try FELL BACK to 4 kB: this kernel has no huge pages",
		"unsupported":  "huge_pages=try, and the server says that it cannot have huge pages here",
		"remote":       "huge_pages=try FELL BACK to 4 kB: 8,251 pages of 2 MB (16.1 GB) needed, and the pool cannot be seen from here",
		"sysv":         "huge_pages=try FELL BACK to 4 kB: shared_memory_type is sysv",
		"overcommit":   "a server with 4.12 GB of shared memory needs 2,109 pages of 2 MB (4.12 GB), and the kernel may add them on demand",
		"too-large":    "a server with 14 GB of shared memory needs 7,168 pages of 2 MB (14 GB): 7,168 short",
		"thp-always":   "huge_pages=off, the server runs on pages of 4 kB; pages of 2 MB save up to 88.1 GB of page tables",
	} {
		if got := Examine(look(t, machine)).Verdict; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q first", machine, got, want)
		}
	}
}

// TestEveryCheckOfPagesHasItsCases: each is found good on one machine and bad on
// another, so that none of them can only praise or only blame. On the way each
// exam's form is looked at.
func TestEveryCheckOfPagesHasItsCases(t *testing.T) {
	good, bad := map[string]bool{}, map[string]bool{}
	var ids []string
	for _, m := range machines(t) {
		s := look(t, m)
		sameFromFile(t, m, s)
		for _, check := range pagesChecks() {
			c := check(&s)
			if !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
			switch c.Status {
			case OK:
				good[c.ID] = true
			case Warn, Fail:
				bad[c.ID] = true
			case Unknown, NotHere:
			default:
				t.Errorf("%s: %s has the status %q", m, c.ID, c.Status)
			}
			complete(t, m, c)
			withinTheMachine(t, m, &s, c)
		}
	}
	for _, id := range ids {
		// Whether they pay is no fault of a machine, and a limit of locked memory never is one.
		if !good[id] || !bad[id] && id != "huge_pages_pay" && id != "memlock" {
			t.Errorf("%s: found good %v, bad %v", id, good[id], bad[id])
		}
	}
}

// complete looks at the form of a check.
func complete(t *testing.T, machine string, c Check) {
	t.Helper()
	switch {
	case c.ID == "" || c.Title == "" || c.Found == "" || c.Why == "":
		t.Errorf("%s: %s lacks a text: %+v", machine, c.ID, c)
	case strings.HasSuffix(c.Found, ".") || strings.Contains(c.Found, "%!"):
		t.Errorf("%s: %s: %q", machine, c.ID, c.Found)
	case len(c.Fix) > 0 && c.Takes == "":
		t.Errorf("%s: %s has a fix and does not say what it takes", machine, c.ID)
	case c.Status == OK && len(c.Fix) > 0:
		t.Errorf("%s: %s is in order and has a fix %q", machine, c.ID, c.Fix)
	}
}

// withinTheMachine: no fix makes a pool that leaves too little memory.
func withinTheMachine(t *testing.T, machine string, s *Snapshot, c Check) {
	t.Helper()
	d := s.demand()
	most := max(s.mostPages(d.pageKB, true), d.pool.Persistent())
	for _, line := range c.Fix {
		p, ok := parsePoolLine(line, s.Pages.Memory.DefaultPageKB)
		if ok && p.PageKB == d.pageKB && p.Pages > most {
			t.Errorf("%s: %s advises %q, and the machine can spare %d pages", machine, c.ID, line, most)
		}
	}
}

// sameFromFile: a snapshot that was saved gives the same exam, and an exam comes
// back from JSON.
func sameFromFile(t *testing.T, machine string, s Snapshot) {
	t.Helper()
	var file bytes.Buffer
	if err := s.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&file)
	if err != nil {
		t.Fatalf("%s: %v", machine, err)
	}
	text := func(e Exam) string {
		b, err := json.MarshalIndent(e, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := text(Examine(s))
	var back Exam
	if err := json.Unmarshal([]byte(want), &back); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{"the saved snapshot": text(Examine(again)), "its own JSON": text(back)} {
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] && !strings.Contains(a[i], "boot_time") { // the same moment in another zone
				t.Errorf("%s: the exam of %s differs: %q, want %q", machine, what, b[i], a[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: the exam of %s has %d lines, want %d", machine, what, len(b), len(a))
		}
	}
	if strings.Contains(want, "null") {
		t.Errorf("%s: null in the exam's JSON", machine)
	}
}

func TestHugePagesAreSummedUp(t *testing.T) {
	got := Examine(look(t, "short-pool")).HugePages
	want := HugePages{Requested: "try", InUse: "off", PageKB: 4, Proof: "smaps KernelPageSize", WantedKB: 2048, DefaultKB: 2048,
		Needed: 556, Total: 512, Free: 512, Shortfall: 44}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	got = Examine(look(t, "boot-1g")).HugePages
	want = HugePages{Requested: "on", InUse: "on", PageKB: 1 << 20, Proof: "smaps KernelPageSize", WantedKB: 1 << 20, DefaultKB: 2048,
		Needed: 9, Total: 10, Free: 4, Reserved: 3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Examine(look(t, "unsupported")).HugePages; got.Needed != 0 || got.Shortfall != 0 {
		t.Errorf("arithmetic on -1: %+v", got)
	}
}

// TestBill: known answers for 40 GB: 80 MB of entries in 4 kB pages.
func TestBill(t *testing.T) {
	s := Snapshot{PlannedKB: 40 << 20}
	b := bill(&s)
	if b.MaxConnections != 100 || len(b.Sizes) != 3 || b.PageTablesKB != nil {
		t.Fatalf("%+v", b)
	}
	for i, want := range []BillRow{
		{PageKB: 4, PerBackendKB: 80*1024 + 40*4 + 4 + 128},
		{PageKB: 2048, PerBackendKB: 40*4 + 4 + 128, Pages: 20480, PoolKB: 40 << 20},
		{PageKB: 1 << 20, PerBackendKB: 4 + 128, Pages: 40, PoolKB: 40 << 20},
	} {
		want.MaxKB = 100 * want.PerBackendKB
		if b.Sizes[i] != want {
			t.Errorf("%+v, want %+v", b.Sizes[i], want)
		}
	}
	s.PlannedKB++
	if b := bill(&s); b.Sizes[2].Pages != 41 || b.Sizes[2].SlackKB != 1<<20-1 {
		t.Errorf("one kB more: %+v", b.Sizes[2])
	}
	if b := bill(&Snapshot{}); len(b.Sizes) != 0 || b.Sizes == nil {
		t.Errorf("nothing known: %+v", b)
	}
}

// TestBillIsThatOfAConnection: the page bill and what a connection costs are one
// computation, over the median client and without our own session.
func TestBillIsThatOfAConnection(t *testing.T) {
	s := look(t, "metal-good")
	p := s.Pages.Processes
	if p == nil || p.Clients == 0 || p.ClientPrivateKB == 0 {
		t.Fatalf("no clients: %+v", p)
	}
	cost := probes.CostOfConnection([]probes.BackendMem{{Private: uint64(p.ClientPrivateKB)}}, "", &s.Server.Info)
	for i, row := range bill(&s).Sizes {
		if want := cost.Sizes[i]; row.PageKB != want.PageKB || row.PerBackendKB != want.PageTables.V {
			t.Errorf("%+v, a connection costs %+v", row, want)
		}
	}
}
