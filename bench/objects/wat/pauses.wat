  ;; While $size trees of 64 KiB in waot's heap live, garbage is made in bursts of 160 KB, eight for each tree, each of which is timed. A burst of 5 ms or
  ;; more was interrupted, as a rule by a collection. The kernel named dropped does the same, but the trees are garbage before it begins. Lines of numbers come before the checksum: microseconds of the longest burst, the
  ;; number of long ones, and their microseconds together.
  (type $tree (struct (field $left (ref null $tree)) (field $right (ref null $tree)) (field $value i32)))
  (type $ring (array (mut (ref null $tree))))
  (type $trees (array (mut (ref null $tree))))

  (func $build (param $depth i32) (result (ref $tree))
    (if (i32.eqz (local.get $depth)) (then (return (struct.new $tree (ref.null $tree) (ref.null $tree) (i32.const 1)))))
    (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
    (struct.new $tree (call $build (local.get $depth)) (call $build (local.get $depth)) (i32.const 1)))

  (func $count (param $tree (ref null $tree)) (result i32)
    (if (ref.is_null (local.get $tree)) (then (return (i32.const 0))))
    (i32.add (struct.get $tree $value (local.get $tree)) (i32.add
      (call $count (struct.get $tree $left (local.get $tree)))
      (call $count (struct.get $tree $right (local.get $tree))))))

  (func $run (result i32)
    (local $live (ref $trees)) (local $ring (ref $ring)) (local $n i32) (local $nodes i32) (local $burst i32) (local $start i64) (local $d i64) (local $longest i64) (local $long i32) (local $sum i64)
    (local.set $live (array.new_default $trees (global.get $size)))
    (loop $trees
      (array.set $trees (local.get $live) (local.get $n) (call $build (i32.const 11)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $trees (i32.lt_u (local.get $n) (global.get $size))))
{{- if eq .Name "dropped"}}
    (local.set $live (array.new_default $trees (global.get $size)))
{{- end}}
    (local.set $ring (array.new_default $ring (i32.const 64)))
    (loop $bursts
      (local.set $start (call $now))
      (local.set $n (i32.const 10000))
      (loop $garbage
        (array.set $ring (local.get $ring) (i32.and (local.get $n) (i32.const 63))
          (struct.new $tree (ref.null $tree) (ref.null $tree) (local.get $n)))
        (br_if $garbage (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (local.set $d (i64.div_u (i64.sub (call $now) (local.get $start)) (i64.const 1000)))
      (if (i64.gt_u (local.get $d) (local.get $longest)) (then (local.set $longest (local.get $d))))
      (if (i64.ge_u (local.get $d) (i64.const 5000))
        (then
          (local.set $long (i32.add (local.get $long) (i32.const 1)))
          (local.set $sum (i64.add (local.get $sum) (local.get $d)))))
      (local.set $burst (i32.add (local.get $burst) (i32.const 1)))
      (br_if $bursts (i32.lt_u (local.get $burst) (i32.mul (global.get $size) (i32.const 8)))))
    (call $print (i32.wrap_i64 (local.get $longest)))
    (call $print (local.get $long))
    (call $print (i32.wrap_i64 (local.get $sum)))
    (loop $trees
      (local.set $nodes (i32.add (local.get $nodes) (call $count (array.get $trees (local.get $live) (local.get $n)))))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $trees (i32.lt_u (local.get $n) (global.get $size))))
    (local.get $nodes))
