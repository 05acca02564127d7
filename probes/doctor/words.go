package doctor

import (
	"fmt"

	"pgtlb/probes"
)

// memory writes an amount given in kB: "4.12 GB".
func memory(kB uint64) string { return probes.Memory(float64(kB)) }

// number writes a whole number with its thousands apart: "2,109".
func number(n int) string { return probes.Number(float64(n)) }

// number64 is number for 64 bits.
func number64(n int64) string { return probes.Number(float64(n)) }

// pages writes a number of huge pages: "2,109 pages of 2 MB (4.12 GB)".
func pages(n, pageKB int) string {
	return fmt.Sprintf("%s of %s (%s)", probes.Plural(n, "page"), memory(uint64(pageKB)), memory(kBOf(n, pageKB)))
}

// kBOf is the size of a number of pages in kB.
func kBOf(n, pageKB int) uint64 { return uint64(max(n, 0)) * uint64(max(pageKB, 0)) }

// pagesFor is how many pages hold a size: rounded up, never to the nearest.
func pagesFor(sizeKB uint64, pageKB int) int {
	if pageKB <= 0 {
		return 0
	}
	return int((sizeKB + uint64(pageKB) - 1) / uint64(pageKB))
}
