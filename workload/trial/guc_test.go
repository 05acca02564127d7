package trial

import (
	"strings"
	"testing"
)

func TestSettingsByMeaning(t *testing.T) {
	buffers := guc{Name: "shared_buffers", Type: "integer", Unit: "8kB", Min: "16", Max: "1073741823"}
	timeout := guc{Name: "checkpoint_timeout", Type: "integer", Unit: "s", Min: "30", Max: "86400"}
	cost := guc{Name: "random_page_cost", Type: "real", Min: "0", Max: "1.79769e+308"}
	commit := guc{Name: "synchronous_commit", Type: "enum", Choices: []string{"local", "remote_write", "remote_apply", "on", "off"}}
	jit := guc{Name: "jit", Type: "bool"}
	path := guc{Name: "search_path", Type: "string"}
	for _, c := range []struct {
		g    *guc
		a, b string
		same bool
	}{
		{&buffers, "128MB", "16384", true}, {&buffers, "131072kB", " 128 MB ", true}, {&buffers, "128MB", "129MB", false},
		{&buffers, "0.125GB", "128MB", true}, {&timeout, "5min", "300", true}, {&timeout, "300000ms", "5min", true},
		{&cost, "1.0", "1", true}, {&cost, "1.1", "1", false}, {&commit, "TRUE", "on", true}, {&commit, "Local", "local", true},
		{&commit, "on", "off", false}, {&jit, "y", "1", true}, {&jit, "of", "off", true}, {&path, "a, b", "a, b", true}, {&path, "a", "A", false},
	} {
		if got := c.g.same(c.a, c.b); got != c.same {
			t.Errorf("%s: %q and %q: same is %v", c.g.Name, c.a, c.b, got)
		}
	}
	for _, c := range []struct {
		g           *guc
		value, says string
	}{
		{&buffers, "1", "between 16 and 1073741823, in units of 8kB"}, {&buffers, "many", "not a number"}, {&buffers, "5min", "none of its units, B, kB"},
		{&timeout, "5MB", "none of its units, us, ms"}, {&cost, "1kB", "without a unit"}, {&commit, "sometimes", "one of local, remote_write"},
		{&jit, "o", "on or off"}, {&cost, "NaN", "not a number"}, {&cost, "", "not a number"},
	} {
		if v, err := c.g.normal(c.value); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.g.Name) {
			t.Errorf("%s = %q: %q %v", c.g.Name, c.value, v, err)
		}
	}
}
