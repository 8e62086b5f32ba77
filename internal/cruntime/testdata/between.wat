;; A module without objects that C calls, and that calls code with objects.
(module
  (import "hider" "touch" (func $touch (param i32)))
  (func (export "touch") (param i32) (call $touch (local.get 0))))
