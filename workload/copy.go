package workload

import (
	"encoding/binary"
	"io"
	"strconv"
	"sync/atomic"
)

// Layout of the rows in PostgreSQL's binary COPY format: a column count, then
// each value after its length, all big endian
// (postgresql.org/docs/current/sql-copy.html, "Binary Format").
const (
	dataColumns = 10 // id and col1 to col9
	dataRow     = 2 + dataColumns*(4+8)
	// copyBlock rows are made at a time: about as many as pgconn asks for.
	copyBlock = 512
)

// copyHeader is the signature, no flags, no header extension.
var copyHeader = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// copyTrailer is a column count of -1.
var copyTrailer = []byte{0xff, 0xff}

// value returns column col (1 … 9) of row id: 63 random bits that depend on
// seed, id and column only.
func value(seed, id int64, col uint64) uint64 {
	return mix(rowBase(seed, id)+col*golden) >> 1
}

func rowBase(seed, id int64) uint64 { return mix(mix(uint64(seed)+golden) + uint64(id)*golden) }

// copySource is a reader over a binary COPY stream that fill makes block by
// block. It reuses one buffer.
type copySource struct {
	left    []byte // of what is made, what is not read yet
	fill    func() []byte
	trailed bool
}

func newCopySource(fill func() []byte) *copySource {
	return &copySource{left: copyHeader, fill: fill}
}

func (s *copySource) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.trailed {
			return 0, io.EOF
		}
		if s.left = s.fill(); len(s.left) == 0 {
			s.left, s.trailed = copyTrailer, true
		}
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// dataRows streams rows first to last (both included) of test_hp_table and
// adds to made what has been handed out.
func dataRows(seed, first, last int64, made *atomic.Int64) *copySource {
	block := make([]byte, copyBlock*dataRow)
	for off := 0; off < len(block); off += dataRow {
		binary.BigEndian.PutUint16(block[off:], dataColumns)
		for c := range dataColumns {
			binary.BigEndian.PutUint32(block[off+2+c*12:], 8)
		}
	}
	next := first
	return newCopySource(func() []byte {
		n := min(last-next+1, copyBlock)
		for i := range n {
			putRow(block[i*dataRow:(i+1)*dataRow], seed, next+i)
		}
		next += n
		made.Add(n)
		return block[:n*dataRow]
	})
}

// putRow writes the values into a row whose lengths are in place.
func putRow(row []byte, seed, id int64) {
	base := rowBase(seed, id)
	binary.BigEndian.PutUint64(row[6:], uint64(id))
	for c := uint64(1); c < dataColumns; c++ {
		binary.BigEndian.PutUint64(row[6+c*12:], mix(base+c*golden)>>1)
	}
}

// categoryRows streams all of test_hp_categories: a bigint and a text.
func categoryRows() *copySource {
	var block []byte
	next := int64(1)
	return newCopySource(func() []byte {
		block = block[:0]
		for end := min(next+copyBlock, Categories+1); next < end; next++ {
			block = binary.BigEndian.AppendUint16(block, 2)
			block = binary.BigEndian.AppendUint32(block, 8)
			block = binary.BigEndian.AppendUint64(block, uint64(next))
			var name [32]byte
			text := categoryName(name[:0], next)
			block = binary.BigEndian.AppendUint32(block, uint32(len(text)))
			block = append(block, text...)
		}
		return block
	})
}

func categoryName(buf []byte, id int64) []byte {
	return strconv.AppendInt(append(buf, "category "...), id, 10)
}
