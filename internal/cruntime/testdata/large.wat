;; Begins with 25 MiB.
(module
  (memory (export "memory") 400))
