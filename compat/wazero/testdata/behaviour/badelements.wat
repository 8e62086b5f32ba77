(module (table 1 funcref) (func $f) (elem (i32.const 1) $f))
