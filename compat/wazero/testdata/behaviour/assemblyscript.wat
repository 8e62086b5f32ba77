(module $as (import "env" "abort" (func $a (param i32 i32 i32 i32))) (import "env" "trace" (func $t (param i32 i32 f64 f64 f64 f64 f64))) (memory (export "memory") 1)
 (data (i32.const 0) "\04\00\00\00h\00i\00") (data (i32.const 100) "\04\00\00\00f\00n\00")
 (func (export "abort") (call $a (i32.const 4) (i32.const 104) (i32.const 1) (i32.const 2)))
 (func (export "trace") (call $t (i32.const 4) (i32.const 2) (f64.const 1.5) (f64.const -2) (f64.const 0) (f64.const 0) (f64.const 0))))
