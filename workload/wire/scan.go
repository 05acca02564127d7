package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// class is what a scanner does with a message.
type class uint8

const (
	unknown class = iota // is no message of a server
	skip
	keep    // is handed over
	keepRow // is handed over if rows are asked for
)

// classes by type. What a run can meet but not go on with is kept, for the
// handler to say so.
var classes = [256]class{
	'1': skip, // ParseComplete
	'2': skip, // BindComplete
	'3': skip, // CloseComplete
	'A': skip, // NotificationResponse
	'C': keep, // CommandComplete
	'D': keepRow,
	'E': keep, // ErrorResponse
	'G': keep, // CopyInResponse
	'H': keep, // CopyOutResponse
	'I': keep, // EmptyQueryResponse
	'K': skip, // BackendKeyData
	'N': keep, // NoticeResponse
	'S': skip, // ParameterStatus
	'T': keepRow,
	'W': keep, // CopyBothResponse
	'Z': keep, // ReadyForQuery
	'c': skip, // CopyDone
	'd': skip, // CopyData
	'n': skip, // NoData
	's': skip, // PortalSuspended
	't': skip, // ParameterDescription
}

const (
	header = 5 // type and length
	// longest is the longest message a server can send: its buffers end at 1 GB.
	longest = 1<<30 + header
)

// scanner cuts a stream that comes in pieces into messages. It copies only a
// message that is handed over and does not lie in one piece.
type scanner struct {
	rows bool // RowDescription and DataRow are asked for
	skip int  // bytes of the present message still to be passed over
	part []byte
	need int // bytes that part must have; meaningful if part is not empty
}

// reset forgets an unfinished stream.
func (s *scanner) reset() { s.skip, s.part = 0, s.part[:0] }

// handler takes the messages that a scanner hands over. body is valid during
// the call only.
type handler interface {
	message(typ byte, body []byte) error
}

// feed takes the next piece of the stream. After an error, which is the
// handler's or says what cannot be a message, the scanner is of no use any more.
func (s *scanner) feed(b []byte, to handler) error {
	if s.skip > 0 {
		n := min(s.skip, len(b))
		s.skip -= n
		b = b[n:]
	}
	if len(s.part) > 0 {
		var err error
		if b, err = s.complete(b, to); err != nil {
			return err
		}
	}
	for len(b) >= header {
		class, total, err := s.measure(b)
		if err != nil {
			return err
		}
		switch {
		case total > len(b) && class == skip:
			s.skip = total - len(b)
			return nil
		case total > len(b):
			s.part, s.need = append(s.part, b...), total
			return nil
		case class == keep:
			if err := to.message(b[0], b[header:total]); err != nil {
				return err
			}
		}
		b = b[total:]
	}
	if len(b) > 0 {
		s.part, s.need = append(s.part, b...), header
	}
	return nil
}

// complete adds what part needs from b, and returns the rest of b.
func (s *scanner) complete(b []byte, to handler) ([]byte, error) {
	for len(b) > 0 {
		n := min(s.need-len(s.part), len(b))
		s.part = append(s.part, b[:n]...)
		b = b[n:]
		if len(s.part) < s.need {
			return nil, nil
		}
		class, total, err := s.measure(s.part)
		switch {
		case err != nil:
			return nil, err
		case class == skip:
			left := total - len(s.part)
			n := min(left, len(b))
			s.skip = left - n
			s.part = s.part[:0]
			return b[n:], nil
		case len(s.part) == total:
			err := to.message(s.part[0], s.part[header:])
			s.part = s.part[:0]
			return b, err
		}
		s.need = total
	}
	return nil, nil
}

// measure returns the class and the length, header included, of the message that
// begins at b.
func (s *scanner) measure(b []byte) (class, int, error) {
	class := classes[b[0]]
	n := binary.BigEndian.Uint32(b[1:])
	if class == unknown || n < 4 || n > math.MaxInt32 || int64(n) > longest {
		return 0, 0, fmt.Errorf("the server sent what is no message: type %q, length %d", b[0], n)
	}
	if class == keepRow {
		class = skip
		if s.rows {
			class = keep
		}
	}
	return class, int(n) + 1, nil
}
