// Coroutines by the intrinsics of the standard library: generators, a scheduler with channels, and exceptions that cross suspensions.
import kotlin.coroutines.*
import kotlin.coroutines.intrinsics.*

class Scheduler {
    private val queue = ArrayDeque<() -> Unit>()
    val log = mutableListOf<String>()
    fun launch(name: String, body: suspend Task.() -> Unit) {
        val task = Task(name, this)
        queue.addLast {
            body.startCoroutine(task, object : Continuation<Unit> {
                override val context = EmptyCoroutineContext
                override fun resumeWith(result: Result<Unit>) { log += "$name " + (result.exceptionOrNull()?.message ?: "done") }
            })
        }
    }
    fun later(f: () -> Unit) { queue.addLast(f) }
    fun run() { while (true) (queue.removeFirstOrNull() ?: return)() }
}
class Task(val name: String, val scheduler: Scheduler) {
    suspend fun pause(): Unit = suspendCoroutine { k -> scheduler.later { k.resume(Unit) } }
}
class Channel<T>(private val scheduler: Scheduler) {
    private val values = ArrayDeque<T>()
    private val waiting = ArrayDeque<Continuation<T>>()
    fun send(v: T) { val k = waiting.removeFirstOrNull(); if (k == null) values.addLast(v) else scheduler.later { k.resume(v) } }
    fun fail(e: Throwable) { waiting.removeFirstOrNull()?.let { k -> scheduler.later { k.resumeWithException(e) } } }
    suspend fun receive(): T = suspendCoroutineUninterceptedOrReturn { k ->
        values.removeFirstOrNull() ?: run { waiting.addLast(k); COROUTINE_SUSPENDED }
    }
}

fun tree(n: Int): Sequence<Int> = sequence {
    if (n > 0) { yieldAll(tree(n - 1)); yield(n); yieldAll(tree(n - 2)) }
}

fun coroutines() {
    val s = Scheduler()
    val numbers = Channel<Int>(s)
    val results = Channel<Long>(s)
    s.launch("producer") { for (i in 1..100) { numbers.send(i); if (i % 10 == 0) pause() }; numbers.send(-1) }
    s.launch("consumer") {
        var sum = 0L
        while (true) { val n = numbers.receive(); if (n < 0) break; sum += n * n }
        results.send(sum)
    }
    s.launch("reporter") { println("sum ${results.receive()}") ; pause(); throw IllegalStateException("reporter ends") }
    val never = Channel<String>(s)
    s.launch("failing") {
        try { never.receive() } catch (e: RuntimeException) { println("caught ${e.message}"); pause(); println("after") } finally { println("finally") }
    }
    s.launch("killer") { repeat(3) { pause() }; never.fail(RuntimeException("no more")) }
    s.run()
    println(s.log)
    println(tree(10).toList().let { "${it.size} ${it.sum()} ${it.take(12)}" })
    val fib = sequence { var a = 0L; var b = 1L; while (true) { yield(a); val c = a + b; a = b; b = c } }
    println(fib.drop(60).take(4).toList())
    val lines = iterator { for (i in 1..3) { yield("line $i"); try { yield("in try $i") } finally { yield("finally $i") } } }
    println(lines.asSequence().joinToString("|"))
    var steps = 0
    val tasks = Scheduler()
    repeat(300) { n -> tasks.launch("t$n") { repeat(20) { steps += n; pause() } } }
    tasks.run()
    println("$steps ${tasks.log.size}")
}
