package oracle
import "testing"
func TestZZ(t *testing.T) {
	c := generate(7000592)
	want, _ := play(judge(), c)
	for i := range c.calls[:8] { t.Log(c.calls[i].fn, c.calls[i].args, want.events[i+2].String()) }
	check(t, c)
	check(t, single(`(module (memory (export "memory") 1) (data "0123456789012345678901234567890") (func (export "d") (data.drop 0))
 (func (export "f") (param i32 i32 i32) (memory.init 0 (local.get 0) (local.get 1) (local.get 2)))
 (func (export "c") (memory.init 0 (i32.const 10) (i32.const 19) (i32.const 0)))
 (func (export "c0") (memory.init 0 (i32.const 10) (i32.const 0) (i32.const 0)))
 )`, call{fn:"f",args:[]uint64{10,19,0}}, call{fn:"c"}, call{fn:"d"},call{fn:"f",args:[]uint64{10,19,0}}, call{fn:"c"},call{fn:"c0"}, call{fn:"f",args:[]uint64{10,19,0}}))
}
