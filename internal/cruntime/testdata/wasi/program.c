/* Runs the _start of a program with WASI: [--dir HOST::GUEST[::ro]] [--env K=V] [--no-openat2] -- arguments. Its
 * standard streams are this process's, and its exit status becomes this one's. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "waot_runtime.h"
#include "options.h"

extern const waot_object prog_object __asm__("prog.object");
void prog_start(void) __asm__("prog.._start");

static void start(void *arg)
{
	(void)arg;
	prog_start();
}

int main(int argc, char **argv)
{
	waot_wasi_config config;
	options(argc, argv, &config);
	waot_instance *inst = instantiate(&prog_object);
	int r = waot_wasi_open(inst, &config);
	if (r < 0) {
		fprintf(stderr, "waot_wasi_open: %s\n", strerror(-r));
		return 112;
	}
	waot_trap trap;
	int code = waot_try(&trap, start, NULL);
	waot_wasi_close(inst);
	if (code == WAOT_EXIT)
		return trap.status;
	if (code)
		waot_print(&trap, 2);
	return code ? 134 : 0;
}
