  ;; $size structures with 24 bytes of fields are made. A ring keeps the latest ones, so that none is left out.
  (type $three (struct (field $a i64) (field $b i64) (field $n i32)))
  (type $ring (array (mut (ref null $three))))

  (func $run (result i32) (local $ring (ref $ring)) (local $n i32) (local $sum i32)
    (local.set $ring (array.new_default $ring (i32.const 64)))
    (local.set $n (global.get $size))
    (loop $structures
      (array.set $ring (local.get $ring) (i32.and (local.get $n) (i32.const 63))
        (struct.new $three (i64.extend_i32_u (local.get $n)) (i64.const 2) (local.get $n)))
      (br_if $structures (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (loop $ring
      (local.set $sum (call $mix (local.get $sum) (struct.get $three $n (array.get $ring (local.get $ring) (local.get $n)))))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $ring (i32.lt_u (local.get $n) (i32.const 64))))
    (local.get $sum))
