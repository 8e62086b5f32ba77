(module $m
  (@custom "first" (before first) "\00\"")
  (type $t (func (param i32 i64) (result f32)))
  (type (func))
  (type (func (param i32) (result i32 i32)))
  (type $bytes (array (mut i8)))
  (rec
    (type $node (sub (struct (field $next (mut (ref null $node))) (field i16 (mut i64)) (field (@name "a b") (ref $leaf)) (field $next2 (@name "next") anyref))))
    (type $leaf (sub final $node (struct (field (mut (ref null $node))) (field i16) (field $long (mut i64)) (field (ref $leaf)) (field (ref any)) (field $last v128))))
    (type (@name "fn") (func (param (ref $leaf)) (result i31ref nullref))))
  (rec (type $open (sub (func (param structref arrayref)))))
  (type $opened (sub $open (func (param eqref) (param (ref null array)))))
  (type $none (struct))
  (import "env" "na\u{7f}me" (func $imported (type $t)))
  (import "env" "t" (table $in 1 2 externref))
  (import "env" "g" (global (mut v128)))
  (import "env" "m" (memory 1))
  (import "env" "tag" (tag $thrown (param i32)))
  (func $dup (@name "same"))
  (func (@name "same"))
  (func (@name "a;b"))
  (func (@name "tab\t"))
  (func $same (param $x i32) (param i64 i64) (param $x2 (@name "a b") f32) (result i32) (local i32 i32) (local $y f64) (local v128)
    local.get $x
    if $l (type 2)
      block $l
        br $l
        br 1
        br_table 0 1 2
      end
      block $l
        block $l
        end
        br $l
      end
      block $"no id" (result i32) br $"no id" end
    else
      unreachable
    end
    drop
    f32.const nan:0x1 drop
    f64.const -0x1.8p-1074 drop
    f64.const -inf drop
    f32.const 0.1 drop
    v128.const f32x4 1 2 3 -nan drop
    i32.const 0 i32.const 1 i32.const 2 memory.init $d drop
    i32.const 0 i32.load offset=4 align=1 drop
    i32.const 0 v128.const i64x2 0 0 v128.load8_lane offset=1 3 drop
    i32.const 0 call_indirect $tab (type 1)
    ref.null extern ref.null func select (result funcref) drop
    table.size $tab drop
    i32.const 0 i32.const 0 i32.const 0 table.init $tab 1
    i32.const 0 i32.const 0 i32.const 0 table.copy $tab $tab
    local.get 3 drop
    i32.const 0)
  (func $catches (result exnref) (local exnref (ref null noexn))
    block $out (result i32)
      block $both (result i32 (ref exn))
        block $ref (result (ref exn))
          loop $again
            try_table $again (catch $thrown $out) (catch_ref $thrown $both) (catch_all_ref $ref) (catch_all $again) (catch 1 $out)
              br $again
              i32.const 1 throw $thrown
            end
            try_table (result (ref exn)) i32.const 1 throw 1 end
            try_table end
          end
          ref.null noexn throw_ref
        end
        return
      end
      drop
      br $out
    end
    drop
    try $t (result i32)
      try $t
        try delegate $t
        try delegate 2
      catch 1
        drop br $t
      catch $thrown
        drop
        block $in rethrow $t end
        rethrow 0
      catch_all
        try catch_all rethrow 0 rethrow $t end
      end
      i32.const 0
    catch $thrown
    end
    drop
    ref.null exn)
  (func $objects (param $x anyref) (result (ref i31))
    block $i31 (result (ref i31))
      local.get $x br_on_cast $i31 anyref (ref i31)
      br_on_cast_fail 1 (ref any) (ref null none)
      ref.test (ref $leaf) drop
      local.get $x ref.test nullref drop
      local.get $x ref.cast (ref null $node) struct.get $node $next drop
      local.get $x ref.cast (ref $leaf) struct.get_s $leaf 1 drop
      local.get $x ref.cast (ref $leaf) i64.const 1 struct.set $leaf $long
      struct.new_default $none ref.cast structref drop
      i32.const 1 i32.const 2 array.new_fixed $bytes 2 i32.const 0 array.get_u $bytes drop
      i32.const 1 array.new_default $bytes array.len drop
      i32.const 0 i32.const 0 array.new_data $bytes $d drop
      i32.const 0 i32.const 0 array.new_elem 3 $e drop
      unreachable array.copy $bytes $bytes
      unreachable array.init_data $bytes $d
      unreachable array.init_elem $bytes $e
      ref.null none extern.convert_any any.convert_extern ref.null nofunc ref.null noextern
      unreachable
    end)
  (tag (@name "no id") (param $p i32))
  (tag $empty)
  (table $tab 1 funcref)
  (global (ref $bytes) (array.new_fixed $bytes 2 (i32.const 1) (i32.const 2)))
  (global $g i32 (i32.add (i32.const 1) (i32.const 2)))
  (export "\"x\\" (func $same))
  (start $dup)
  (elem (table $tab) (offset (i32.add (i32.const 0) (i32.const 0))) func $dup $same)
  (elem funcref (ref.null func) (item (ref.func $dup)))
  (elem (ref null $bytes) (item (array.new_default $bytes (i32.const 1))) (ref.null $bytes) (ref.null none))
  (elem declare func $same)
  (elem $e (i32.const 0) externref)
  (elem (offset (i32.const 0) (i32.const 1)) func) ;; not valid
  (data $d "a\ff\n")
  (data (i32.const 0) "0123456789012345678901234567890123456789012345678901234567890123" "4")
  (@custom "last" "x")
  (@custom "c" (after type)) (@custom "c" (after import)) (@custom "c" (after func)) (@custom "c" (after table))
  (@custom "c" (after tag)) (@custom "c" (after global)) (@custom "c" (after export)) (@custom "c" (after start)) (@custom "c" (after elem))
  (@custom "c" (after code)) (@custom "c" (after data)))
