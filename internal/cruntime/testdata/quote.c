/* Writes each name of standard input as the runtime writes it: a record is its length, 4 bytes in this machine's order, and its bytes, in both directions. With an
 * argument, the record is what fits into a line of so many bytes. */
#include <stdio.h>
#include <stdlib.h>
#include "waot_runtime.c"

static char name[1 << 16], room[1 << 20];

int main(int argc, char **argv)
{
	uint32_t n, size = argc > 1 ? (uint32_t)atoi(argv[1]) : sizeof room;
	while (fread(&n, 4, 1, stdin) == 1 && fread(name, 1, n, stdin) == n) {
		struct core_line l = {room, 0, size, -1};
		core_put_name(&l, name, n, SIZE_MAX);
		n = (uint32_t)l.size;
		fwrite(&n, 4, 1, stdout);
		fwrite(room, 1, n, stdout);
	}
	return fflush(stdout) != 0;
}
