package probes

import (
	"math"
	"strconv"
)

// FormatBytes gives a size to a person, in the binary units PostgreSQL uses: "4.1 GB".
func FormatBytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) + " " + units[i]
}
