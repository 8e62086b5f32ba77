;; A module with objects that calls one without, and keeps one meanwhile.
(module
  (type $s (struct (field i32)))
  (import "heaphides" "through" (func $through (param i32) (result i32)))
  (func (export "call") (param i32) (result i32) (local $s (ref $s))
    (local.set $s (struct.new $s (local.get 0)))
    (if (i32.ne (call $through (local.get 0)) (local.get 0)) (then (unreachable)))
    (struct.get $s 0 (local.get $s))))
