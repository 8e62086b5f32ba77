;; Needs two pages of a memory, or three elements of a table, that begin with fewer.
(module
  (import "state" "memory" (memory 2))
  (import "state" "funcs" (table 3 funcref))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0))))
