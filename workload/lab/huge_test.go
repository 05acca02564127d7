package lab

import (
	"errors"
	"os"
	"testing"

	"pgtlb/workload/lab/labtest"
)

// needPool gives the 2 MB pool, or skips naming the need.
func needPool(t *testing.T) Pool {
	t.Helper()
	pool, err := ReadPool(Roots{}, Pages2MB)
	if errors.Is(err, ErrNoPool) {
		t.Skipf("need: a kernel with 2MB huge pages: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func wantMode(t *testing.T, c *Cluster, want Pages) {
	t.Helper()
	p, err := c.Proof()
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode != want {
		t.Errorf("pages in use: %s (%s), want %s", p.Mode, p.PageText, want)
	}
	buffers, err := ParseSize(c.layers.effective("shared_buffers"))
	if err != nil {
		t.Fatal(err)
	}
	if p.SizeKB<<10 < buffers {
		t.Errorf("the mapping of %d kB is smaller than shared_buffers", p.SizeKB)
	}
}

// There and back again: 4 kB, 2 MB in a pool grown for it, 4 kB, and the pool as it was.
func TestPagesThereAndBack(t *testing.T) {
	labtest.Pools(t)
	needRoot(t)
	needPool(t)
	pools := Pools{Dir: t.TempDir()}
	c := startLab(t, Options{SharedBuffers: "64MB", Pools: pools})
	wantMode(t, c, Pages4kB)
	pre, err := c.Preflight(t.Context(), Pages2MB)
	if err != nil {
		t.Fatal(err)
	}
	if pre.Need <= 32 || pre.NeedBytes != int64(pre.Need)<<21 || pre.Short > pre.Need {
		t.Errorf("preflight %+v", pre)
	}
	if err := c.Restart(t.Context(), Change{Pages: Pages2MB, Reserve: true}, nil); err != nil {
		t.Fatal(err)
	}
	wantMode(t, c, Pages2MB)
	if c.Pages() != Pages2MB || show(t, c, "SHOW huge_pages") != "on" || show(t, c, "SHOW shared_memory_size_in_huge_pages") != itoa(pre.Need) {
		t.Errorf("pages %s, huge_pages %s", c.Pages(), show(t, c, "SHOW huge_pages"))
	}
	// What it holds now counts as available to itself.
	if again, err := c.Preflight(t.Context(), Pages2MB); err != nil || again.Short != 0 || again.Own != pre.Need {
		t.Errorf("preflight while on huge pages: %+v, %v", again, err)
	}
	if err := c.Restart(t.Context(), Change{Pages: Pages4kB}, nil); err != nil {
		t.Fatal(err)
	}
	wantMode(t, c, Pages4kB)
	reserved := c.reserved
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range reserved {
		if r.Added == 0 {
			t.Errorf("reservation %+v", r)
		}
	}
	if j, err := pools.read(); err != nil || len(j.Reservations) != 0 {
		t.Errorf("journal %+v, %v", j, err)
	}
}

func TestStartOnHugePagesWithReserve(t *testing.T) {
	labtest.Pools(t)
	needRoot(t)
	needPool(t)
	c := startLab(t, Options{Pages: Pages2MB, Reserve: true, Pools: Pools{Dir: t.TempDir()}})
	wantMode(t, c, Pages2MB)
}

// impossible is more shared memory than the pool has free, with room for what other tests on this machine reserve
// meanwhile, yet less than the machine has.
func impossible(t *testing.T) string {
	t.Helper()
	m, err := readMemory(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	size := int64(needPool(t).Available())<<21 + 6<<30
	if size > m.Available*3/4 {
		t.Skip("need: 8 GB of memory beyond the free huge pages")
	}
	return itoa(int(size>>20)) + "MB"
}

func TestShortPoolIsSaidBeforeTheStart(t *testing.T) {
	labtest.Pools(t)
	s, size := quickly(t, needServer(t)), impossible(t)
	_, err := Start(t.Context(), Options{Server: s, Parent: labParent(t), Pages: Pages2MB, SharedBuffers: size}, nil)
	short := (*ShortPool)(nil)
	if !errors.As(err, &short) {
		t.Fatalf("error %v", err)
	}
	if short.Short() <= 0 || short.Need-short.Have != short.Short() || short.NeedBytes != int64(short.Need)<<21 {
		t.Errorf("%+v", short)
	}
	wantIn(t, err.Error(), itoa(short.Need)+" pages of 2MB", "short", "nr_hugepages")
}

// huge_pages = try falls back without a word; only the proof shows it.
func TestTryFallsBack(t *testing.T) {
	labtest.Pools(t)
	c := startLab(t, Options{Pages: Pages2MB, SharedBuffers: impossible(t), Settings: map[string]string{"huge_pages": "try"}})
	wantMode(t, c, Pages4kB)
	if got := show(t, c, "SHOW huge_pages"); got != "try" {
		t.Errorf("huge_pages %s", got)
	}
}

// A pool of the real machine grows and shrinks again.
func TestReserveForReal(t *testing.T) {
	labtest.Pools(t)
	needRoot(t)
	needPool(t)
	pools := Pools{Dir: t.TempDir()}
	unlock, err := lockPools(t.Context(), Roots{}) // other tests on this machine wait
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	before := needPool(t)
	r, err := pools.reserve(Pages2MB, 16)
	if err != nil {
		t.Fatal(err)
	}
	if during := needPool(t); r.Added != 16 || during.Persistent() != before.Persistent()+16 {
		t.Errorf("before %+v, during %+v, %+v", before, during, r)
	}
	j, err := pools.read()
	if err != nil || len(j.Reservations) != 1 {
		t.Fatalf("journal %+v, %v", j, err)
	}
	if err := pools.settle(j, 0); err != nil {
		t.Fatal(err)
	}
	if after := needPool(t); after.Persistent() != before.Persistent() {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// The same with a second server version, and with one that cannot be asked how many pages it needs. Without root it is
// the start, the settings and the end that are tried.
func TestPortableServers(t *testing.T) {
	for _, major := range []string{"18", "13"} {
		t.Run(major, func(t *testing.T) {
			if testing.Short() {
				t.Skip("need: more time than -short leaves, to repeat it with another server version")
			}
			o := Options{Server: needPortable(t, major), Pages: Pages4kB, Pools: Pools{Dir: t.TempDir()}}
			if _, err := ReadPool(Roots{}, Pages2MB); err == nil && os.Geteuid() == 0 {
				o.Pages, o.Reserve = Pages2MB, true
			}
			c := startLab(t, o)
			wantMode(t, c, o.Pages)
			if o.Pages == Pages2MB && o.Server.Major >= 17 && show(t, c, "SHOW huge_pages_status") != "on" {
				t.Error("the server says its huge pages are not on")
			}
			if err := c.Restart(t.Context(), Change{Pages: Pages4kB}, nil); err != nil {
				t.Fatal(err)
			}
			wantMode(t, c, Pages4kB)
			wantIn(t, show(t, c, "SHOW server_version"), o.Server.Version)
		})
	}
}

// needPortable gives a portable server where one was fetched, or skips naming the need.
func needPortable(t *testing.T, major string) Server {
	t.Helper()
	f := Finder{Portable: PortableDirs()}
	all, _, err := f.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if itoa(s.Major) == major {
			return s
		}
	}
	t.Skipf("need: a portable PostgreSQL %s: pgtlb setup --portable --version %s", major, major)
	return Server{}
}

func TestVerifyOfAProcessThatIsNoServer(t *testing.T) {
	if supported() != nil {
		t.Skip("need: procfs")
	}
	if _, err := Verify(Roots{}, os.Getpid()); !errors.Is(err, ErrNoMapping) {
		t.Errorf("error %v", err)
	}
}
