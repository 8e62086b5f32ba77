// Strings: UTF-16, builders, numbers to text and back, regular expressions.
fun text() {
    val s = "Grüße, 世界 😀 — naïve"
    println("${s.length} ${s.uppercase()} ${s.reversed().length} ${s.indexOf("世")} ${s.encodeToByteArray().size}")
    println(s.map { it.code.toString(16) }.chunked(6).joinToString("/") { it.joinToString(",") })
    println(s.encodeToByteArray().decodeToString() == s)
    val b = StringBuilder()
    for (i in 0 until 1000) { b.append(i % 10).append(if (i % 97 == 0) "\u00e9" else ""); if (i % 333 == 0) b.insert(0, "<$i>") }
    println("${b.length} ${b.toString().hashCode()} ${b.substring(0, 20)}")
    println(listOf(0.1 + 0.2, 1e21, 1.0 / 3, -0.0, Double.NaN, Double.MIN_VALUE, 123456789.125, 1e-7).joinToString())
    println(listOf(0.1f, 1e10f, 16777217f, Float.POSITIVE_INFINITY).joinToString())
    println(listOf("12", "-9223372036854775808", "x", "7fffffff", "").joinToString { "${it.toIntOrNull()}|${it.toLongOrNull()}|${it.toDoubleOrNull()}|${it.toIntOrNull(16)}" })
    println("""
        |one
        |  two
        """.trimMargin().lines().map { it.padEnd(6, '.') })
    println(("banana".toSet().sorted().joinToString("") + "abc".compareTo("abd") + "Z".compareTo("a")) + ('a'..'e').step(2).toList())
    println("%s".length.toString() + 255.toString(2) + (-255).toString(36) + Long.MIN_VALUE + ULong.MAX_VALUE)
}
