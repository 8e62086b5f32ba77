(module (import "env" "h" (func $h (param i64) (result i32))))
