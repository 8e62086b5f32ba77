package guest

// Costs returns the module of most measurements. It imports, from env, raw and module, (i64 i64) -> (i64),
// typed, of the same type, mixed, (i32 i64 f64) -> (i64), extern, (externref) -> (externref), and func,
// (funcref) -> (funcref). The functions named after them call them as often as their first argument says.
func Costs() []byte {
	var m Module
	m.Import("env", "raw", "ll:l")
	m.Import("env", "module", "ll:l")
	m.Import("env", "typed", "ll:l")
	m.Import("env", "mixed", "ild:l")
	m.Import("env", "extern", "x:x")
	m.Import("env", "func", "r:r")
	m.Memory(1, 1)
	m.Func("add", "ll:l", "", "local.get 0 local.get 1 i64.add")
	m.Func("sameextern", "x:x", "", "local.get 0")
	m.Func("samefunc", "r:r", "", "local.get 0")
	m.Func("dropextern", "x:", "", "")
	m.Func("dropfunc", "r:", "", "")
	m.Func("callextern", "lx:x", "", countdown("local.get 1 call extern local.set 1")+"local.get 1")
	m.Func("callfunc", "lr:r", "", countdown("local.get 1 call func local.set 1")+"local.get 1")
	for _, name := range []string{"raw", "module", "typed"} {
		m.Func("call"+name, "l:l", "l", countdown("local.get 1 local.get 0 call "+name+" local.set 1")+"local.get 1")
	}
	m.Func("callmixed", "l:l", "l", countdown("i32.const 7 local.get 0 f64.const 1.5 call mixed local.set 1")+"local.get 1")
	m.Func("sum", "l:l", "l", countdown("local.get 1 local.get 0 i64.add i64.const 7 i64.rotl local.set 1")+"local.get 1")
	m.Func("spin", ":", "", "loop br 0 end")
	return m.Bytes()
}

// Small returns a module with little in it: a function, a page of memory, a global.
func Small() []byte {
	var m Module
	m.Memory(1, 16)
	m.Global(5)
	m.Data(8, []byte("some data"))
	m.Func("add", "ll:l", "", "local.get 0 local.get 1 i64.add")
	return m.Bytes()
}

// Growing returns a module whose memory, of one page, grow makes larger by as many pages as its argument says, one at a time;
// fill also writes to all of each new page.
func Growing() []byte {
	var m Module
	m.Memory(1, 1<<16)
	m.Func("grow", "l:", "", countdown("i32.const 1 memory.grow drop"))
	m.Func("fill", "l:", "", countdown("i32.const 1 memory.grow i32.const 16 i32.shl i32.const 7 i32.const 65536 memory.fill"))
	return m.Bytes()
}

// System returns a module that calls WASI: clock, args and write as often as their argument
// says.
func System() []byte {
	var m Module
	const wasi = "wasi_snapshot_preview1"
	m.Import(wasi, "clock_time_get", "ili:i")
	m.Import(wasi, "args_sizes_get", "ii:i")
	m.Import(wasi, "fd_write", "iiii:i")
	m.Memory(1, 16)
	m.Data(0, []byte{16, 0, 0, 0, 8, 0, 0, 0}) // an iovec of the 8 bytes at 16
	result := " i64.extend_i32_u local.get 1 i64.or local.set 1"
	m.Func("clock", "l:l", "l", countdown("i32.const 1 i64.const 0 i32.const 64 call clock_time_get"+result)+"local.get 1")
	m.Func("args", "l:l", "l", countdown("i32.const 64 i32.const 68 call args_sizes_get"+result)+"local.get 1")
	m.Func("write", "l:l", "l", countdown("i32.const 1 i32.const 0 i32.const 1 i32.const 64 call fd_write"+result)+"local.get 1")
	return m.Bytes()
}
