;; Objects of all types of fields, which a C program makes, fills and reads. The indices are those of fields.c.
(module
  (type $pair (sub (struct (field i32) (field (mut (ref null $pair))))))                       ;; 0
  (type $named (sub final $pair (struct (field i32) (field (mut (ref null $pair))) (field (mut f64))))) ;; 1
  (type $unary (func (param i32) (result i32)))                                                ;; 2
  (type $open (sub (func (param i64))))                                                        ;; 3
  (type $closed (sub final $open (func (param i64))))                                          ;; 4
  (type $stranger (func (param f32)))                                                          ;; 5
  (type $all (struct                                                                           ;; 6
    (field (mut i8)) (field (mut i16)) (field (mut i32)) (field (mut i64)) (field (mut f32)) (field (mut f64)) (field (mut v128)) ;; 0 to 6
    (field (mut (ref null $pair))) (field (mut eqref)) (field (mut anyref)) (field (mut externref)) (field (mut i31ref))          ;; 7 to 11
    (field (mut structref)) (field (mut arrayref)) (field (mut nullref)) (field (mut exnref))                                     ;; 12 to 15
    (field (mut funcref)) (field (mut (ref null $unary))) (field (mut (ref null $open))) (field i32) (field eqref)                ;; 16 to 20
    (field (mut nullexternref)) (field (mut (ref null $stranger)))))                                                              ;; 21, 22
  (type $bytes (array (mut i8)))                                                               ;; 7
  (type $shorts (array (mut i16)))                                                             ;; 8
  (type $doubles (array (mut f64)))                                                            ;; 9
  (type $vectors (array (mut v128)))                                                           ;; 10
  (type $frozen (array i32))                                                                   ;; 11
  (type $pairs (array (mut (ref $pair))))                                                      ;; 12
  (type $anys (sub (array anyref)))                                                            ;; 13
  (type $eqs (sub final $anys (array eqref)))                                                  ;; 14
  (type $needy (struct (field (ref $pair)) (field (ref i31)) (field i64)))                     ;; 16
  (type $many (struct (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) ;; 16
    (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref) (field eqref)))
  (type $hidden (struct (field i32)))                                                          ;; 17: no signature has it
  (import "env" "make" (func $make (param i32 (ref null $pair)) (result (ref null $pair))))
  (tag $e (export "e") (param i32))
  (table funcref (elem $double $open $closed))
  (func $double (export "double") (type $unary) (i32.mul (local.get 0) (i32.const 2)))
  (func $open (export "open") (type $open))
  (func $closed (export "closed") (type $closed))
  (func (export "function") (param i32) (result funcref) (table.get 0 (local.get 0)))
  ;; The number of a pair, times a million where there is another one, and so on.
  (func $sum (export "sum") (param $p (ref null $pair)) (result i64) (local $n i64)
    (loop $next
      (if (ref.is_null (local.get $p)) (then (return (local.get $n))))
      (local.set $n (i64.add (i64.mul (local.get $n) (i64.const 1000)) (i64.extend_i32_s (struct.get $pair 0 (local.get $p)))))
      (local.set $p (struct.get $pair 1 (local.get $p)))
      (br $next))
    (unreachable))
  ;; A list that C code makes, while this function has all that there is.
  (func $list (export "list") (param $n i32) (result (ref null $pair)) (local $rest (ref null $pair)) (local $mine (ref $pair))
    (if (i32.eqz (local.get $n)) (then (return (ref.null $pair))))
    (local.set $mine (struct.new $pair (local.get $n) (ref.null $pair)))
    (local.set $rest (call $list (i32.sub (local.get $n) (i32.const 1))))
    (local.set $rest (call $make (local.get $n) (local.get $rest)))
    (if (i32.ne (struct.get $pair 0 (local.get $mine)) (local.get $n)) (then (unreachable)))
    (local.get $rest))
  (func (export "garbage") (drop (array.new_default $bytes (i32.const 40))))
  ;; What code sees of the numbers in an object.
  (func (export "numbers") (param $a (ref $all)) (result i32 i32 i32 i64 f32 f64 v128)
    (struct.get_s $all 0 (local.get $a)) (struct.get_u $all 1 (local.get $a)) (struct.get $all 2 (local.get $a)) (struct.get $all 3 (local.get $a))
    (struct.get $all 4 (local.get $a)) (struct.get $all 5 (local.get $a)) (struct.get $all 6 (local.get $a)))
  (func (export "call") (param $a (ref $all)) (param $n i32) (result i32)
    (call_ref $unary (local.get $n) (struct.get $all 17 (local.get $a))))
  (func (export "fill") (param $a (ref $all)) (param $p (ref $pair))
    (struct.set $all 0 (local.get $a) (i32.const -2))
    (struct.set $all 1 (local.get $a) (i32.const -3))
    (struct.set $all 2 (local.get $a) (i32.const -4))
    (struct.set $all 3 (local.get $a) (i64.const -5))
    (struct.set $all 4 (local.get $a) (f32.const 6.5))
    (struct.set $all 5 (local.get $a) (f64.const -7.25))
    (struct.set $all 6 (local.get $a) (v128.const i64x2 8 9))
    (struct.set $all 7 (local.get $a) (local.get $p))
    (struct.set $all 9 (local.get $a) (local.get $p))
    (struct.set $all 11 (local.get $a) (ref.i31 (i32.const -10))))
  (func (export "bytes_sum") (param $b (ref $bytes)) (result i32) (local $i i32) (local $sum i32)
    (loop $next
      (if (i32.lt_u (local.get $i) (array.len (local.get $b))) (then
        (local.set $sum (i32.add (local.get $sum) (array.get_s $bytes (local.get $b) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
    (local.get $sum))
  (func (export "needy_sum") (param $x (ref $needy)) (result i64)
    (i64.add (i64.add (struct.get $needy 2 (local.get $x)) (call $sum (struct.get $needy 0 (local.get $x)))) (i64.extend_i32_s (i31.get_s (struct.get $needy 1 (local.get $x))))))
  (func (export "eq_at") (param $x (ref $eqs)) (param $i i32) (result eqref) (array.get $eqs (local.get $x) (local.get $i)))
  (func (export "any_at") (param $x (ref $anys)) (param $i i32) (result anyref) (array.get $anys (local.get $x) (local.get $i)))
  (func (export "pairs_at") (param $x (ref $pairs)) (param $i i32) (result (ref $pair)) (array.get $pairs (local.get $x) (local.get $i)))
  (func (export "many_at") (param $x (ref $many)) (result i64)
    (i64.add (call $sum (ref.cast (ref $pair) (struct.get $many 0 (local.get $x)))) (call $sum (ref.cast (ref $pair) (struct.get $many 19 (local.get $x))))))
  (func $thrown (export "thrown") (result exnref) (block $h (result exnref) (try_table (catch_all_ref $h) (throw $e (i32.const 3))) (unreachable))))
