//go:build linux

package wasi

// Types returns the types of the parameters and results of f as an engine has them, from its i32 and i64; none if f is nil.
func Types[T any](f *Func, i32, i64 T) (params, results []T) {
	if f == nil {
		return nil, nil
	}
	types := func(letters string) []T {
		out := make([]T, len(letters))
		for n, c := range letters {
			out[n] = i32
			if c == 'l' {
				out[n] = i64
			}
		}
		return out
	}
	return types(f.Params), types(f.Results)
}
