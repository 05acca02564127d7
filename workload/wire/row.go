package wire

import (
	"bytes"
	"encoding/binary"
)

// Columns is a RowDescription.
type Columns []byte

// fixed is what follows each column's name: table, attribute, type, size, modifier, format.
const fixed = 4 + 2 + 4 + 2 + 4 + 2

// Len is the number of columns.
func (c Columns) Len() int { return fieldCount(c) }

// Name returns the name of column i, from 0; ok is false if there is none.
func (c Columns) Name(i int) (name []byte, ok bool) {
	if i < 0 || i >= c.Len() {
		return nil, false
	}
	b := []byte(c[2:])
	for {
		end := bytes.IndexByte(b, 0)
		if end < 0 || len(b) < end+1+fixed {
			return nil, false
		}
		if i == 0 {
			return b[:end], true
		}
		b = b[end+1+fixed:]
		i--
	}
}

// Row is a DataRow, in text format.
type Row []byte

// Len is the number of columns.
func (r Row) Len() int { return fieldCount(r) }

// Value returns the value of column i, from 0, nil for NULL; ok is false if
// there is no such column.
func (r Row) Value(i int) (value []byte, ok bool) {
	if i < 0 || i >= r.Len() {
		return nil, false
	}
	b := []byte(r[2:])
	for {
		if len(b) < 4 {
			return nil, false
		}
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		if i == 0 && n < 0 {
			return nil, true
		}
		n = max(n, 0)
		if n > len(b) {
			return nil, false
		}
		if i == 0 {
			return b[:n:n], true
		}
		b = b[n:]
		i--
	}
}

func fieldCount(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	return int(binary.BigEndian.Uint16(b))
}
