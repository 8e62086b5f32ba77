(module $provider (memory (export "memory") 1 3) (global $n (export "n") (mut i32) (i32.const 0)) (table (export "table") 2 funcref)
  (func $increment (export "increment") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n)))
