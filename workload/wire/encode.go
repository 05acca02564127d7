package wire

import "encoding/binary"

// The Append functions add one message of the frontend/backend protocol 3 to b.
// Names, queries and text parameters must not contain NUL.

// begin appends a message's type and room for its length, which end fills in.
func begin(b []byte, typ byte) ([]byte, int) {
	b = append(b, typ, 0, 0, 0, 0)
	return b, len(b) - 4
}

// end writes the length of what follows at, the four bytes of the length included.
func end(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func appendString(b []byte, s string) []byte { return append(append(b, s...), 0) }

// AppendQuery appends a simple query.
func AppendQuery(b []byte, sql string) []byte {
	b, at := begin(b, 'Q')
	return end(appendString(b, sql), at)
}

// BeginQuery begins a simple query whose text the caller appends; EndQuery, with
// the mark that it returns, ends it.
func BeginQuery(b []byte) ([]byte, int) { return begin(b, 'Q') }

// EndQuery ends what BeginQuery began.
func EndQuery(b []byte, mark int) []byte { return end(append(b, 0), mark) }

// AppendParse appends a Parse of a statement, with the name "" for the unnamed one, all
// parameter types left to the server.
func AppendParse(b []byte, name, sql string) []byte {
	b, at := begin(b, 'P')
	b = appendString(b, name)
	b = appendString(b, sql)
	return end(append(b, 0, 0), at)
}

// BeginBind begins a Bind of a statement with that many parameters to the unnamed
// portal. Then each parameter is added, by AppendNull or BeginParam and EndParam,
// and EndBind ends it.
func BeginBind(b []byte, statement string, params int) ([]byte, int) {
	b, at := begin(b, 'B')
	b = append(b, 0) // the unnamed portal
	b = appendString(b, statement)
	b = append(b, 0, 0) // parameters are text
	return binary.BigEndian.AppendUint16(b, uint16(params)), at
}

// BeginParam begins a parameter whose text the caller appends; EndParam, with the
// mark that it returns, ends it.
func BeginParam(b []byte) ([]byte, int) {
	b = append(b, 0, 0, 0, 0)
	return b, len(b)
}

// EndParam ends what BeginParam began.
func EndParam(b []byte, mark int) []byte {
	binary.BigEndian.PutUint32(b[mark-4:], uint32(len(b)-mark))
	return b
}

// AppendNull appends a parameter that is NULL.
func AppendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

// EndBind ends a Bind whose results are to be text.
func EndBind(b []byte, mark int) []byte { return end(append(b, 0, 1, 0, 0), mark) }

// execute is Describe and Execute of the unnamed portal, all rows.
const execute = "D\x00\x00\x00\x06P\x00" + "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"

// syncMessage is the message that ends a request of the extended protocol.
const syncMessage = "S\x00\x00\x00\x04"

// AppendExecute appends Describe and Execute of the unnamed portal, which is what
// libpq sends after each Bind.
func AppendExecute(b []byte) []byte { return append(b, execute...) }

// AppendSync appends a Sync.
func AppendSync(b []byte) []byte { return append(b, syncMessage...) }
