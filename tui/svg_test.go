package tui

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A picture is well-formed, has the words as text, and has braille and borders
// as shapes.
func TestWriteSVG(t *testing.T) {
	st := demo{seconds: 60, loads: 1, pmu: true, compare: true}.state()
	for _, light := range []bool{false, true} {
		var b strings.Builder
		if err := WriteSVG(&b, Snapshot(st, Picture(Options{}, light), 120, 40), light); err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		text := ""
		d := xml.NewDecoder(strings.NewReader(b.String()))
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch tok := tok.(type) {
			case xml.StartElement:
				count[tok.Name.Local]++
			case xml.CharData:
				text += string(tok) + " "
			}
		}
		if count["circle"] < 500 || count["path"] < 300 || count["text"] < 100 {
			t.Errorf("shapes: %v", count)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x2500 && r < 0x25a0 || r >= 0x2800 && r < 0x2900 }) {
			t.Error("a shape was written as text")
		}
		for _, want := range []string{"PostgreSQL", "checkpointer", "FELL", "base"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in the picture", want)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteSVGReportsErrors(t *testing.T) {
	if err := WriteSVG(full{}, "pgtlb", false); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}
