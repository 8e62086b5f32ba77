//go:build linux

package wasi

import "github.com/waot-project/waot/internal/abi"

// Types returns the types of the parameters and results of f as an engine has them, from its i32 and i64; none if f is nil.
func Types[T any](f *Func, i32, i64 T) (params, results []T) {
	if f == nil {
		return nil, nil
	}
	types := func(letters string) []T {
		out := make([]T, len(letters))
		for n, c := range letters {
			switch abi.ValTypeByLetter(byte(c)) {
			case abi.I32:
				out[n] = i32
			case abi.I64:
				out[n] = i64
			default:
				panic("a function of WASI has only types i32 and i64")
			}
		}
		return out
	}
	return types(f.Params), types(f.Results)
}
