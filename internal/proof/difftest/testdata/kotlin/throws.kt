// Exceptions: finally, nesting, causes, suppressed ones, casts that fail, and what the runtime throws by itself.
class Custom(message: String, val code: Int, cause: Throwable? = null) : Exception(message, cause)
class Resource(val name: String, val log: MutableList<String>, val bad: Boolean = false) : AutoCloseable {
    init { log += "open $name" }
    override fun close() { log += "close $name"; if (bad) throw IllegalStateException("close $name") }
}
fun deep(n: Int): Int = if (n == 0) throw Custom("bottom", 42) else try { deep(n - 1) } finally { depth++ }
var depth = 0

fun nested(i: Int, log: MutableList<String>): String {
    try {
        try {
            when (i) {
                0 -> return "returned"
                1 -> throw Custom("one", 1)
                2 -> listOf(1, 2)[5]
                3 -> (log as Any as Map<*, *>).size
                4 -> "x".toInt()
                5 -> null!!
                6 -> 1 / (i - 6)
                7 -> error("state")
                8 -> require(i < 0) { "require $i" }
                9 -> mutableListOf(1, 2, 3).let { l -> for (x in l) l.add(x) }
                10 -> IntArray(3)[i]
                11 -> "abc"[i]
                12 -> Color.valueOf("PINK")
                13 -> emptyList<Int>().first()
                14 -> mapOf(1 to 2).getValue(3)
                15 -> IntArray(-i)
                else -> throw NotImplementedError()
            }
            return "nothing"
        } catch (e: Custom) {
            throw RuntimeException("wrapped ${e.code}", e)
        } finally {
            log += "inner $i"
        }
    } catch (e: IndexOutOfBoundsException) {
        return "bounds"
    } catch (e: ClassCastException) {
        return "cast"
    } catch (e: RuntimeException) {
        return "${e::class.simpleName} cause ${e.cause?.message}"
    } catch (e: Throwable) {
        return "throwable ${e::class.simpleName}"
    } finally {
        log += "outer"
    }
}

fun throws() {
    try { deep(200) } catch (e: Custom) { println("${e.message} ${e.code} $depth") }
    val log = mutableListOf<String>()
    for (i in 0..16) println("$i ${nested(i, log)}")
    println("${log.size} ${log.first()} ${log.last()}")
    val log2 = mutableListOf<String>()
    try {
        Resource("a", log2, true).use { Resource("b", log2, true).use { throw Custom("in use", 7) } }
    } catch (e: Custom) { println("${e.message} ${e.suppressedExceptions.map { it.message }} $log2") }
    val r = runCatching { deep(3) }.recoverCatching { throw IllegalArgumentException("again", it) }
    println("${r.isFailure} ${r.exceptionOrNull()?.message} ${r.exceptionOrNull()?.cause?.message}")
    var sum = 0
    for (i in 0 until 20000) sum += try { if (i % 3 == 0) throw Custom("x", i) else i } catch (e: Custom) { -e.code } finally { sum++ }
    println(sum)
    println(sequenceOf(1, 2, 0, 4).map { runCatching { 8 / it }.getOrElse { -1 } }.toList())
}
enum class Color(val rgb: Int) { RED(0xff0000), GREEN(0xff00), BLUE(0xff); fun mix(o: Color) = rgb or o.rgb }
