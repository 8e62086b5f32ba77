package stop

import "unsafe"

// piece is how many bytes are copied or cleared between two polls: less than a millisecond.
const piece = 1 << 20

// Append is append of one element, for tables that may become large: when the table has to grow it is copied with
// polls between.
func Append[T any](f *Flag, s []T, x T) []T {
	if len(s) == cap(s) { // Room, by which it would not be inlined
		s = Grow(f, s, 1)
	}
	return append(s, x)
}

// Room returns s with room for one more element, for append(Room(f, s), x). It is Append for elements of more than a
// few words, which as an argument would be copied once more.
func Room[T any](f *Flag, s []T) []T {
	if len(s) == cap(s) {
		s = Grow(f, s, 1)
	}
	return s
}

// Grow returns s with room for n more elements, and polls before it makes a table, which may have to be cleared, and while it copies more than a piece.
func Grow[T any](f *Flag, s []T, n int) []T {
	if n <= cap(s)-len(s) {
		return s
	}
	f.Poll()
	t := make([]T, len(s), capacity(s, len(s)+n))
	step := elements[T]()
	for i := copy(t, s[:min(step, len(s))]); i < len(s); {
		f.Poll()
		i += copy(t[i:], s[i:min(i+step, len(s))])
	}
	return t
}

// AppendSlice is append of all of x. It polls between pieces.
func AppendSlice[T any](f *Flag, s, x []T) []T {
	s = Grow(f, s, len(x))
	for step := elements[T](); len(x) > step; x = x[step:] {
		f.Poll()
		s = append(s, x[:step]...)
	}
	return append(s, x...)
}

// Resize returns s with length n. What is in it is not said. It polls.
func Resize[T any](f *Flag, s []T, n int) []T {
	f.Poll()
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, capacity(s, n))
}

// Zeroed returns s with length n, all of it zero. It polls.
func Zeroed[T any](f *Flag, s []T, n int) []T {
	f.Poll()
	if n > cap(s) {
		return make([]T, n, capacity(s, n))
	}
	s = s[:n]
	step := elements[T]()
	for i := 0; i < n; i += step {
		f.Poll()
		clear(s[i:min(i+step, n)])
	}
	return s
}

// Sizes of tables in bytes: the least, the least of one that has grown, and that up to which tables grow fourfold.
const firstBytes, grownBytes, smallBytes = 1 << 10, 36 << 10, 1 << 18

// capacity returns how large a table is made in place of s, to hold n elements. Tables grow at least twofold, small ones fourfold, so that all
// that come before the last take less than it does. They are used from function to function, so few collections find them as garbage. Room that is
// never used takes no memory: what make gets from the system is zero already, and becomes a page when it is touched. That is so from 32 KiB on, so
// a table that outgrows its first size, which is for the functions of tiny modules, gets more than that.
func capacity[T any](s []T, n int) int {
	old, unit := cap(s), piece/elements[T]()
	least := firstBytes / unit
	if old > 0 || n > least {
		least = grownBytes / unit
	}
	if old*unit < smallBytes {
		old *= 2
	}
	return max(n, 2*old, least)
}

// elements returns how many elements make a piece.
func elements[T any]() int {
	var x T
	return piece / int(max(1, unsafe.Sizeof(x)))
}
