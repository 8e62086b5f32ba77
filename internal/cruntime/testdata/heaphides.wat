;; A module without objects that calls a C function.
(module
  (import "env" "callback" (func $callback (param i32) (result i32)))
  (func (export "through") (param i32) (result i32) (i32.sub (call $callback (local.get 0)) (i32.const 0))))
