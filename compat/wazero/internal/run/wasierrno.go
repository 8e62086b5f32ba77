package run

import (
	"github.com/waot-project/waot/wasi"
)

// wasiCall is a function of WASI as package wasi has it.
type wasiCall func(c *wasi.Context, mem []byte, params []uint64) (uint32, error)

// answers returns the function with the answers that programs of this API know. Package wasi follows WASI's test suite, and differs where that says
// nothing.
func answers(w *wasi.Func, all map[string]*wasi.Func) wasiCall {
	switch w.Name {
	case "fd_fdstat_set_rights", "proc_raise":
		return func(*wasi.Context, []byte, []uint64) (uint32, error) { return uint32(wasi.ErrnoNoSys), nil }
	case "fd_fdstat_get":
		return streamStat(w.Call)
	case "fd_advise":
		return adviseDirectories(w.Call, all["fd_fdstat_get"].Call)
	case "fd_readdir":
		return replaceErrno(w.Call, wasi.ErrnoNotdir, wasi.ErrnoBadf)
	case "fd_prestat_dir_name":
		return cutNames(w.Call, all["fd_prestat_get"].Call)
	case "poll_oneoff":
		return anyClock(w.Call)
	case "path_open":
		return open(w.Call, all["fd_filestat_get"].Call)
	}
	return w.Call
}

// replaceErrno answers one error by another.
func replaceErrno(call wasiCall, from, to wasi.Errno) wasiCall {
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		errno, err := call(c, mem, params)
		if wasi.Errno(errno) == from {
			errno = uint32(to)
		}
		return errno, err
	}
}

// adviseDirectories accepts advice about directories, which has no effect.
func adviseDirectories(call, stat wasiCall) wasiCall {
	const lastAdvice, statSize, directory = 5, 24, 3
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		errno, err := call(c, mem, params)
		var b [statSize]byte
		if wasi.Errno(errno) != wasi.ErrnoBadf {
			return errno, err
		}
		if e, _ := stat(c, b[:], []uint64{params[0], 0}); e != 0 || b[0] != directory {
			return errno, err
		}
		if uint32(params[3]) > lastAdvice {
			return uint32(wasi.ErrnoInval), nil
		}
		return uint32(wasi.ErrnoSuccess), nil
	}
}

// cutNames cuts the name of a directory that is longer than the room for it.
func cutNames(call, stat wasiCall) wasiCall {
	const statSize = 8
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		errno, err := call(c, mem, params)
		var b [statSize]byte
		if wasi.Errno(errno) != wasi.ErrnoNameTooLong {
			return errno, err
		}
		if e, _ := stat(c, b[:], []uint64{params[0], 0}); e != 0 {
			return errno, err
		}
		n := le.Uint32(b[4:])
		at, room := uint64(uint32(params[1])), uint64(uint32(params[2]))
		if room > uint64(n) {
			return errno, err
		}
		if at+room > uint64(len(mem)) {
			return uint32(wasi.ErrnoFault), nil
		}
		name := make([]byte, n)
		if e, err := call(c, name, []uint64{params[0], 0, uint64(n)}); e != 0 || err != nil {
			return e, err
		}
		copy(mem[at:at+room], name)
		return uint32(wasi.ErrnoSuccess), nil
	}
}

// open takes no rights for the wish to have none: the file can be read then, and written if it is made, cut or appended to. Files of an io/fs.FS are opened only to be read, also
// for programs that may want to write.
func open(call, stat wasiCall) wasiCall {
	const (
		statSize, ofFS      = 64, 1 << 63 // in the number of the device, which is first
		oflags, changes     = 4, 1 | 8
		rights, read, write = 5, 1 << 1, 1 << 6
		fdflags, appends    = 7, 1
	)
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		if params[rights]&(read|write) == 0 {
			params[rights] |= read
			if params[oflags]&changes != 0 || params[fdflags]&appends != 0 {
				params[rights] |= write
			}
		}
		errno, err := call(c, mem, params)
		var b [statSize]byte
		if wasi.Errno(errno) != wasi.ErrnoRofs || params[oflags]&changes != 0 {
			return errno, err
		}
		if e, _ := stat(c, b[:], []uint64{params[0], 0}); e != 0 || le.Uint64(b[:])&ofFS == 0 {
			return errno, err
		}
		params[rights] &^= write
		return call(c, mem, params)
	}
}

// anyClock waits for a time from now on by any clock, also one that does not exist: they all advance alike.
func anyClock(call wasiCall) wasiCall {
	const (
		size, eventSize, most  = 48, 32, 1 << 16 // of subscriptions and events
		kind, id, flags        = 8, 16, 40
		clock, monotonic, last = 0, 1, 1
	)
	unknown := func(s []byte) bool { return s[kind] == clock && le.Uint32(s[id:]) > last && le.Uint16(s[flags:]) == 0 }
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		in, out, n, count := uint64(uint32(params[0])), uint64(uint32(params[1])), uint64(uint32(params[2])), uint64(uint32(params[3]))
		if n > most || max(in+n*size, out+n*eventSize, count+4) > uint64(len(mem)) {
			return call(c, mem, params)
		}
		var own []byte // subscriptions with other clocks, then room for events and their number
		for at := uint64(0); at < n*size; at += size {
			if unknown(mem[in+at:]) {
				if own == nil {
					own = make([]byte, n*(size+eventSize)+4)
					copy(own, mem[in:in+n*size])
				}
				le.PutUint32(own[at+id:], monotonic)
			}
		}
		if own == nil {
			return call(c, mem, params)
		}
		events, end := n*size, n*(size+eventSize)
		errno, err := call(c, own, []uint64{0, events, n, end})
		if errno == uint32(wasi.ErrnoSuccess) && err == nil {
			happened := uint64(le.Uint32(own[end:]))
			copy(mem[out:], own[events:events+happened*eventSize])
			copy(mem[count:], own[end:])
		}
		return errno, err
	}
}

// streamStat says of the standard streams that they append and, but for terminals, that everything may be done with them that can be done with files.
func streamStat(call wasiCall) wasiCall {
	const (
		lastStream            = 2
		flags, appends        = 2, 1
		terminal              = 2
		rights, rightsOfFiles = 8, 1<<9 - 1 | 7<<21 | 1<<27
	)
	return func(c *wasi.Context, mem []byte, params []uint64) (uint32, error) {
		errno, err := call(c, mem, params)
		if errno == uint32(wasi.ErrnoSuccess) && uint32(params[0]) <= lastStream {
			b := mem[uint32(params[1]):]
			b[flags] |= appends
			if b[0] != terminal {
				le.PutUint64(b[rights:], rightsOfFiles)
			}
		}
		return errno, err
	}
}
