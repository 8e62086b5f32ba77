package wat

import "github.com/waot-project/waot/internal/stop"

// smallTable is how many elements a table may have whose growth is left to append.
const smallTable = 4096

// grown returns s with room for n more elements if it is large, and polls while it is copied.
func grown[T any](f *stop.Flag, s []T, n int) []T {
	if n <= cap(s)-len(s) || len(s)+n <= smallTable {
		return s
	}
	return stop.Grow(f, s, n)
}

// appendOne is append of one element to a table that may become large.
func appendOne[T any](f *stop.Flag, s []T, x T) []T { return append(grown(f, s, 1), x) }

// appendAll is append of a table to another one, either of which may be large.
func appendAll[T any](f *stop.Flag, s, x []T) []T {
	if len(s)+len(x) <= smallTable {
		return append(s, x...)
	}
	return stop.AppendSlice(f, s, x)
}
