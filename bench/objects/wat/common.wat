  ;; What each kernel begins with: its name and size, and the program around it. A kernel has the function $run, which returns a checksum.
  (import "bench" "start" (func $start))
  (import "bench" "end" (func $end))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "{{.Name}} ")
  (global $size i32 (i32.const {{.Size}}))

  (func (export "_start") (local $sum i32)
    (call $start)
    (local.set $sum (call $run))
    (call $end)
    (call $print (local.get $sum)))

  ;; $print writes the name, a space, eight hexadecimal digits, and the end of the line.
  (func $print (param $sum i32) (local $at i32) (local $digit i32)
    (local.set $at (i32.const {{len .Name}}))
    (loop $digits
      (local.set $digit (i32.shr_u (local.get $sum) (i32.const 28)))
      (i32.store8 offset=65 (local.get $at)
        (i32.add (local.get $digit) (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $digit) (i32.const 9)))))
      (local.set $sum (i32.shl (local.get $sum) (i32.const 4)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $digits (i32.lt_u (local.get $at) (i32.add (i32.const {{len .Name}}) (i32.const 8)))))
    (i32.store8 offset=65 (local.get $at) (i32.const 10))
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.add (local.get $at) (i32.const 2)))
    (if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable))))

  (func $mix (param $sum i32) (param $value i32) (result i32)
    (i32.add (i32.rotl (i32.mul (local.get $sum) (i32.const 0x9E3779B1)) (i32.const 5)) (local.get $value)))

  (global $seed (mut i32) (i32.const 12345))
  (func $random (result i32)
    (global.set $seed (i32.add (i32.mul (global.get $seed) (i32.const 1664525)) (i32.const 1013904223)))
    (i32.shr_u (global.get $seed) (i32.const 8)))

  ;; $now returns nanoseconds.
  (func $now (result i64)
    (drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 16)))
    (i64.load (i32.const 16)))
