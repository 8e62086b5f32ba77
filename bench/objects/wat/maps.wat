  ;; A hash map with chains. Keys are small integers or points, which are equal if their coordinates are; values are counters.
  (type $point (struct (field $x i32) (field $y i32)))
  (type $counter (struct (field $n (mut i32))))
  (type $entry (struct (field $key (ref eq)) (field $hash i32) (field $value (mut (ref eq))) (field $next (mut (ref null $entry)))))
  (type $table (array (mut (ref null $entry))))
  (type $map (struct (field $count (mut i32)) (field $table (mut (ref $table)))))

  (func $run (result i32) (local $round i32) (local $sum i32)
    (loop $rounds
      (local.set $sum (call $mix (local.get $sum) (call $fill_and_empty)))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $rounds (i32.lt_u (local.get $round) (global.get $size))))
    (local.get $sum))

  ;; $fill_and_empty counts random keys, deletes some of them, and adds what is left.
  (func $fill_and_empty (result i32) (local $map (ref $map)) (local $i i32) (local $entry (ref null $entry)) (local $key (ref eq))
    (local.set $map (struct.new $map (i32.const 0) (array.new_default $table (i32.const 16))))
    (loop $insert
      (local.set $key (call $random_key))
      (local.set $entry (call $find (local.get $map) (local.get $key)))
      (if (ref.is_null (local.get $entry))
        (then (call $insert (local.get $map) (local.get $key) (struct.new $counter (i32.const 1))))
        (else (call $increment (ref.cast (ref $counter) (struct.get $entry $value (local.get $entry))))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $insert (i32.lt_u (local.get $i) (i32.const 20000))))
    (loop $delete
      (call $delete (local.get $map) (call $random_key))
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (br_if $delete (local.get $i)))
    (call $mix (struct.get $map $count (local.get $map)) (call $total (local.get $map))))

  (func $increment (param $c (ref $counter))
    (struct.set $counter $n (local.get $c) (i32.add (struct.get $counter $n (local.get $c)) (i32.const 1))))

  (func $random_key (result (ref eq)) (local $r i32)
    (local.set $r (i32.rem_u (call $random) (i32.const 12000)))
    (if (result (ref eq)) (i32.rem_u (local.get $r) (i32.const 3))
      (then (struct.new $point (i32.rem_u (local.get $r) (i32.const 100)) (i32.div_u (local.get $r) (i32.const 100))))
      (else (ref.i31 (local.get $r)))))

  (func $hash (param $key (ref eq)) (result i32) (local $p (ref $point)) (local $h i32)
    (block $number (result (ref i31))
      (local.set $p (ref.cast (ref $point) (br_on_cast $number (ref eq) (ref i31) (local.get $key))))
      (local.set $h (i32.add (i32.mul (struct.get $point $x (local.get $p)) (i32.const 31)) (struct.get $point $y (local.get $p))))
      (return (i32.mul (local.get $h) (i32.const 0x9E3779B1))))
    (i32.mul (i31.get_u) (i32.const 0x85EBCA6B)))

  (func $equal (param $a (ref eq)) (param $b (ref eq)) (result i32) (local $p (ref $point)) (local $q (ref $point))
    (if (ref.eq (local.get $a) (local.get $b)) (then (return (i32.const 1))))
    (block $different (result (ref eq))
      (local.set $p (br_on_cast_fail $different (ref eq) (ref $point) (local.get $a)))
      (local.set $q (br_on_cast_fail $different (ref eq) (ref $point) (local.get $b)))
      (return (i32.and
        (i32.eq (struct.get $point $x (local.get $p)) (struct.get $point $x (local.get $q)))
        (i32.eq (struct.get $point $y (local.get $p)) (struct.get $point $y (local.get $q))))))
    (drop)
    (i32.const 0))

  ;; $place is the index of the chain that has a hash value. Its table has a power of two chains.
  (func $place (param $table (ref $table)) (param $hash i32) (result i32)
    (i32.and (i32.shr_u (local.get $hash) (i32.const 12)) (i32.sub (array.len (local.get $table)) (i32.const 1))))

  (func $find (param $map (ref $map)) (param $key (ref eq)) (result (ref null $entry))
    (local $hash i32) (local $table (ref $table)) (local $entry (ref null $entry))
    (local.set $hash (call $hash (local.get $key)))
    (local.set $table (struct.get $map $table (local.get $map)))
    (local.set $entry (array.get $table (local.get $table) (call $place (local.get $table) (local.get $hash))))
    (block $end
      (loop $chain
        (br_if $end (ref.is_null (local.get $entry)))
        (if (i32.eq (struct.get $entry $hash (local.get $entry)) (local.get $hash))
          (then (br_if $end (call $equal (struct.get $entry $key (local.get $entry)) (local.get $key)))))
        (local.set $entry (struct.get $entry $next (local.get $entry)))
        (br $chain)))
    (local.get $entry))

  (func $insert (param $map (ref $map)) (param $key (ref eq)) (param $value (ref eq))
    (local $hash i32) (local $table (ref $table)) (local $place i32)
    (if (i32.ge_u (struct.get $map $count (local.get $map)) (array.len (struct.get $map $table (local.get $map))))
      (then (call $grow (local.get $map))))
    (local.set $hash (call $hash (local.get $key)))
    (local.set $table (struct.get $map $table (local.get $map)))
    (local.set $place (call $place (local.get $table) (local.get $hash)))
    (array.set $table (local.get $table) (local.get $place)
      (struct.new $entry (local.get $key) (local.get $hash) (local.get $value)
        (array.get $table (local.get $table) (local.get $place))))
    (struct.set $map $count (local.get $map) (i32.add (struct.get $map $count (local.get $map)) (i32.const 1))))

  ;; $grow makes a table of twice the length, to which the entries move.
  (func $grow (param $map (ref $map))
    (local $old (ref $table)) (local $new (ref $table)) (local $i i32) (local $entry (ref null $entry)) (local $next (ref null $entry)) (local $place i32)
    (local.set $old (struct.get $map $table (local.get $map)))
    (local.set $new (array.new_default $table (i32.shl (array.len (local.get $old)) (i32.const 1))))
    (loop $chains
      (local.set $entry (array.get $table (local.get $old) (local.get $i)))
      (block $end
        (loop $chain
          (br_if $end (ref.is_null (local.get $entry)))
          (local.set $next (struct.get $entry $next (local.get $entry)))
          (local.set $place (call $place (local.get $new) (struct.get $entry $hash (local.get $entry))))
          (struct.set $entry $next (local.get $entry) (array.get $table (local.get $new) (local.get $place)))
          (array.set $table (local.get $new) (local.get $place) (local.get $entry))
          (local.set $entry (local.get $next))
          (br $chain)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $chains (i32.lt_u (local.get $i) (array.len (local.get $old)))))
    (struct.set $map $table (local.get $map) (local.get $new)))

  (func $delete (param $map (ref $map)) (param $key (ref eq))
    (local $found (ref null $entry)) (local $table (ref $table)) (local $place i32) (local $entry (ref null $entry))
    (local.set $found (call $find (local.get $map) (local.get $key)))
    (if (ref.is_null (local.get $found)) (then (return)))
    (struct.set $map $count (local.get $map) (i32.sub (struct.get $map $count (local.get $map)) (i32.const 1)))
    (local.set $table (struct.get $map $table (local.get $map)))
    (local.set $place (call $place (local.get $table) (struct.get $entry $hash (local.get $found))))
    (local.set $entry (array.get $table (local.get $table) (local.get $place)))
    (if (ref.eq (local.get $entry) (local.get $found))
      (then
        (array.set $table (local.get $table) (local.get $place) (struct.get $entry $next (local.get $found)))
        (return)))
    (loop $chain
      (if (i32.eqz (ref.eq (struct.get $entry $next (local.get $entry)) (local.get $found)))
        (then
          (local.set $entry (struct.get $entry $next (local.get $entry)))
          (br $chain))))
    (struct.set $entry $next (local.get $entry) (struct.get $entry $next (local.get $found))))

  ;; $total adds hashes and counters of all entries.
  (func $total (param $map (ref $map)) (result i32)
    (local $table (ref $table)) (local $i i32) (local $entry (ref null $entry)) (local $sum i32)
    (local.set $table (struct.get $map $table (local.get $map)))
    (loop $chains
      (local.set $entry (array.get $table (local.get $table) (local.get $i)))
      (block $end
        (loop $chain
          (br_if $end (ref.is_null (local.get $entry)))
          (local.set $sum (i32.add (local.get $sum) (i32.mul (struct.get $entry $hash (local.get $entry))
            (struct.get $counter $n (ref.cast (ref $counter) (struct.get $entry $value (local.get $entry)))))))
          (local.set $entry (struct.get $entry $next (local.get $entry)))
          (br $chain)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $chains (i32.lt_u (local.get $i) (array.len (local.get $table)))))
    (local.get $sum))
