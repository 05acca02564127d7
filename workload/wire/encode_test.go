package wire

// appendParam appends a text parameter.
func appendParam(b []byte, text string) []byte {
	b, mark := BeginParam(b)
	return EndParam(append(b, text...), mark)
}

// appendExecuteSync appends Describe, Execute and Sync.
func appendExecuteSync(b []byte) []byte { return append(b, execute+syncMessage...) }
