  ;; $size casts to a type that is not final, of objects of two types below it.
  (type $top (sub (struct (field $n i32))))
  (type $middle (sub $top (struct (field $n i32) (field $m i32))))
  (type $left (sub final $middle (struct (field $n i32) (field $m i32) (field $l i64))))
  (type $right (sub final $middle (struct (field $n i32) (field $m i32) (field $r f64))))
  (type $tops (array (mut (ref null $top))))

  (func $run (result i32) (local $all (ref $tops)) (local $i i32) (local $sum i32)
    (local.set $all (array.new_default $tops (i32.const 64)))
    (loop $fill
      (array.set $tops (local.get $all) (local.get $i)
        (if (result (ref $top)) (i32.and (call $random) (i32.const 1))
          (then (struct.new $left (local.get $i) (local.get $i) (i64.const 0)))
          (else (struct.new $right (local.get $i) (local.get $i) (f64.const 0)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $fill (i32.lt_u (local.get $i) (i32.const 64))))
    (local.set $i (global.get $size))
    (loop $casts
      (local.set $sum (i32.add (local.get $sum)
        (struct.get $middle $m (ref.cast (ref $middle) (array.get $tops (local.get $all) (i32.and (local.get $i) (i32.const 63)))))))
      (br_if $casts (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
    (local.get $sum))
