package probes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// AppName is the application_name of pgtlb's own watching sessions, by which
// they are recognised and left out of sums.
const AppName = "pgtlb"

// SetupName begins the application_name of pgtlb's sessions that set up, prewarm
// and look around.
const SetupName = AppName + " setup"

const (
	// statementTimeout bounds each of pgtlb's own statements on the server.
	statementTimeout = 3 * time.Second
	// oldestVersion is the first supported server version.
	oldestVersion = 130000
	// dialTimeout bounds a connection attempt where the configuration does not.
	dialTimeout = 5 * time.Second
	// closeTimeout bounds saying good-bye to the server.
	closeTimeout = time.Second
)

//go:embed sql/session.sql
var sessionSQL string

// Server is pgtlb's own watching session. It is read only, creates nothing and
// changes no setting of the server; its statements end after 3 s. A connection
// that was lost is made anew by the next use. It may be used by several
// goroutines; their uses take turns.
type Server struct {
	cfg   *pgx.ConnConfig
	roots Roots
	// turn holds one token: who has it owns the fields below.
	turn chan struct{}
	cur  *session // nil between losing a connection and making a new one
	gen  int      // counts connections, so that users notice a new server
	// raw asks the server not to convert text, after it could not.
	raw bool
	// state is what Contact tells, for others than who has the turn.
	state atomic.Pointer[Contact]
}

// Contact says how a Server stands with its server.
type Contact struct {
	// Connection counts connections: another number is another server process,
	// of which nothing is known yet.
	Connection int
	// Lost is when the connection was lost and could not be made anew; zero
	// while there is one.
	Lost time.Time
	Why  string
	// Answered is when the server answered last. Silent tells that it has let a
	// question since then wait for too long, which is not yet a loss.
	Answered time.Time
	Silent   bool
}

// Contact may be called at any time and does not wait.
func (s *Server) Contact() Contact { return *s.state.Load() }

// touch notes how a use of the server ended.
func (s *Server) touch(err error) {
	old := s.Contact()
	now := Contact{Connection: s.gen, Answered: time.Now()}
	switch {
	case tooSlow(err):
		now.Lost, now.Why, now.Answered, now.Silent = old.Lost, old.Why, old.Answered, old.Lost.IsZero()
	case s.cur == nil && err != nil:
		now.Answered = old.Answered
		now.Lost, now.Why = old.Lost, Clean(err.Error())
		if now.Lost.IsZero() {
			now.Lost = time.Now()
		}
	}
	s.state.Store(&now)
}

// tooSlow tells whether only time ran out: of a busy server nothing else is known.
func tooSlow(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// session is one connection and what the server says about it.
type session struct {
	conn    *pgx.Conn
	gen     int
	pid     int // of the backend, as the server sees it
	version int
	started time.Time
	// querySize is track_activity_query_size in bytes.
	querySize int
	// client is the other end as the title of the backend shows it: "[local]"
	// or "127.0.0.1(54321)".
	client string
}

// Connect opens the watching session. The configuration is not changed. The
// server's processes are looked for below the roots.
func Connect(ctx context.Context, cfg *pgx.ConnConfig, roots Roots) (*Server, error) {
	s := &Server{cfg: cfg.Copy(), roots: roots, turn: make(chan struct{}, 1)}
	if s.cfg.ConnectTimeout == 0 {
		s.cfg.ConnectTimeout = dialTimeout
	}
	s.state.Store(&Contact{})
	err := s.use(ctx, func(*session) error { return nil })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the session, at most a second after ctx lets it begin. A use that
// is under way ends first.
func (s *Server) Close(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return s.hangUp(context.WithoutCancel(ctx))
	case <-ctx.Done():
		return fmt.Errorf("closing the connection to the server: %w", ctx.Err())
	}
}

// hangUp closes the connection. The caller has the turn.
func (s *Server) hangUp(ctx context.Context) error {
	if s.cur == nil {
		return nil
	}
	conn := s.cur.conn
	s.cur = nil
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		return fmt.Errorf("closing the connection to the server: %w", err)
	}
	return nil
}

// use calls do with the session, connecting first where there is no connection.
func (s *Server) use(ctx context.Context, do func(*session) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the connection to the server: %w", ctx.Err())
	}
	if s.cur == nil {
		cur, err := s.dial(ctx)
		if err != nil {
			s.touch(err)
			return err
		}
		s.cur = cur
	}
	err := do(s.cur)
	defer func() { s.touch(err) }()
	if badText(err) && !s.raw {
		// Text in another encoding than the database's: ask for the bytes.
		s.raw = true
		return errors.Join(&serverError{err}, s.hangUp(ctx))
	}
	if s.cur.conn.IsClosed() {
		s.cur = nil
	}
	if err != nil {
		return &serverError{err}
	}
	return nil
}

// serverError carries the server's words in one line, without control characters.
type serverError struct{ err error }

// Error names each failed attempt once: pgx tries an address again without TLS.
func (e *serverError) Error() string {
	if tooSlow(e.err) {
		return "the server did not answer in time"
	}
	var lines []string
	for line := range strings.Lines(e.err.Error()) {
		line = strings.TrimSpace(Clean(line))
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 1 && strings.HasSuffix(lines[0], ":") {
		return lines[0] + " " + strings.Join(lines[1:], "; ")
	}
	return strings.Join(lines, "; ")
}

func (e *serverError) Unwrap() error { return e.err }

// badText tells whether the server could not convert its own text to UTF-8:
// character_not_in_repertoire or untranslatable_character.
func badText(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "22021" || pg.Code == "22P05")
}

func (s *Server) dial(ctx context.Context) (*session, error) {
	cfg := s.cfg.Copy()
	// Values for this session only, sent with the connection request.
	cfg.RuntimeParams["application_name"] = AppName
	cfg.RuntimeParams["statement_timeout"] = fmt.Sprint(statementTimeout.Milliseconds())
	cfg.RuntimeParams["default_transaction_read_only"] = "on"
	if s.raw {
		cfg.RuntimeParams["client_encoding"] = "SQL_ASCII"
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, &serverError{err} // it says where to, and never the password
	}
	s.gen++
	cur := &session{conn: conn, gen: s.gen}
	if err := cur.identify(ctx); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return cur, nil
}

// identify asks the server which of its processes serves this connection.
func (c *session) identify(ctx context.Context) error {
	var addr string
	var port int
	err := c.conn.QueryRow(ctx, sessionSQL).Scan(&c.pid, &c.version, &c.started, &c.querySize, &addr, &port)
	if err != nil {
		return fmt.Errorf("asking the server who we are: %w", &serverError{err})
	}
	if c.version < oldestVersion {
		return fmt.Errorf("the server has version %d.%d, pgtlb needs PostgreSQL 13 or newer", c.version/10000, c.version%10000)
	}
	c.client = "[local]"
	if addr != "" {
		c.client = fmt.Sprintf("%s(%d)", addr, port)
	}
	return nil
}

// unixConn is the connection's Unix socket, nil when it has none.
func (c *session) unixConn() *net.UnixConn {
	u, _ := c.conn.PgConn().Conn().(*net.UnixConn)
	return u
}

// where names the server for people.
func (c *session) where() string {
	cfg := c.conn.Config()
	remote := c.conn.PgConn().Conn().RemoteAddr().String()
	if c.unixConn() != nil {
		if dir, port, ok := strings.Cut(remote, "/.s.PGSQL."); ok {
			return Clean("socket " + dir + ":" + port)
		}
		return Clean("socket " + remote)
	}
	for _, f := range cfg.Fallbacks {
		if f.Host != cfg.Host || f.Port != cfg.Port {
			return Clean(remote) // one of several hosts: say which
		}
	}
	return Clean(net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)))
}
