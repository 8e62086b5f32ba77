;; A module without objects that puts a function into a table, which code with objects calls. It calls a C function.
(module
  (import "env" "hidden" (func $hidden (param i32) (result i32)))
  (import "env" "table" (table 4 funcref))
  (elem (i32.const 0) func $through)
  (func $through (export "through") (param i32) (result i32) (i32.sub (call $hidden (local.get 0)) (i32.const 0))))
