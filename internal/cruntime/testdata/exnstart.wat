;; Its start function throws the imported tag, unless a global that is imported is 0.
(module
  (import "env" "tag" (tag $t (param i64)))
  (import "env" "number" (global $n (mut i64)))
  (import "env" "twice" (func $twice (param i32) (result i32)))
  (export "tag" (tag $t))
  (func $start
    (if (i64.eqz (global.get $n)) (then (return)))
    (throw $t (global.get $n)))
  (start $start)
  (func (export "f") (result i32) (call $twice (i32.const 4))))
