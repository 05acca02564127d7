package workload

import (
	"os"
	"strings"
	"testing"

	"pgtlb/workload/script"
)

func TestScenariosWithinTheirBounds(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range List() {
		if !strings.Contains(string(readme), "| `"+s.Name+"` |") {
			t.Errorf("%s is not in README's table", s.Name)
		}
		least, most := Values{}, Values{}
		for _, p := range s.Params {
			if p.Meaning == "" || p.Min > p.Max {
				t.Errorf("%s has the parameter %+v", s.Name, p)
			}
			if p.Name != "rows" && p.Name != "temp_rows" { // temp_rows has to be less
				least[p.Name], most[p.Name] = p.Min, p.Max
			}
		}
		for _, v := range []Values{{}, least, most} {
			v, err := s.Resolve(v)
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Work(v)
			if err != nil {
				t.Fatal(err)
			}
			if s.Estimate(v) < 1 {
				t.Errorf("%s is estimated at %d bytes", s.Name, s.Estimate(v))
			}
			for mode := script.Simple; mode <= script.Prepared; mode++ {
				for _, one := range w.Scripts {
					parsed, err := script.Parse(one.Name, one.Text)
					if err == nil {
						err = parsed.Check(mode)
					}
					if err != nil {
						t.Errorf("%s, %v mode: %v", s.Name, mode, err)
					}
				}
			}
		}
	}
}

func TestTempRowsFit(t *testing.T) {
	if _, err := TempTables().Work(Values{"rows": 100, "temp_rows": 100}); err == nil || err.Error() != "temp_rows must be less than rows, 100" {
		t.Errorf("error %v", err)
	}
}
