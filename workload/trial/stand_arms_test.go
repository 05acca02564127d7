package trial

import (
	"maps"
	"os"
	"strings"
	"testing"

	"pgtlb/probes"
	"pgtlb/workload/lab"
)

// TestCheckNeedsNoServer: page sizes that there are not, that this machine does not
// have, or that are the same; and secrets.
func TestCheckNeedsNoServer(t *testing.T) {
	r := probes.Roots{Sys: t.TempDir()}
	if err := os.MkdirAll(probes.PoolDir(r, lab.Pages2MB.KB()), 0o700); err != nil {
		t.Fatal(err)
	}
	for name := range map[string]bool{"nr_hugepages": true, "free_hugepages": true, "resv_hugepages": true, "surplus_hugepages": true} {
		if err := os.WriteFile(probes.PoolDir(r, lab.Pages2MB.KB())+"/"+name, []byte("0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ vary, refuses string }{
		{"huge_pages=4kB,2MB", ""},
		{"HUGE_PAGES=4kB,2MB", ""},
		{"huge_pages=on,off", ""},
		{"huge_pages=2MB,2MB", ""},
		{"work_mem=3MB,4MB", ""},
		{"huge_pages=3kB,5kB", `page size "3kB": choose 4kB, 2MB or 1GB`},
		{"huge_pages=on,2MB", `page size "on"`},
		{"huge_pages=4kB,1GB", "--vary huge_pages=1GB: huge pages of this size are not available on this machine"},
		{"huge_pages=2MB,2mb", "2MB and 2mb are the same value of huge_pages"},
		{"primary_conninfo=a,b", "it may hold a password"},
	} {
		factor, values, _ := strings.Cut(c.vary, "=")
		o := quickExperiment(factor, strings.Split(values, ",")...)
		err := o.Check(r, true)
		if (err == nil) != (c.refuses == "") || err != nil && !strings.Contains(err.Error(), c.refuses) {
			t.Errorf("%s: %v", c.vary, err)
		}
	}
	o := quickExperiment("huge_pages", "4kB", "1GB")
	if err := o.Check(r, false); err != nil {
		t.Errorf("the pools of another machine: %v", err)
	}
}

func TestValueArms(t *testing.T) {
	o := quickExperiment("huge_pages", "4kB", "2MB")
	for _, c := range []struct {
		inLab bool
		major int
		want  map[string]string
	}{
		{true, 18, map[string]string{"huge_pages": "on"}},
		{false, 13, map[string]string{"huge_pages": "try"}},
		{false, 14, map[string]string{"huge_pages": "try", "huge_page_size": "2MB"}},
	} {
		arms, err := valueArms("huge_pages", &o.Plan, c.inLab, c.major)
		if err != nil || len(arms) != 2 || arms[0].set["huge_pages"] != "off" || arms[1].pages != lab.Pages2MB || !maps.Equal(arms[1].set, c.want) {
			t.Errorf("%+v: %v %+v", c, err, arms)
		}
		if err := setBesides(arms, map[string]string{"Huge_Page_Size": "1GB"}); err == nil || !strings.Contains(err.Error(), "--set Huge_Page_Size") {
			t.Errorf("%v", err)
		}
	}
	words := quickExperiment("huge_pages", "on", "off")
	arms, err := valueArms("huge_pages", &words.Plan, true, 15)
	if err != nil || arms[0].pages != 0 || arms[0].set["huge_pages"] != "on" || setBesides(arms, map[string]string{"huge_page_size": "1GB"}) != nil {
		t.Errorf("%v %+v", err, arms)
	}
}
