package guest

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// Number of values the loops keep alive: more than there are registers, so that all
// of them are in use.
const (
	liveInts    = 15
	liveFloats  = 17
	liveVectors = 34
	liveCalls   = 8
)

// Layout of the memory and table of Work.
const (
	workPages   = 16
	fillFrom    = 65536
	fillBytes   = 300_000
	workEntries = 10_000
)

// Work returns the module of the stress test. It imports env.h and env.hook, both (i64) -> (i64), and
// env.make, (i64) -> (externref), and env.check, (externref i64) -> ().
func Work() []byte {
	var m Module
	m.Import("env", "h", "l:l")
	m.Import("env", "hook", "l:l")
	m.Import("env", "make", "l:x")
	m.Import("env", "check", "xl:")
	m.Memory(workPages, workPages+4)
	m.Table(workEntries)
	m.Global(0)
	m.compute()
	m.memories()
	m.calls()
	m.endless()
	m.traps()
	m.Elem(1, "count", "fib", "add")
	return m.Bytes()
}

// countdown wraps the body of a loop that runs local 0 times.
func countdown(body string) string {
	return "loop " + body + " local.get 0 i64.const 1 i64.sub local.tee 0 i64.const 0 i64.ne br_if 0 end "
}

const (
	mulK = 6364136223846793005
	addK = 1442695040888963407
)

func (m *Module) compute() {
	var init, body, end strings.Builder
	for i := range liveInts {
		fmt.Fprintf(&init, "local.get 1 i64.const %d i64.mul i64.const %d i64.add local.set %d ", 2*i+1, i, 2+i)
		fmt.Fprintf(&body, "local.get %d local.get %d i64.add i64.const %d i64.rotl i64.const %d i64.xor local.set %d ",
			2+i, 2+(i+1)%liveInts, 1+i*7%63, 1000*i, 2+i)
		fmt.Fprintf(&end, "local.get %d i64.xor i64.const 3 i64.rotl ", 2+i)
	}
	m.Func("ints", "ll:l", strings.Repeat("l", liveInts), init.String()+countdown(body.String())+"i64.const 0 "+end.String())

	init.Reset()
	body.Reset()
	end.Reset()
	for i := range liveFloats {
		fmt.Fprintf(&init, "local.get 1 f64.convert_i64_u f64.const %d f64.div local.set %d ", i+3, 2+i)
		fmt.Fprintf(&body, "local.get %d f64.const 0.5 f64.mul local.get %d f64.const 0.375 f64.mul f64.add f64.const %d f64.sub local.set %d ",
			2+i, 2+(i+1)%liveFloats, i, 2+i)
		fmt.Fprintf(&end, "local.get %d i64.reinterpret_f64 i64.xor i64.const 3 i64.rotl ", 2+i)
	}
	m.Func("floats", "ll:l", strings.Repeat("d", liveFloats), init.String()+countdown(body.String())+"i64.const 0 "+end.String())

	init.Reset()
	body.Reset()
	end.Reset()
	for i := range liveVectors {
		next := 2 + (i+1)%liveVectors
		fmt.Fprintf(&init, "local.get 1 i64.const %d i64.mul i64x2.splat local.get 1 i64.const %d i64.add i64x2.replace_lane 1 local.set %d ", 2*i+1, i, 2+i)
		fmt.Fprintf(&body, "local.get %d local.get %d i64x2.add local.get %d i32.const %d i64x2.shr_u v128.xor local.set %d ", 2+i, next, next, 1+i*7%63, 2+i)
		fmt.Fprintf(&end, "local.get %[1]d i64x2.extract_lane 0 i64.xor i64.const 3 i64.rotl local.get %[1]d i64x2.extract_lane 1 i64.xor i64.const 3 i64.rotl ", 2+i)
	}
	m.Func("vectors", "ll:l", strings.Repeat("v", liveVectors), init.String()+countdown(body.String())+"i64.const 0 "+end.String())

	// Locals: 2 a random number, 3 the larger ones, 4 counts, 5 and 6 a sum of 128 bits.
	m.Func("flags", "ll:l", "lllll", countdown(fmt.Sprintf(`
		local.get 1 local.get 2 i64.add i64.const %d i64.mul i64.const %d i64.add local.set 2
		local.get 4 local.get 2 local.get 3 i64.lt_u i64.extend_i32_u i64.add local.set 4
		local.get 2 local.get 3 local.get 2 local.get 3 i64.gt_s select local.set 3
		local.get 5 local.get 2 i64.add local.tee 5 local.get 2 i64.lt_u
		if local.get 6 i64.const 1 i64.add local.set 6 end
		local.get 2 i64.const 48 i64.shr_u i64.const 7 i64.and i64.eqz
		if local.get 3 i64.const 1 i64.shr_u local.set 3 end`, int64(mulK), int64(addK)))+
		"local.get 3 local.get 4 i64.const 7 i64.rotl i64.xor local.get 5 i64.add local.get 6 i64.const 50 i64.shl i64.xor")
}

// Ints, Floats, Vectors and Flags are what the functions of those names return.
func Ints(n, seed uint64) uint64 {
	var x [liveInts]uint64
	for i := range x {
		x[i] = seed*uint64(2*i+1) + uint64(i)
	}
	for ; n > 0; n-- {
		for i := range x {
			x[i] = bits.RotateLeft64(x[i]+x[(i+1)%liveInts], 1+i*7%63) ^ uint64(1000*i)
		}
	}
	r := uint64(0)
	for _, v := range x {
		r = bits.RotateLeft64(r^v, 3)
	}
	return r
}

// Floats: see Ints.
func Floats(n, seed uint64) uint64 {
	var x [liveFloats]float64
	for i := range x {
		x[i] = float64(seed) / float64(i+3)
	}
	for ; n > 0; n-- {
		for i := range x {
			x[i] = float64(float64(x[i]*0.5)+float64(x[(i+1)%liveFloats]*0.375)) - float64(i)
		}
	}
	r := uint64(0)
	for _, v := range x {
		r = bits.RotateLeft64(r^math.Float64bits(v), 3)
	}
	return r
}

// Vectors: see Ints.
func Vectors(n, seed uint64) uint64 {
	var x [liveVectors][2]uint64
	for i := range x {
		x[i] = [2]uint64{seed * uint64(2*i+1), seed + uint64(i)}
	}
	for ; n > 0; n-- {
		for i := range x {
			next := x[(i+1)%liveVectors]
			for lane := range x[i] {
				x[i][lane] = (x[i][lane] + next[lane]) ^ next[lane]>>(1+i*7%63)
			}
		}
	}
	r := uint64(0)
	for _, v := range x {
		r = bits.RotateLeft64(bits.RotateLeft64(r^v[0], 3)^v[1], 3)
	}
	return r
}

// Flags: see Ints.
func Flags(n, seed uint64) uint64 {
	var a, larger, count, low, high uint64
	for ; n > 0; n-- {
		a = (seed+a)*mulK + addK
		if a < larger {
			count++
		}
		if int64(a) > int64(larger) {
			larger = a
		}
		if low += a; low < a {
			high++
		}
		if a>>48&7 == 0 {
			larger >>= 1
		}
	}
	return (larger ^ bits.RotateLeft64(count, 7)) + low ^ high<<50
}

func (m *Module) memories() {
	m.Func("bytes", "ll:l", "l", "i32.const 0 i32.const 0 i32.const 1048576 memory.fill "+countdown(fmt.Sprintf(`
		i32.const %[1]d local.get 1 local.get 0 i64.add i32.wrap_i64 i32.const %[2]d memory.fill
		i32.const %[3]d i32.const %[4]d i32.const %[2]d memory.copy
		i32.const %[5]d i32.const %[6]d i32.const 200000 memory.copy
		local.get 2 i32.const %[4]d i64.load i64.add i32.const %[6]d i64.load offset=299999 i64.xor i64.const 9 i64.rotl local.set 2
		`, fillFrom, fillBytes, fillFrom+7, fillFrom-100, fillFrom-50, fillFrom+3))+"local.get 2")

	// Entries 0 to 3 stay as they are. Local 2 counts what is not null.
	m.Func("entries", "ll:l", "li", countdown(`
		i32.const 10 ref.func count i32.const 8000 table.fill 0
		i32.const 1010 ref.null r local.get 1 i32.wrap_i64 i32.const 1023 i32.and table.fill 0
		i32.const 3000 i32.const 910 i32.const 4000 table.copy 0 0
		i32.const 10 local.set 3
		loop local.get 2 i32.const 1 i32.const 0 local.get 3 table.get 0 ref.is_null select i32.const 1 i32.xor i64.extend_i32_u i64.add local.set 2
			local.get 3 i32.const 1 i32.add local.tee 3 i32.const 8010 i32.lt_u br_if 0 end
		i32.const 10 ref.null r i32.const 8000 table.fill 0`)+"local.get 2")
}

// Bytes and Entries are what the functions of those names return.
func Bytes(n, v uint64) uint64 {
	mem := make([]byte, 1<<20)
	fill := mem[fillFrom : fillFrom+fillBytes]
	load := func(at int) (r uint64) {
		for i := range 8 {
			r |= uint64(mem[at+i]) << (8 * i)
		}
		return r
	}
	r := uint64(0)
	for ; n > 0; n-- {
		for i := range fill {
			fill[i] = byte(v + n)
		}
		copy(mem[fillFrom+7:], mem[fillFrom-100:fillFrom-100+fillBytes])
		copy(mem[fillFrom-50:], mem[fillFrom+3:fillFrom+3+200_000])
		r = bits.RotateLeft64((r+load(fillFrom-100))^load(fillFrom+3+299_999), 9)
	}
	return r
}

// Entries: see Bytes.
func Entries(n, hole uint64) uint64 {
	set := make([]bool, workEntries)
	for i := range 8000 {
		set[10+i] = true
	}
	clear(set[1010 : 1010+hole&1023])
	copy(set[3000:], set[910:4910])
	count := uint64(0)
	for _, s := range set[10:8010] {
		if s {
			count++
		}
	}
	return n * count
}

func (m *Module) calls() {
	m.Func("add", "ll:l", "", "local.get 0 local.get 1 i64.add")
	m.Func("count", ":l", "", "global.get 0 i64.const 1 i64.add global.set 0 global.get 0")
	m.Func("fib", "l:l", "", `local.get 0 i64.const 2 i64.lt_u if i64 local.get 0
		else local.get 0 i64.const 1 i64.sub i32.const 2 call_indirect l:l local.get 0 i64.const 2 i64.sub call fib i64.add end`)
	m.Func("sum", "l:l", "", `local.get 0 i64.eqz if i64 i64.const 0
		else local.get 0 local.get 0 i64.const 1 i64.sub call sum i64.const 1 i64.rotl i64.add end`)
	m.Func("callhook", "l:l", "", "local.get 0 i64.const 3 i64.mul local.get 0 call hook i64.add")
	// References in frames that are many deep: each level checks its own after the next one's return.
	m.Func("keep", "l:x", "xx", `local.get 0 call make local.set 1
		local.get 0 i64.const 0 i64.ne if local.get 0 i64.const 1 i64.sub call keep local.set 2
			local.get 2 local.get 0 i64.const 1 i64.sub call check end
		local.get 0 call hook drop local.get 1 local.get 0 call check local.get 1`)
	m.Func("poke", "il:", "", "local.get 0 local.get 1 i64.store")
	m.Func("peek", "i:l", "", "local.get 0 i64.load")
	m.Func("grow", "i:i", "", "local.get 0 memory.grow")
	var init, body, end strings.Builder
	for i := range liveCalls {
		fmt.Fprintf(&init, "local.get 1 i64.const %d i64.mul local.set %d ", i+1, 2+i)
		fmt.Fprintf(&body, "local.get %d local.get %d i64.add call h local.get %d i64.xor local.set %d ",
			2+i, 2+(i+3)%liveCalls, 2+(i+5)%liveCalls, 2+i)
		fmt.Fprintf(&end, "local.get %d i64.xor i64.const 3 i64.rotl ", 2+i)
	}
	m.Func("hosts", "ll:l", strings.Repeat("l", liveCalls), init.String()+countdown(body.String())+"i64.const 0 "+end.String())
}

// H returns what env.h must return.
func H(v uint64) uint64 { return v*mulK + v>>7 }

// Hosts, Sum and Fib are what the functions of those names return.
func Hosts(n, seed uint64) uint64 {
	var x [liveCalls]uint64
	for i := range x {
		x[i] = seed * uint64(i+1)
	}
	for ; n > 0; n-- {
		for i := range x {
			x[i] = H(x[i]+x[(i+3)%liveCalls]) ^ x[(i+5)%liveCalls]
		}
	}
	r := uint64(0)
	for _, v := range x {
		r = bits.RotateLeft64(r^v, 3)
	}
	return r
}

// Sum: see Hosts.
func Sum(n uint64) uint64 {
	r := uint64(0)
	for i := range n {
		r = i + 1 + bits.RotateLeft64(r, 1)
	}
	return r
}

// Fib: see Hosts.
func Fib(n uint64) uint64 {
	a, b := uint64(0), uint64(1)
	for range n {
		a, b = b, a+b
	}
	return a
}

// zeroAt is an address whose bytes stay zero: the trapping functions read it, so that no
// compiler knows their operands.
const zeroAt = "1040000"

// Endless are the functions of Work, all () -> (), that do not return.
func Endless() []string {
	return []string{"spin", "spinmemory", "spincall", "spinfib", "spinfill", "spincopy", "spinhost", "spingrow", "spindeep"}
}

// Endlessly returns a module that does not end to be instantiated.
func Endlessly() []byte {
	var m Module
	m.Func("start", ":", "", "loop br 0 end")
	m.Start("start")
	return m.Bytes()
}

func (m *Module) endless() {
	for _, f := range [][2]string{
		{"spin", ""},
		{"spinmemory", "i32.const 0 i32.const 0 i64.load offset=16 i64.const 1 i64.add i64.store offset=16"},
		{"spincall", "i32.const 1 call_indirect :l drop"},
		{"spinfib", "i64.const 20 call fib drop"},
		{"spinfill", "i32.const 65536 i32.const 1 i32.const 900000 memory.fill"},
		{"spincopy", "i32.const 65537 i32.const 65536 i32.const 900000 memory.copy"},
		{"spinhost", "i64.const 1 call h drop"},
		{"spingrow", "i32.const 0 memory.grow drop"},
		{"spindeep", "i64.const 1000 call sum drop"},
	} {
		m.Func(f[0], ":", "", "loop "+f[1]+" br 0 end")
	}
}

// TrapCase is a call of Work that traps.
type TrapCase struct {
	Export string // () -> ()
	Code   abi.TrapCode
}

// trapCase says how a function traps.
type trapCase struct {
	TrapCase
	code string
}

func trapCases() []trapCase {
	return []trapCase{
		{TrapCase{"unreachable", abi.TrapUnreachable}, "unreachable"},
		{TrapCase{"load", abi.TrapMemoryOutOfBounds}, "i32.const -1 i64.load offset=4294967295 drop"},
		{TrapCase{"load8", abi.TrapMemoryOutOfBounds}, "i32.const 2000000 i32.load8_u drop"},
		{TrapCase{"store", abi.TrapMemoryOutOfBounds}, "i32.const -1 i64.const 1 i64.store"},
		{TrapCase{"fill", abi.TrapMemoryOutOfBounds}, "i32.const 1000000 i32.const 1 i32.const 1000000 memory.fill"},
		{TrapCase{"copy", abi.TrapMemoryOutOfBounds}, "i32.const 0 i32.const 1000000 i32.const 1000000 memory.copy"},
		{TrapCase{"div32", abi.TrapIntegerDivideByZero}, "i32.const 7 global.get 0 i64.const 0 i64.mul i32.wrap_i64 i32.div_s drop"},
		{TrapCase{"rem64", abi.TrapIntegerDivideByZero}, "i64.const 7 global.get 0 i64.const 0 i64.mul i64.rem_u drop"},
		{TrapCase{"divide", abi.TrapIntegerDivideByZero}, "i64.const 7 i32.const " + zeroAt + " i64.load i64.div_u drop"},
		{TrapCase{"overflow32", abi.TrapIntegerOverflow}, "i32.const 0x80000000 i32.const " + zeroAt + " i32.load i32.const -1 i32.xor i32.div_s drop"},
		{TrapCase{"overflow64", abi.TrapIntegerOverflow}, "i64.const 0x8000000000000000 i32.const " + zeroAt + " i64.load i64.const -1 i64.xor i64.div_s drop"},
		{TrapCase{"convert", abi.TrapBadConversion}, "i32.const " + zeroAt + " f64.load i32.const " + zeroAt + " f64.load f64.div i32.trunc_f64_s drop"},
		{TrapCase{"toolarge", abi.TrapIntegerOverflow}, "i32.const " + zeroAt + " f64.load f64.const 1e30 f64.add i64.trunc_f64_u drop"},
		{TrapCase{"undefined", abi.TrapUndefinedElement}, "i32.const 10000 call_indirect :l drop"},
		{TrapCase{"uninitialized", abi.TrapUninitializedElement}, "i32.const 9000 call_indirect :l drop"},
		{TrapCase{"signature", abi.TrapBadSignature}, "i32.const 2 call_indirect :l drop"},
		{TrapCase{"tableget", abi.TrapTableOutOfBounds}, "i32.const 10000 table.get 0 drop"},
		{TrapCase{"tablefill", abi.TrapTableOutOfBounds}, "i32.const 9999 ref.null r i32.const 2 table.fill 0"},
		{TrapCase{"deep", abi.TrapStackOverflow}, "call deep call deep"},
		{TrapCase{"deephook", abi.TrapStackOverflow}, "i64.const 0 call hook drop call deephook call deephook"},
	}
}

// Traps are the calls that trap. A store whose hook is slow should leave out the last.
func Traps() []TrapCase {
	var out []TrapCase
	for _, c := range trapCases() {
		out = append(out, c.TrapCase)
	}
	return out
}

func (m *Module) traps() {
	for _, c := range trapCases() {
		m.Func(c.Export, ":", "", c.code)
	}
}
