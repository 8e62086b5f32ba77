/* standalone.c: the runtime of executables, as one source. */
#include "heap.c"
#include "core.c"
#include "objects.c"
#include "wasi.c"
#include "start.c"
