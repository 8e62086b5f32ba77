(module $bs (func $s unreachable) (start $s))
