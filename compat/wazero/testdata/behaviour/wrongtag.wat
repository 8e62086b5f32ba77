(module $wrong (import "thrower" "tag" (tag (param i32))))
