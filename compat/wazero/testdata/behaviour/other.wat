(module $other (import "provider" "increment" (func $increment (result i32))) (func (export "go") (result i32) (call $increment)))
