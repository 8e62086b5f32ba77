;; A module with objects that calls one without, and keeps one meanwhile.
(module
  (type $s (struct (field i32)))
  (import "heaphides" "through" (func $through (param i32) (result i32)))
  (global $seen (mut (ref null $s)) (ref.null $s)) ;; what nothing sees is not made
  (func (export "call") (param i32) (result i32) (local $s (ref $s))
    (local.set $s (struct.new $s (local.get 0)))
    (global.set $seen (local.get $s))
    (global.set $seen (ref.null $s))
    (if (i32.ne (call $through (local.get 0)) (local.get 0)) (then (unreachable)))
    (struct.get $s 0 (local.get $s))))
