(module $sections (@custom "first" "\01\02\03") (func (export "f") (param $left i32) (param i32) (result i32) (local.get 0)) (@custom "empty") (@custom "first" (after last) "again"))
