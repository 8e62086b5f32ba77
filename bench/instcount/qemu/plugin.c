/* A plugin of qemu-user (interface 1, as of qemu 4.2 to 8.0) that counts how often
 * each translated block of generated code runs. What the instructions are, the
 * program that reads the counts finds out: this only keeps their bytes.
 *
 * Options: out=FILE     where the counts go (required)
 *          only=LO-HI   only blocks with an address in [LO, HI) are counted; or
 *          skip=LO-HI   all but these are; may be repeated
 *
 * FILE has a line for each translation that ran, in hexadecimal:
 *   ADDRESS RUNS ENTERED BYTES,BYTES...
 * with the bytes of each instruction. ENTERED is the runs that did not come from the instruction before, in the order of
 * addresses: branches that were taken, as seen from their target.
 *
 * No distribution installs the header of this interface, so what is used of it is declared here. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *),
                                          enum qemu_plugin_cb_flags, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

EXPORT int qemu_plugin_version = 1;

/* A translation. One address can have several, of different lengths or at different times. */
struct block {
  struct block *next;
  uint64_t addr, end, runs, entered;
  size_t size;
  uint8_t bytes[]; /* of each instruction, behind a byte with their number */
};

struct range {
  uint64_t lo, hi;
};

static struct range only, skip[16];
static size_t skips;
static const char *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of blocks: several threads translate */
static struct block *blocks;
static uint64_t following; /* the address behind the block that ran last */

/* Generated code runs in one thread at a time, so plain additions do. */
static void run(unsigned cpu, void *data) {
  struct block *b = data;
  b->runs++;
  b->entered += b->addr != following;
  following = b->end;
}

static bool counted(uint64_t addr) {
  if (only.hi) return addr >= only.lo && addr < only.hi;
  for (size_t i = 0; i < skips; i++)
    if (addr >= skip[i].lo && addr < skip[i].hi) return false;
  return true;
}

/* Whether a block ends with svc #0 of AArch64 or syscall of x86-64. Generated code never enters the system: such a block
 * is the emulator's own, which returns from signals at any time. */
static bool enters_system(const struct qemu_plugin_tb *tb) {
  struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);
  const void *code = qemu_plugin_insn_data(last);
  return qemu_plugin_insn_size(last) == 4 ? !memcmp(code, "\x01\x00\x00\xd4", 4) : qemu_plugin_insn_size(last) == 2 && !memcmp(code, "\x0f\x05", 2);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  uint64_t addr = qemu_plugin_tb_vaddr(tb);
  if (!counted(addr) || enters_system(tb)) return;
  size_t size = 0, n = qemu_plugin_tb_n_insns(tb);
  for (size_t i = 0; i < n; i++) size += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
  struct block *b = calloc(1, sizeof *b + size + n);
  if (!b) abort();
  b->addr = addr;
  b->end = addr + size;
  for (size_t i = 0; i < n; i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    size_t length = qemu_plugin_insn_size(insn);
    b->bytes[b->size++] = length;
    memcpy(b->bytes + b->size, qemu_plugin_insn_data(insn), length);
    b->size += length;
  }
  pthread_mutex_lock(&lock);
  b->next = blocks;
  blocks = b;
  pthread_mutex_unlock(&lock);
  qemu_plugin_register_vcpu_tb_exec_cb(tb, run, QEMU_PLUGIN_CB_NO_REGS, b);
}

static void finish(qemu_plugin_id_t id, void *data) {
  FILE *f = fopen(out, "w");
  if (!f) {
    perror(out);
    return;
  }
  pthread_mutex_lock(&lock);
  for (struct block *b = blocks; b; b = b->next) {
    if (!b->runs) continue;
    fprintf(f, "%" PRIx64 " %" PRIx64 " %" PRIx64 " ", b->addr, b->runs, b->entered);
    for (size_t i = 0; i < b->size;) {
      if (i) fputc(',', f);
      for (size_t end = i + b->bytes[i] + 1; ++i < end;) fprintf(f, "%02x", b->bytes[i]);
    }
    fputc('\n', f);
  }
  pthread_mutex_unlock(&lock);
  fputs("end\n", f); /* or the list is not complete */
  if (fclose(f)) perror(out);
}

static bool parse(const char *s, struct range *r) {
  char *end;
  r->lo = strtoull(s, &end, 0);
  if (*end != '-') return false;
  r->hi = strtoull(end + 1, &end, 0);
  return !*end && r->hi > r->lo;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    const char *a = argv[i];
    bool ok = true;
    if (!strncmp(a, "out=", 4)) out = strdup(a + 4);
    else if (!strncmp(a, "only=", 5)) ok = parse(a + 5, &only);
    else if (!strncmp(a, "skip=", 5)) ok = skips < 16 && parse(a + 5, &skip[skips++]);
    else ok = false;
    if (!ok) {
      fprintf(stderr, "plugin: bad option %s\n", a);
      return 1;
    }
  }
  if (!out) {
    fputs("plugin: no out=FILE\n", stderr);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finish, NULL);
  return 0;
}
