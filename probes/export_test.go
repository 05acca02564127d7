package probes

import "context"

// Exec runs a statement in the watching session, for tests of what it may do.
func (s *Server) Exec(ctx context.Context, sql string) (string, error) {
	var out string
	err := s.use(ctx, func(c *session) error {
		return c.conn.QueryRow(ctx, sql).Scan(&out)
	})
	return out, err
}
