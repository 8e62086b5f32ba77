// Properties, delegation, value classes, variance, operators, local functions, overloads, initialisation order, arithmetic at the edges, and much garbage.
import kotlin.properties.Delegates
import kotlin.reflect.KProperty

interface Named { val name: String; fun greet() = "I am $name" }
interface Loud : Named { override fun greet() = super.greet().uppercase() }
open class Base(override val name: String) : Loud { init { log += "Base $name" } ; open val size by lazy { log += "lazy $name"; name.length } }
class Derived(n: String, private val extra: List<Int>) : Base("d$n"), List<Int> by extra {
    init { log += "Derived $n" }
    override val size: Int get() = extra.size + super<Base>.size
}
val log = mutableListOf<String>()

value class Meters(val v: Double) : Comparable<Meters> {
    operator fun plus(o: Meters) = Meters(v + o.v)
    override fun compareTo(other: Meters) = v.compareTo(other.v)
    override fun toString() = "${v}m"
}
class Observed { var seen = 0; var x: Int by Delegates.observable(0) { _, old, new -> seen += new - old } ; val upper: String by Upper("abc") }
class Upper(val s: String) { operator fun getValue(o: Any?, p: KProperty<*>) = s.uppercase() + p.name }

sealed interface Shape2 { val sides: Int }
object Dot : Shape2 { override val sides = 0 }
class Poly(override val sides: Int, vararg val points: Pair<Int, Int>) : Shape2 {
    operator fun component1() = sides
    operator fun component2() = points.toList()
    operator fun contains(p: Pair<Int, Int>) = p in points
    operator fun invoke(k: Int) = points[k % points.size]
}
class Producer<out T>(private val f: () -> T) { fun get(): T = f() }
class Consumer<in T>(private val f: (T) -> Unit) { fun put(t: T) = f(t) }
fun <T : Comparable<T>> maxOf3(a: T, b: T, c: T): T where T : Any = if (a >= b && a >= c) a else if (b >= c) b else c
inline fun <reified T> countOf(xs: Iterable<*>) = xs.count { it is T }
tailrec fun gcd(a: Long, b: Long): Long = if (b == 0L) a else gcd(b, a % b)
infix fun Int.pow(n: Int): Long { var r = 1L; repeat(n) { r *= this }; return r }

class Node<K : Comparable<K>, V>(val key: K, var value: V) { var left: Node<K, V>? = null; var right: Node<K, V>? = null; var prio = 0 }
class Treap<K : Comparable<K>, V> {
    var root: Node<K, V>? = null
    private var seed = 88172645463325252L
    private fun next(): Int { seed = seed xor (seed shl 13); seed = seed xor (seed ushr 7); seed = seed xor (seed shl 17); return seed.toInt() }
    private fun split(t: Node<K, V>?, k: K): Pair<Node<K, V>?, Node<K, V>?> {
        if (t == null) return null to null
        return if (t.key < k) { val (a, b) = split(t.right, k); t.right = a; t to b } else { val (a, b) = split(t.left, k); t.left = b; a to t }
    }
    private fun merge(a: Node<K, V>?, b: Node<K, V>?): Node<K, V>? = when {
        a == null -> b
        b == null -> a
        a.prio > b.prio -> { a.right = merge(a.right, b); a }
        else -> { b.left = merge(a, b.left); b }
    }
    fun put(k: K, v: V) { val (a, b) = split(root, k); root = merge(merge(a, Node(k, v).also { it.prio = next() }), b) }
    fun fold(f: (K, V) -> Unit) { fun walk(n: Node<K, V>?) { if (n != null) { walk(n.left); f(n.key, n.value); walk(n.right) } }; walk(root) }
}

fun language() {
    val d = Derived("x", listOf(4, 5, 6))
    println("${d.greet()} ${d.size} ${d[1]} ${d.sum()} ${d.size} $log")
    println(listOf(Meters(2.5), Meters(-1.0), Meters(10.0)).let { "${it.max()} ${it.sorted()} ${it.reduce { a, b -> a + b }}" })
    println(Observed().run { x = 5; x = 12; x = 3; "$seen $x $upper" })
    val shapes: List<Shape2> = listOf(Dot, Poly(3, 0 to 0, 1 to 0, 0 to 1))
    for (s in shapes) println(when (s) { Dot -> "dot"; is Poly -> { val (n, ps) = s; "$n $ps ${(1 to 0) in s} ${s(7)}" } })
    val p: Producer<Any> = Producer { "produced" }
    val c: Consumer<String> = Consumer<Any> { log += "consumed $it" }
    c.put(p.get() as String)
    println("${log.last()} ${maxOf3("b", "abc", "az")} ${maxOf3(3, 9, 4)} ${countOf<Int>(listOf(1, "a", 2L, 3, null))}")
    println("${gcd(1071L * 97, 462L * 97)} ${3 pow 20} ${Int.MIN_VALUE / -1} ${Int.MIN_VALUE % -1} ${Long.MIN_VALUE / -1L} ${-7 / 2} ${-7 % 2} ${-7 shr 1} ${-7 ushr 28} ${(-7).mod(3)}")
    println("${1e300.toInt()} ${Double.NaN.toLong()} ${(-1.5).toInt()} ${3e9.toInt()} ${200.toByte()} ${70000.toShort()} ${'a' + 1} ${65.toChar()} ${-1L ushr 60} ${1.0 / 0} ${0.0 == -0.0} ${(0.0 as Any) == -0.0}")
    println("${5u - 6u} ${(-1).toUInt() / 2u} ${ULong.MAX_VALUE % 10u} ${(255u.toUByte() + 1u.toUByte())} ${3000000000u.toLong()}")
    val fs = (1..5).map { i -> { x: Int -> x * i + d.size } }
    println(fs.fold(1) { acc, f -> f(acc) })
    var counter = 0
    fun bump(by: Int = 1, times: Int = 2): Int { repeat(times) { counter += by }; return counter }
    println("${bump()} ${bump(by = 10)} ${bump(times = 3)} $counter")
    val treap = Treap<String, Int>()
    for (i in 0 until 20000) treap.put(((i * 7919) % 20011).toString(36), i)
    var h = 0; var n = 0
    treap.fold { k, v -> h = h * 31 + k.hashCode() + v; n++ }
    println("$n $h")
    var live = arrayOfNulls<Any>(1024)
    var sum = 0L
    for (i in 0 until 3_000_000) {
        val k = (i * 2654435761L ushr 7).toInt() and 1023
        val o: Any = when (i and 3) { 0 -> i; 1 -> i.toDouble(); 2 -> intArrayOf(i, i + 1); else -> listOf((live[(k + 1) and 1023] as? Int) ?: 0) .let { it[0] and 0xff } }
        live[k] = o
        if (i % 1000 == 0) sum += when (val x = live[(i / 1000) and 1023]) { is Int -> x.toLong(); is Double -> x.toLong(); is IntArray -> x[1].toLong(); else -> -1L } and 0xffff
    }
    println(sum and 0xfffff)
}
