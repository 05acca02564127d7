package lab

import "testing"

// The library of an extension need not be called as its settings are: hnsw.ef_search is
// of vector.
func TestPreloads(t *testing.T) {
	for value, want := range map[string]bool{"": false, "vector": true, "pg_cron, pg_stat_statements": true, `""`: false} {
		l := layers{user: map[string]string{"shared_preload_libraries": value}}
		if got := l.preloads(); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
