  ;; Binary trees are built, walked and dropped, small ones and large ones, while a tree of 2^17 nodes lives and changes.
  (type $tree (struct (field $left (mut (ref null $tree))) (field $right (mut (ref null $tree))) (field $value i32)))
  (global $long (mut (ref null $tree)) (ref.null $tree))

  (func $run (result i32) (local $depth i32) (local $n i32) (local $sum i32)
    (global.set $long (call $build (i32.const 16) (i32.const 1)))
    (local.set $depth (i32.const 4))
    (loop $depths
      (local.set $n (i32.shl (global.get $size) (i32.sub (i32.const 12) (local.get $depth))))
      (loop $trees
        (local.set $sum (call $mix (local.get $sum) (call $walk (call $build (local.get $depth) (local.get $n)))))
        (br_if $trees (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      ;; Some of what lives is replaced by a new tree.
      (struct.set $tree $left (struct.get $tree $right (global.get $long)) (call $build (local.get $depth) (local.get $sum)))
      (local.set $depth (i32.add (local.get $depth) (i32.const 2)))
      (br_if $depths (i32.le_u (local.get $depth) (i32.const 12))))
    (local.set $sum (call $mix (local.get $sum) (call $walk (global.get $long))))
    (global.set $long (ref.null $tree))
    (local.get $sum))

  (func $build (param $depth i32) (param $value i32) (result (ref $tree))
    (if (i32.eqz (local.get $depth))
      (then (return (struct.new $tree (ref.null $tree) (ref.null $tree) (local.get $value)))))
    (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
    (struct.new $tree
      (call $build (local.get $depth) (i32.shl (local.get $value) (i32.const 1)))
      (call $build (local.get $depth) (i32.add (i32.shl (local.get $value) (i32.const 1)) (i32.const 1)))
      (local.get $value)))

  (func $walk (param $tree (ref null $tree)) (result i32) (local $here (ref $tree))
    (block $empty
      (local.set $here (br_on_null $empty (local.get $tree)))
      (return (i32.add (struct.get $tree $value (local.get $here)) (i32.sub
        (call $walk (struct.get $tree $left (local.get $here)))
        (call $walk (struct.get $tree $right (local.get $here)))))))
    (i32.const 0))
