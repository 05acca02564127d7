package probes

import "context"

// ServerExam is what a server says about its settings and itself beyond
// ServerInfo, for the doctor. Secrets are left out.
type ServerExam struct{}

// Exam asks the server.
func (s *Server) Exam(ctx context.Context) (ServerExam, error) { return ServerExam{}, nil }
