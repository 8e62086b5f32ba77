;; hidden.wat with a type of structures: so its calls of C functions are noted.
(module
  (type (struct))
  (import "env" "hidden" (func $hidden (param i32) (result i32)))
  (import "env" "table" (table 4 funcref))
  (elem (i32.const 1) func $through)
  (func $through (export "through") (param i32) (result i32) (i32.sub (call $hidden (local.get 0)) (i32.const 0))))
