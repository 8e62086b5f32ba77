(module (import "h" "f" (func $f (result i32))) (global (export "i") (mut i64) (i64.const 1)) (global (export "x") (mut f32) (f32.const 1.5)) (global (export "y") (mut f64) (f64.const -2.25))
 (func (export "") (result i32) (call $f)) (func (export "_start") (drop (call $f))) (func (export "_initialize") (drop (call $f))) (func (export "also") (drop (call $f))))
