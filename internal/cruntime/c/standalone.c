/* standalone.c: the runtime of executables, as one source. */
#include "core.c"
#include "wasi.c"
#include "start.c"
