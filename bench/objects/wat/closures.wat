  ;; Closures are structures with a reference to code, which gets its closure as first argument and casts it to the type with what it has
  ;; captured. They are composed, and mapped, filtered and folded over lists.
  (rec
    (type $unary (func (param (ref $closure) i32) (result i32)))
    (type $closure (sub (struct (field $code (ref $unary))))))
  (rec
    (type $binary (func (param (ref $folder) i32 i32) (result i32)))
    (type $folder (sub (struct (field $code (ref $binary))))))
  (type $number (sub final $closure (struct (field $code (ref $unary)) (field $n i32))))
  (type $composition (sub final $closure (struct (field $code (ref $unary)) (field $outer (ref $closure)) (field $inner (ref $closure)))))
  (type $weighted (sub final $folder (struct (field $code (ref $binary)) (field $weight i32))))
  (type $list (struct (field $head i32) (field $tail (ref null $list))))
  (elem declare func $add $scale $divides $compose $weigh)

  (func $run (result i32) (local $round i32) (local $sum i32) (local $f (ref $closure)) (local $list (ref null $list))
    (loop $rounds
      (local.set $f (call $composed
        (struct.new $number (ref.func $add) (local.get $round))
        (call $composed (struct.new $number (ref.func $scale) (i32.const 3)) (struct.new $number (ref.func $add) (i32.const 7)))))
      (local.set $list (call $map (local.get $f) (call $range (local.get $round) (i32.const 200))))
      (local.set $list (call $filter (struct.new $number (ref.func $divides) (i32.const 2)) (local.get $list)))
      (local.set $f (call $composed (local.get $f) (struct.new $number (ref.func $scale) (i32.const 5))))
      (local.set $sum (call $fold (struct.new $weighted (ref.func $weigh) (i32.const 17)) (local.get $sum)
        (call $map (local.get $f) (local.get $list))))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $rounds (i32.lt_u (local.get $round) (global.get $size))))
    (local.get $sum))

  (func $composed (param $outer (ref $closure)) (param $inner (ref $closure)) (result (ref $closure))
    (struct.new $composition (ref.func $compose) (local.get $outer) (local.get $inner)))

  (func $apply (param $f (ref $closure)) (param $x i32) (result i32)
    (call_ref $unary (local.get $f) (local.get $x) (struct.get $closure $code (local.get $f))))

  (func $add (type $unary) (param $self (ref $closure)) (param $x i32) (result i32)
    (i32.add (struct.get $number $n (ref.cast (ref $number) (local.get $self))) (local.get $x)))
  (func $scale (type $unary) (param $self (ref $closure)) (param $x i32) (result i32)
    (i32.mul (struct.get $number $n (ref.cast (ref $number) (local.get $self))) (local.get $x)))
  (func $divides (type $unary) (param $self (ref $closure)) (param $x i32) (result i32)
    (i32.eqz (i32.rem_u (local.get $x) (struct.get $number $n (ref.cast (ref $number) (local.get $self))))))
  (func $compose (type $unary) (param $self (ref $closure)) (param $x i32) (result i32) (local $c (ref $composition))
    (local.set $c (ref.cast (ref $composition) (local.get $self)))
    (call $apply (struct.get $composition $outer (local.get $c)) (call $apply (struct.get $composition $inner (local.get $c)) (local.get $x))))
  (func $weigh (type $binary) (param $self (ref $folder)) (param $sum i32) (param $x i32) (result i32)
    (i32.add (i32.mul (local.get $sum) (struct.get $weighted $weight (ref.cast (ref $weighted) (local.get $self)))) (local.get $x)))

  ;; $range is the list of $n numbers from $from on.
  (func $range (param $from i32) (param $n i32) (result (ref null $list)) (local $list (ref null $list))
    (loop $numbers
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (local.set $list (struct.new $list (i32.add (local.get $from) (local.get $n)) (local.get $list)))
      (br_if $numbers (local.get $n)))
    (local.get $list))

  (func $map (param $f (ref $closure)) (param $list (ref null $list)) (result (ref null $list))
    (if (ref.is_null (local.get $list)) (then (return (ref.null $list))))
    (struct.new $list
      (call $apply (local.get $f) (struct.get $list $head (local.get $list)))
      (call $map (local.get $f) (struct.get $list $tail (local.get $list)))))

  (func $filter (param $f (ref $closure)) (param $list (ref null $list)) (result (ref null $list)) (local $rest (ref null $list))
    (if (ref.is_null (local.get $list)) (then (return (ref.null $list))))
    (local.set $rest (call $filter (local.get $f) (struct.get $list $tail (local.get $list))))
    (if (result (ref null $list)) (call $apply (local.get $f) (struct.get $list $head (local.get $list)))
      (then (struct.new $list (struct.get $list $head (local.get $list)) (local.get $rest)))
      (else (local.get $rest))))

  (func $fold (param $f (ref $folder)) (param $sum i32) (param $list (ref null $list)) (result i32) (local $here (ref $list))
    (block $end
      (loop $elements
        (local.set $here (br_on_null $end (local.get $list)))
        (local.set $sum (call_ref $binary (local.get $f) (local.get $sum) (struct.get $list $head (local.get $here))
          (struct.get $folder $code (local.get $f))))
        (local.set $list (struct.get $list $tail (local.get $here)))
        (br $elements)))
    (local.get $sum))
