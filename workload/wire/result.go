package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// State is a SQLSTATE. The zero State is no error.
type State [5]byte

// String is the code's five characters, empty for no error.
func (s State) String() string {
	if s == (State{}) {
		return ""
	}
	return string(s[:])
}

// Result is what came before one ReadyForQuery.
type Result struct {
	// State is the SQLSTATE of the error, zero without one.
	State State
	// Status is the transaction status: 'I' idle, 'T' in a transaction, 'E' in a
	// transaction that has failed.
	Status byte
	// Commands counts the commands that completed, empty queries included.
	Commands int
	// Affected is the row count in the last command's tag, 0 for a tag without.
	Affected int64
	// Copied says that a command was COPY TO STDOUT, whose rows are not shown.
	Copied bool

	fields []byte // the body of the ErrorResponse
}

// Err returns the server's error, nil without one. It allocates.
func (r *Result) Err() *pgconn.PgError {
	if r.State == (State{}) {
		return nil
	}
	return parseError(r.fields)
}

func (r *Result) reset() {
	*r = Result{fields: r.fields[:0]}
}

// failed keeps an ErrorResponse.
func (r *Result) failed(body []byte) {
	r.fields = append(r.fields[:0], body...)
	r.State = State{'X', 'X', '0', '0', '0'} // internal_error, for a response without a code
	for t, v := range errorFields(body) {
		if t == 'C' && len(v) == len(r.State) {
			copy(r.State[:], v)
		}
	}
}

// completed keeps the row count of a CommandComplete: "INSERT 0 5", "SELECT 1".
func (r *Result) completed(tag []byte) {
	r.Commands++
	r.Affected = 0
	end := len(tag) - 1 // the tag ends with a NUL
	var n, unit int64 = 0, 1
	i := end - 1
	for ; i >= 0 && tag[i] >= '0' && tag[i] <= '9'; i-- {
		n += int64(tag[i]-'0') * unit
		unit *= 10
	}
	if i >= 0 && tag[i] == ' ' {
		r.Affected = n
	}
}

// errorFields goes through the fields of an ErrorResponse: a type and a string
// that ends with NUL each.
func errorFields(body []byte) func(yield func(byte, []byte) bool) {
	return func(yield func(byte, []byte) bool) {
		for len(body) > 1 && body[0] != 0 {
			end := bytes.IndexByte(body[1:], 0)
			if end < 0 || !yield(body[0], body[1:1+end]) {
				return
			}
			body = body[end+2:]
		}
	}
}

func parseError(body []byte) *pgconn.PgError {
	e := &pgconn.PgError{}
	number := func(v []byte) int32 {
		n, _ := strconv.ParseInt(string(v), 10, 32) // what is no number is not shown
		return int32(n)
	}
	for t, v := range errorFields(body) {
		switch t {
		case 'S':
			e.Severity = string(v)
		case 'V':
			e.SeverityUnlocalized = string(v)
		case 'C':
			e.Code = string(v)
		case 'M':
			e.Message = string(v)
		case 'D':
			e.Detail = string(v)
		case 'H':
			e.Hint = string(v)
		case 'P':
			e.Position = number(v)
		case 'W':
			e.Where = string(v)
		case 's':
			e.SchemaName = string(v)
		case 't':
			e.TableName = string(v)
		case 'c':
			e.ColumnName = string(v)
		case 'd':
			e.DataTypeName = string(v)
		case 'n':
			e.ConstraintName = string(v)
		}
	}
	return e
}

// LostError is a client's loss of its connection, which ends a run unless its task is a
// LossTask.
type LostError struct {
	Client, Clients int // the client, from 0, of how many
	// Said is what the server said before, nil if it said nothing.
	Said *pgconn.PgError
	// Cause is what the system call said: io.EOF or a system error.
	Cause error
}

func (e *LostError) Error() string {
	return clientName(e.Client, e.Clients) + " " + e.What()
}

// What is the error without the client's name: "lost its connection: FATAL: …".
func (e *LostError) What() string {
	if e.Said != nil {
		return "lost its connection: " + e.Said.Error()
	}
	return fmt.Sprintf("lost its connection without a word from the server: %v", e.Cause)
}

// Unwrap gives what the server said, as a *pgconn.PgError, and the cause.
func (e *LostError) Unwrap() []error {
	if e.Said == nil {
		return []error{e.Cause}
	}
	return []error{e.Said, e.Cause}
}
