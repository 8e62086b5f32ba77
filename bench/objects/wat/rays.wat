  ;; A ray tracer: spheres above a plane with squares, one light, shadows and reflections. Vectors are immutable structures. Shapes have
  ;; a table of methods, which cast their shape to its own type.
  (type $vector (struct (field $x f64) (field $y f64) (field $z f64)))
  (type $ray (struct (field $from (ref $vector)) (field $to (ref $vector))))
  (rec
    (type $distance (func (param (ref $shape) (ref $ray)) (result f64)))
    (type $normal (func (param (ref $shape) (ref $vector)) (result (ref $vector))))
    (type $methods (struct (field $distance (ref $distance)) (field $normal (ref $normal))))
    (type $shape (sub (struct (field $methods (ref $methods)) (field $colour (ref $vector)) (field $shine f64)))))
  (type $sphere (sub final $shape (struct (field $methods (ref $methods)) (field $colour (ref $vector)) (field $shine f64)
    (field $centre (ref $vector)) (field $radius f64))))
  (type $plane (sub final $shape (struct (field $methods (ref $methods)) (field $colour (ref $vector)) (field $shine f64)
    (field $up (ref $vector)) (field $height f64))))
  (type $scene (array (mut (ref null $shape))))
  (elem declare func $sphere_distance $sphere_normal $plane_distance $plane_normal)

  (global $sphere_methods (ref $methods) (struct.new $methods (ref.func $sphere_distance) (ref.func $sphere_normal)))
  (global $plane_methods (ref $methods) (struct.new $methods (ref.func $plane_distance) (ref.func $plane_normal)))
  (global $light (ref $vector) (struct.new $vector (f64.const -5) (f64.const 8) (f64.const -6)))
  (global $black (ref $vector) (struct.new $vector (f64.const 0) (f64.const 0) (f64.const 0)))
  (global $none f64 (f64.const 1e30))

  ;; $run makes a picture of 80 by 60 points $size times.
  (func $run (result i32) (local $scene (ref $scene)) (local $round i32) (local $x i32) (local $y i32) (local $sum i32)
    (loop $rounds
      (local.set $scene (call $make_scene (f64.convert_i32_u (local.get $round))))
      (local.set $y (i32.const 0))
      (loop $lines
        (local.set $x (i32.const 0))
        (loop $points
          (local.set $sum (call $mix (local.get $sum) (call $brightness (call $trace (local.get $scene)
            (struct.new $ray
              (struct.new $vector (f64.const 0) (f64.const 1) (f64.const -5))
              (call $unit (struct.new $vector
                (f64.div (f64.convert_i32_s (i32.sub (local.get $x) (i32.const 40))) (f64.const 50))
                (f64.div (f64.convert_i32_s (i32.sub (i32.const 30) (local.get $y))) (f64.const 50))
                (f64.const 1))))
            (i32.const 3)))))
          (local.set $x (i32.add (local.get $x) (i32.const 1)))
          (br_if $points (i32.lt_u (local.get $x) (i32.const 80))))
        (local.set $y (i32.add (local.get $y) (i32.const 1)))
        (br_if $lines (i32.lt_u (local.get $y) (i32.const 60))))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $rounds (i32.lt_u (local.get $round) (global.get $size))))
    (local.get $sum))

  (func $make_scene (param $time f64) (result (ref $scene)) (local $scene (ref $scene)) (local $i i32) (local $t f64)
    (local.set $scene (array.new_default $scene (i32.const 8)))
    (array.set $scene (local.get $scene) (i32.const 0)
      (struct.new $plane (global.get $plane_methods) (struct.new $vector (f64.const 0.9) (f64.const 0.9) (f64.const 0.8)) (f64.const 0.2)
        (struct.new $vector (f64.const 0) (f64.const 1) (f64.const 0)) (f64.const -1)))
    (local.set $i (i32.const 1))
    (loop $spheres
      (local.set $t (f64.convert_i32_u (local.get $i)))
      (array.set $scene (local.get $scene) (local.get $i)
        (struct.new $sphere (global.get $sphere_methods)
          (struct.new $vector (f64.div (local.get $t) (f64.const 8)) (f64.const 0.5) (f64.div (f64.sub (f64.const 8) (local.get $t)) (f64.const 8)))
          (f64.const 0.4)
          (struct.new $vector
            (f64.add (f64.sub (local.get $t) (f64.const 4)) (f64.div (local.get $time) (f64.const 64)))
            (f64.div (local.get $t) (f64.const 5))
            (f64.mul (local.get $t) (f64.const 0.7)))
          (f64.const 0.9)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $spheres (i32.lt_u (local.get $i) (i32.const 8))))
    (local.get $scene))

  (func $brightness (param $c (ref $vector)) (result i32)
    (i32.trunc_sat_f64_s (f64.mul (f64.const 1000) (f64.add (struct.get $vector $x (local.get $c))
      (f64.add (struct.get $vector $y (local.get $c)) (struct.get $vector $z (local.get $c)))))))

  (func $add (param $a (ref $vector)) (param $b (ref $vector)) (result (ref $vector))
    (struct.new $vector
      (f64.add (struct.get $vector $x (local.get $a)) (struct.get $vector $x (local.get $b)))
      (f64.add (struct.get $vector $y (local.get $a)) (struct.get $vector $y (local.get $b)))
      (f64.add (struct.get $vector $z (local.get $a)) (struct.get $vector $z (local.get $b)))))
  (func $subtract (param $a (ref $vector)) (param $b (ref $vector)) (result (ref $vector))
    (struct.new $vector
      (f64.sub (struct.get $vector $x (local.get $a)) (struct.get $vector $x (local.get $b)))
      (f64.sub (struct.get $vector $y (local.get $a)) (struct.get $vector $y (local.get $b)))
      (f64.sub (struct.get $vector $z (local.get $a)) (struct.get $vector $z (local.get $b)))))
  (func $times (param $a (ref $vector)) (param $k f64) (result (ref $vector))
    (struct.new $vector
      (f64.mul (struct.get $vector $x (local.get $a)) (local.get $k))
      (f64.mul (struct.get $vector $y (local.get $a)) (local.get $k))
      (f64.mul (struct.get $vector $z (local.get $a)) (local.get $k))))
  (func $dot (param $a (ref $vector)) (param $b (ref $vector)) (result f64)
    (f64.add (f64.mul (struct.get $vector $x (local.get $a)) (struct.get $vector $x (local.get $b)))
      (f64.add (f64.mul (struct.get $vector $y (local.get $a)) (struct.get $vector $y (local.get $b)))
        (f64.mul (struct.get $vector $z (local.get $a)) (struct.get $vector $z (local.get $b))))))
  (func $unit (param $a (ref $vector)) (result (ref $vector))
    (call $times (local.get $a) (f64.div (f64.const 1) (f64.sqrt (call $dot (local.get $a) (local.get $a))))))

  (func $along (param $ray (ref $ray)) (param $distance f64) (result (ref $vector))
    (call $add (struct.get $ray $from (local.get $ray)) (call $times (struct.get $ray $to (local.get $ray)) (local.get $distance))))

  (func $sphere_distance (type $distance) (param $self (ref $shape)) (param $ray (ref $ray)) (result f64)
    (local $s (ref $sphere)) (local $v (ref $vector)) (local $b f64) (local $d f64)
    (local.set $s (ref.cast (ref $sphere) (local.get $self)))
    (local.set $v (call $subtract (struct.get $sphere $centre (local.get $s)) (struct.get $ray $from (local.get $ray))))
    (local.set $b (call $dot (local.get $v) (struct.get $ray $to (local.get $ray))))
    (local.set $d (f64.add (f64.sub (f64.mul (local.get $b) (local.get $b)) (call $dot (local.get $v) (local.get $v)))
      (f64.mul (struct.get $sphere $radius (local.get $s)) (struct.get $sphere $radius (local.get $s)))))
    (if (f64.lt (local.get $d) (f64.const 0)) (then (return (global.get $none))))
    (local.set $d (f64.sub (local.get $b) (f64.sqrt (local.get $d))))
    (select (local.get $d) (global.get $none) (f64.gt (local.get $d) (f64.const 1e-6))))

  (func $sphere_normal (type $normal) (param $self (ref $shape)) (param $at (ref $vector)) (result (ref $vector))
    (call $unit (call $subtract (local.get $at) (struct.get $sphere $centre (ref.cast (ref $sphere) (local.get $self))))))

  (func $plane_distance (type $distance) (param $self (ref $shape)) (param $ray (ref $ray)) (result f64)
    (local $p (ref $plane)) (local $down f64) (local $d f64)
    (local.set $p (ref.cast (ref $plane) (local.get $self)))
    (local.set $down (call $dot (struct.get $plane $up (local.get $p)) (struct.get $ray $to (local.get $ray))))
    (if (f64.gt (local.get $down) (f64.const -1e-6)) (then (return (global.get $none))))
    (local.set $d (f64.div (f64.sub (struct.get $plane $height (local.get $p))
      (call $dot (struct.get $plane $up (local.get $p)) (struct.get $ray $from (local.get $ray)))) (local.get $down)))
    (select (local.get $d) (global.get $none) (f64.gt (local.get $d) (f64.const 1e-6))))

  (func $plane_normal (type $normal) (param $self (ref $shape)) (param $at (ref $vector)) (result (ref $vector))
    (struct.get $plane $up (ref.cast (ref $plane) (local.get $self))))

  (func $distance_of (param $shape (ref $shape)) (param $ray (ref $ray)) (result f64)
    (call_ref $distance (local.get $shape) (local.get $ray) (struct.get $methods $distance (struct.get $shape $methods (local.get $shape)))))

  ;; $nearest returns the first shape on a ray and how far it is.
  (func $nearest (param $scene (ref $scene)) (param $ray (ref $ray)) (result (ref null $shape) f64)
    (local $i i32) (local $shape (ref $shape)) (local $found (ref null $shape)) (local $d f64) (local $least f64)
    (local.set $least (global.get $none))
    (loop $shapes
      (local.set $shape (ref.as_non_null (array.get $scene (local.get $scene) (local.get $i))))
      (local.set $d (call $distance_of (local.get $shape) (local.get $ray)))
      (if (f64.lt (local.get $d) (local.get $least))
        (then
          (local.set $least (local.get $d))
          (local.set $found (local.get $shape))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $shapes (i32.lt_u (local.get $i) (array.len (local.get $scene)))))
    (local.get $found) (local.get $least))

  ;; $colour_at is a shape's own colour; the plane has dark squares.
  (func $colour_at (param $shape (ref $shape)) (param $at (ref $vector)) (result (ref $vector))
    (block $plane (result (ref $plane))
      (drop (br_on_cast $plane (ref $shape) (ref $plane) (local.get $shape)))
      (return (struct.get $shape $colour (local.get $shape))))
    (call $times (struct.get $plane $colour)
      (select (f64.const 1) (f64.const 0.3) (i32.and (i32.const 1) (i32.add
        (i32.trunc_sat_f64_s (f64.floor (struct.get $vector $x (local.get $at))))
        (i32.trunc_sat_f64_s (f64.floor (struct.get $vector $z (local.get $at)))))))))

  (func $trace (param $scene (ref $scene)) (param $ray (ref $ray)) (param $depth i32) (result (ref $vector))
    (local $shape (ref $shape)) (local $d f64) (local $at (ref $vector)) (local $normal (ref $vector)) (local $light (ref $vector))
    (local $angle f64) (local $colour (ref $vector)) (local $to (ref $vector))
    (if (i32.eqz (local.get $depth)) (then (return (global.get $black))))
    (call $nearest (local.get $scene) (local.get $ray))
    (local.set $d)
    (local.set $shape (block $hit (param (ref null $shape)) (result (ref $shape))
      (br_on_non_null $hit)
      (return (call $sky (struct.get $ray $to (local.get $ray))))))
    (local.set $at (call $along (local.get $ray) (local.get $d)))
    (local.set $normal (call_ref $normal (local.get $shape) (local.get $at)
      (struct.get $methods $normal (struct.get $shape $methods (local.get $shape)))))
    (local.set $at (call $add (local.get $at) (call $times (local.get $normal) (f64.const 1e-4))))
    ;; Light that arrives.
    (local.set $light (call $unit (call $subtract (global.get $light) (local.get $at))))
    (local.set $angle (call $dot (local.get $normal) (local.get $light)))
    (if (f64.gt (local.get $angle) (f64.const 0))
      (then (if (call $shadow (local.get $scene) (struct.new $ray (local.get $at) (local.get $light)))
        (then (local.set $angle (f64.const 0))))))
    (local.set $colour (call $times (call $colour_at (local.get $shape) (local.get $at))
      (f64.add (f64.const 0.1) (f64.max (f64.const 0) (local.get $angle)))))
    ;; What the surface reflects.
    (local.set $to (struct.get $ray $to (local.get $ray)))
    (local.set $to (call $subtract (local.get $to)
      (call $times (local.get $normal) (f64.mul (f64.const 2) (call $dot (local.get $normal) (local.get $to))))))
    (call $add
      (call $times (local.get $colour) (f64.sub (f64.const 1) (struct.get $shape $shine (local.get $shape))))
      (call $times
        (call $trace (local.get $scene) (struct.new $ray (local.get $at) (local.get $to)) (i32.sub (local.get $depth) (i32.const 1)))
        (struct.get $shape $shine (local.get $shape)))))

  (func $sky (param $to (ref $vector)) (result (ref $vector)) (local $k f64)
    (local.set $k (f64.add (f64.const 0.5) (f64.mul (f64.const 0.5) (struct.get $vector $y (local.get $to)))))
    (struct.new $vector (f64.sub (f64.const 1) (f64.mul (f64.const 0.5) (local.get $k))) (f64.sub (f64.const 1) (f64.mul (f64.const 0.3) (local.get $k))) (f64.const 1)))

  ;; $shadow says whether any shape is on a ray.
  (func $shadow (param $scene (ref $scene)) (param $ray (ref $ray)) (result i32) (local $i i32)
    (loop $shapes
      (if (f64.lt (call $distance_of (ref.as_non_null (array.get $scene (local.get $scene) (local.get $i))) (local.get $ray)) (global.get $none))
        (then (return (i32.const 1))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $shapes (i32.lt_u (local.get $i) (array.len (local.get $scene)))))
    (i32.const 0))
