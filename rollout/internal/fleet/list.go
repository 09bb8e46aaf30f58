package fleet

import "slices"

// chunk is how many records of a list are copied together, if one of them changes. Small chunks copy less beside what has
// changed; large ones have fewer headers, which every changed list copies.
const (
	chunkBits = 4
	chunk     = 1 << chunkBits
)

// List is a list of records that is never written. A changed one shares with it the chunks in which nothing has changed.
type List[T any] struct {
	chunks [][]T // all but the last have chunk elements
	length int
	// isOneArray reports whether the chunks are parts of one array. A part would keep all of the array alive, and with it the
	// objects of other parts, so that a changed list takes none over.
	isOneArray bool
}

// listOf returns the list of the records, which belong to it from now on.
func listOf[T any](records []T) edited[T] {
	chunks := (len(records) + chunk - 1) / chunk
	l := List[T]{chunks: make([][]T, 0, chunks), length: len(records), isOneArray: true}
	for len(records) > 0 {
		n := min(chunk, len(records))
		l.chunks = append(l.chunks, records[:n:n])
		records = records[n:]
	}
	e := edited[T]{List: l, own: NewOrdinals(chunks)}
	for i := range e.own {
		e.own[i] = ^uint64(0)
	}
	return e
}

// Len returns how many records there are.
func (l *List[T]) Len() int { return l.length }

// At returns the record at a place, which the caller must not write.
func (l *List[T]) At(i int32) *T { return &l.chunks[i>>chunkBits][i&(chunk-1)] }

// edited is a list that is being changed, before anybody else sees it.
type edited[T any] struct {
	List[T]
	own Ordinals // the chunks that may be written
}

func (l *List[T]) edit() edited[T] {
	e := edited[T]{List: List[T]{chunks: slices.Clone(l.chunks), length: l.length}, own: NewOrdinals(len(l.chunks) + 1)}
	if l.isOneArray {
		for c := range e.chunks {
			e.copyChunk(int32(c))
		}
	}
	return e
}

func (e *edited[T]) copyChunk(c int32) {
	if e.own.Has(c) {
		return
	}
	e.own.Add(c)
	e.chunks[c] = append(make([]T, 0, chunk), e.chunks[c]...)
}

// write returns the record at a place, to be written.
func (e *edited[T]) write(i int32) *T {
	e.copyChunk(i >> chunkBits)
	return e.At(i)
}

// add appends a record.
func (e *edited[T]) add(record T) {
	c := int32(e.length >> chunkBits)
	if int(c) == len(e.chunks) {
		e.chunks = append(e.chunks, make([]T, 0, chunk))
		for int(c)/64 >= len(e.own) {
			e.own = append(e.own, 0)
		}
		e.own.Add(c)
	}
	e.copyChunk(c)
	e.chunks[c] = append(e.chunks[c], record)
	e.length++
}
