// Collections, sequences, sorting, maps of objects, generics, interfaces and boxed numbers.
interface Shape { val area: Double; fun scaled(by: Double): Shape }
data class Circle(val r: Double) : Shape {
    override val area get() = 3.0 * r * r
    override fun scaled(by: Double) = Circle(r * by)
}
data class Rect(val w: Double, val h: Double) : Shape {
    override val area get() = w * h
    override fun scaled(by: Double) = copy(w = w * by, h = h * by)
}
object Unit1 : Shape { override val area = 1.0; override fun scaled(by: Double) = Rect(by, by) }

sealed class Expr {
    data class Num(val v: Long) : Expr()
    data class Sum(val a: Expr, val b: Expr) : Expr()
    data class Mul(val a: Expr, val b: Expr) : Expr()
    data object Zero : Expr()
}
fun eval(e: Expr): Long = when (e) {
    is Expr.Num -> e.v
    is Expr.Sum -> eval(e.a) + eval(e.b)
    is Expr.Mul -> eval(e.a) * eval(e.b)
    Expr.Zero -> 0
}
fun build(depth: Int, seed: Int): Expr = when {
    depth == 0 -> if (seed % 7 == 0) Expr.Zero else Expr.Num((seed % 5 - 2).toLong())
    seed % 2 == 0 -> Expr.Sum(build(depth - 1, seed * 3 + 1), build(depth - 1, seed / 2))
    else -> Expr.Mul(build(depth - 1, seed + 1), Expr.Sum(build(depth - 1, seed / 3), Expr.Num(1)))
}

class Matrix(val n: Int, init: (Int, Int) -> Int) {
    private val rows = Array(n) { i -> IntArray(n) { j -> init(i, j) } }
    operator fun get(i: Int, j: Int) = rows[i][j]
    operator fun times(o: Matrix) = Matrix(n) { i, j -> (0 until n).sumOf { this[i, it] * o[it, j] } }
    override fun toString() = rows.joinToString(";") { it.joinToString(",") }
}

enum class Color(val rgb: Int) { RED(0xff0000), GREEN(0xff00), BLUE(0xff); fun mix(o: Color) = rgb or o.rgb }

fun collections() {
    val shapes = listOf(Circle(2.0), Rect(3.0, 4.5), Unit1, Circle(0.5)).map { it.scaled(2.0) }
    println(shapes.sortedByDescending { it.area }.joinToString { "${it::class.simpleName}=${it.area}" })
    val words = "the quick brown fox jumps over the lazy dog and the cat sleeps over the fence".split(' ')
    val counts = words.groupingBy { it }.eachCount().entries.sortedWith(compareBy({ -it.value }, { it.key })).take(5)
    println(counts.joinToString { "${it.key}:${it.value}" })
    println(words.groupBy { it.length }.toList().sortedBy { it.first }.joinToString { (k, v) -> "$k->${v.distinct().sorted()}" })
    println(eval(build(9, 12345)))
    println(Matrix(4) { i, j -> i * 3 - j }.let { it * it * it })
    val squares = generateSequence(1L) { it * 3 % 1_000_003 }.filter { it % 2 == 1L }.map { it * it }.take(8).toList()
    println(squares)
    val map = HashMap<Any, Any?>()
    for (i in 0 until 2000) { map[i] = i.toString(); map["k$i"] = i * 1.5; map[i.toLong() shl 33] = null }
    println("${map.size} ${map[77]} ${map["k77"]} ${map.containsKey(77L shl 33)} ${map[77L shl 33]} ${map.values.filterIsInstance<Double>().sum()}")
    val deque = ArrayDeque<Int>()
    repeat(1000) { if (it % 3 == 2) deque.removeFirst() else deque.addLast(it) }
    println("${deque.size} ${deque.first()} ${deque.last()} ${deque.sum()}")
    val set = linkedSetOf<Pair<Int, Char>>()
    for (i in 0..300) set += (i % 17) to ('a' + i % 5)
    println("${set.size} ${set.last()}")
    println(Color.entries.joinToString { it.name + it.ordinal } + " " + Color.RED.mix(Color.BLUE).toString(16) + " " + Color.valueOf("GREEN").rgb)
    val primes = BooleanArray(20000) { it >= 2 }
    for (i in 2..141) if (primes[i]) for (j in i * i until 20000 step i) primes[j] = false
    println(primes.count { it })
    println((1..10).fold(1uL) { a, b -> a * b.toULong() } to (0xffffffffu + 2u))
    println(listOf(3, 1, 2).zip("abc".toList()).toMap().toList().sortedBy { it.first } + (1..3).windowed(2).flatten())
    println(intArrayOf(5, -3, 9, 0).apply { sort() }.contentToString() + listOf("b", null, "a").sortedBy { it ?: "" })
}
