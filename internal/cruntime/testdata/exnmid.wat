;; A module without exceptions, through which they pass. Its functions save registers, of which what unwinds finds the values.
(module
  (import "exn" "throw" (func $throw (param i32)))
  (func (export "through") (param $n i32) (result i32) (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local.set $a (i32.mul (local.get $n) (i32.const 3)))
    (local.set $b (i32.mul (local.get $n) (i32.const 5)))
    (local.set $c (i32.mul (local.get $n) (i32.const 7)))
    (local.set $d (i32.mul (local.get $n) (i32.const 9)))
    (call $throw (local.get $n))
    (i32.add (i32.add (local.get $a) (local.get $b)) (i32.add (local.get $c) (local.get $d)))))
