package script

import "testing"

func benchmark(b *testing.B, mode Mode, text string) {
	s, err := Parse("b", text)
	if err != nil {
		b.Fatal(err)
	}
	m := client(b, mode, s)
	b.ReportAllocs()
	for b.Loop() {
		m.Begin(0)
		for {
			step, err := m.Next()
			if err != nil {
				b.Fatal(err)
			}
			if step.Action == EndOfScript {
				break
			}
		}
	}
}

func BenchmarkSelectOnlyPrepared(b *testing.B) { benchmark(b, Prepared, Builtins()[2].Text) }
func BenchmarkTPCBSimple(b *testing.B)         { benchmark(b, Simple, Builtins()[0].Text) }
func BenchmarkTPCBPrepared(b *testing.B)       { benchmark(b, Prepared, Builtins()[0].Text) }
func BenchmarkZipfian(b *testing.B)            { benchmark(b, Simple, "\\set x random_zipfian(1, 1000000, 1.07)") }
func BenchmarkExpression(b *testing.B) {
	benchmark(b, Simple, "\\set x abs(:scale * 3 - 7.5) + case when :scale > 1 and :scale < 9 then hash(:scale) else permute(:scale, 100) % 7 end")
}

// TestNoAllocations: stepping through a script allocates nothing once its buffers have grown.
func TestNoAllocations(t *testing.T) {
	for _, mode := range []Mode{Simple, Prepared} {
		s := mustParse(t, Builtins()[0].Text+"\\set x abs(:scale * 3 - 7.5) + least(1, :scale)\n\\if :x > 100\n\\sleep 1\n\\endif\nselect :x;")
		m := client(t, mode, s)
		run := func() {
			m.Begin(0)
			for {
				step, err := m.Next()
				if err != nil {
					t.Fatal(err)
				}
				if step.Action == EndOfScript {
					return
				}
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", mode, n)
		}
	}
}
