  ;; Strings are arrays of 16-bit units. A text of random words is built, split at spaces, and its words sorted, counted, and joined again.
  (type $string (array (mut i16)))
  (type $strings (array (mut (ref null $string))))
  (type $builder (struct (field $units (mut (ref $string))) (field $length (mut i32))))
  (data $word "compile")

  (func $run (result i32) (local $round i32) (local $sum i32) (local $words (ref $strings))
    (loop $rounds
      (local.set $words (call $split (call $text (i32.const 3000)) (i32.const 32)))
      (call $sort (local.get $words) (array.new_default $strings (array.len (local.get $words))) (i32.const 0) (array.len (local.get $words)))
      (local.set $sum (call $mix (local.get $sum) (call $different (local.get $words))))
      (local.set $sum (call $mix (local.get $sum) (call $hash (call $join (local.get $words)))))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $rounds (i32.lt_u (local.get $round) (global.get $size))))
    (local.get $sum))

  ;; $text has $n random words, each followed by a space.
  (func $text (param $n i32) (result (ref $string)) (local $b (ref $builder)) (local $word (ref $string)) (local $space (ref $string))
    (local.set $b (struct.new $builder (array.new_default $string (i32.const 16)) (i32.const 0)))
    (local.set $space (array.new_fixed $string 1 (i32.const 32)))
    (loop $words
      (local.set $word (call $random_word))
      (if (i32.eqz (i32.and (local.get $n) (i32.const 7))) (then (local.set $word (call $concatenate (local.get $word) (array.new_data $string $word (i32.const 0) (i32.const 3))))))
      (call $append (local.get $b) (local.get $word))
      (call $append (local.get $b) (local.get $space))
      (br_if $words (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $slice (struct.get $builder $units (local.get $b)) (i32.const 0) (struct.get $builder $length (local.get $b))))

  (func $random_word (result (ref $string)) (local $word (ref $string)) (local $i i32)
    (local.set $i (i32.add (i32.rem_u (call $random) (i32.const 9)) (i32.const 1)))
    (local.set $word (array.new_default $string (local.get $i)))
    (loop $letters
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (array.set $string (local.get $word) (local.get $i) (i32.add (i32.const 0x3B1) (i32.rem_u (call $random) (i32.const 7))))
      (br_if $letters (local.get $i)))
    (local.get $word))

  (func $append (param $b (ref $builder)) (param $s (ref $string)) (local $units (ref $string)) (local $length i32) (local $end i32) (local $more (ref $string))
    (local.set $units (struct.get $builder $units (local.get $b)))
    (local.set $length (struct.get $builder $length (local.get $b)))
    (local.set $end (i32.add (local.get $length) (array.len (local.get $s))))
    (if (i32.gt_u (local.get $end) (array.len (local.get $units)))
      (then
        (local.set $more (array.new_default $string (i32.shl (local.get $end) (i32.const 1))))
        (array.copy $string $string (local.get $more) (i32.const 0) (local.get $units) (i32.const 0) (local.get $length))
        (struct.set $builder $units (local.get $b) (local.tee $units (local.get $more)))))
    (array.copy $string $string (local.get $units) (local.get $length) (local.get $s) (i32.const 0) (array.len (local.get $s)))
    (struct.set $builder $length (local.get $b) (local.get $end)))

  (func $slice (param $s (ref $string)) (param $from i32) (param $length i32) (result (ref $string)) (local $new (ref $string))
    (local.set $new (array.new_default $string (local.get $length)))
    (array.copy $string $string (local.get $new) (i32.const 0) (local.get $s) (local.get $from) (local.get $length))
    (local.get $new))

  (func $concatenate (param $a (ref $string)) (param $b (ref $string)) (result (ref $string)) (local $new (ref $string))
    (local.set $new (array.new_default $string (i32.add (array.len (local.get $a)) (array.len (local.get $b)))))
    (array.copy $string $string (local.get $new) (i32.const 0) (local.get $a) (i32.const 0) (array.len (local.get $a)))
    (array.copy $string $string (local.get $new) (array.len (local.get $a)) (local.get $b) (i32.const 0) (array.len (local.get $b)))
    (local.get $new))

  ;; $split returns what is in front of each separator.
  (func $split (param $s (ref $string)) (param $separator i32) (result (ref $strings))
    (local $i i32) (local $n i32) (local $from i32) (local $parts (ref $strings))
    (loop $count
      (local.set $n (i32.add (local.get $n) (i32.eq (array.get_u $string (local.get $s) (local.get $i)) (local.get $separator))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $count (i32.lt_u (local.get $i) (array.len (local.get $s)))))
    (local.set $parts (array.new_default $strings (local.get $n)))
    (local.set $i (i32.const 0))
    (local.set $n (i32.const 0))
    (loop $cut
      (if (i32.eq (array.get_u $string (local.get $s) (local.get $i)) (local.get $separator))
        (then
          (array.set $strings (local.get $parts) (local.get $n)
            (call $slice (local.get $s) (local.get $from) (i32.sub (local.get $i) (local.get $from))))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (local.set $from (i32.add (local.get $i) (i32.const 1)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $cut (i32.lt_u (local.get $i) (array.len (local.get $s)))))
    (local.get $parts))

  ;; $compare is negative, 0 or positive.
  (func $compare (param $a (ref $string)) (param $b (ref $string)) (result i32) (local $i i32) (local $n i32) (local $d i32)
    (local.set $n (select (array.len (local.get $a)) (array.len (local.get $b))
      (i32.lt_u (array.len (local.get $a)) (array.len (local.get $b)))))
    (block $end
      (loop $units
        (br_if $end (i32.ge_u (local.get $i) (local.get $n)))
        (local.set $d (i32.sub (array.get_u $string (local.get $a) (local.get $i)) (array.get_u $string (local.get $b) (local.get $i))))
        (if (local.get $d) (then (return (local.get $d))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $units)))
    (i32.sub (array.len (local.get $a)) (array.len (local.get $b))))

  (func $hash (param $s (ref $string)) (result i32) (local $i i32) (local $h i32)
    (block $end
      (loop $units
        (br_if $end (i32.ge_u (local.get $i) (array.len (local.get $s))))
        (local.set $h (i32.add (i32.mul (local.get $h) (i32.const 31)) (array.get_u $string (local.get $s) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $units)))
    (local.get $h))

  (func $at (param $list (ref $strings)) (param $i i32) (result (ref $string))
    (ref.as_non_null (array.get $strings (local.get $list) (local.get $i))))

  ;; $sort sorts the elements from $from up to $to by merging halves, for which $other has room.
  (func $sort (param $list (ref $strings)) (param $other (ref $strings)) (param $from i32) (param $to i32)
    (local $middle i32) (local $i i32) (local $j i32) (local $k i32)
    (if (i32.lt_u (i32.sub (local.get $to) (local.get $from)) (i32.const 2)) (then (return)))
    (local.set $middle (i32.shr_u (i32.add (local.get $from) (local.get $to)) (i32.const 1)))
    (call $sort (local.get $list) (local.get $other) (local.get $from) (local.get $middle))
    (call $sort (local.get $list) (local.get $other) (local.get $middle) (local.get $to))
    (array.copy $strings $strings (local.get $other) (local.get $from) (local.get $list) (local.get $from) (i32.sub (local.get $to) (local.get $from)))
    (local.set $i (local.get $from))
    (local.set $j (local.get $middle))
    (local.set $k (local.get $from))
    (loop $merge
      (array.set $strings (local.get $list) (local.get $k)
        (block $next (result (ref $string))
          (block $second
            (br_if $second (i32.ge_u (local.get $i) (local.get $middle)))
            (if (i32.lt_u (local.get $j) (local.get $to))
              (then (br_if $second (i32.gt_s (call $compare (call $at (local.get $other) (local.get $i)) (call $at (local.get $other) (local.get $j))) (i32.const 0)))))
            (call $at (local.get $other) (local.get $i))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next))
          (call $at (local.get $other) (local.get $j))
          (local.set $j (i32.add (local.get $j) (i32.const 1)))))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $merge (i32.lt_u (local.get $k) (local.get $to)))))

  ;; $different counts the elements that are not equal to the one in front of them.
  (func $different (param $list (ref $strings)) (result i32) (local $i i32) (local $n i32)
    (local.set $i (i32.const 1))
    (loop $elements
      (if (call $compare (call $at (local.get $list) (i32.sub (local.get $i) (i32.const 1))) (call $at (local.get $list) (local.get $i)))
        (then (local.set $n (i32.add (local.get $n) (i32.const 1)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $elements (i32.lt_u (local.get $i) (array.len (local.get $list)))))
    (local.get $n))

  (func $join (param $list (ref $strings)) (result (ref $string)) (local $b (ref $builder)) (local $i i32)
    (local.set $b (struct.new $builder (array.new_default $string (i32.const 16)) (i32.const 0)))
    (loop $elements
      (call $append (local.get $b) (call $at (local.get $list) (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $elements (i32.lt_u (local.get $i) (array.len (local.get $list)))))
    (call $slice (struct.get $builder $units (local.get $b)) (i32.const 0) (struct.get $builder $length (local.get $b))))
