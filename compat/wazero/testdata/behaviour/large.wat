(module (memory (export "memory") 100 200) (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
