# Runs in gdb: steps through a program, and at each instruction compares gdb's backtrace, which .eh_frame decides, with what calls and
# returns have done. The stack of calls, and what the callee-saved registers held at each, are kept beside it; a walk along the
# frame pointers, in a function's first instruction, says how it begins. Prints "ok" and the number of instructions looked at.
#
# The variable UNWIND says: the machine, the number of instructions, and where to begin: hits of these functions in turn, by name.
import os

import gdb

machine, each, *starts = os.environ["UNWIND"].split()
each = int(each)
x64 = machine == "x64"
if x64:
    pc, sp, fp = "rip", "rsp", "rbp"
    kept = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
else:
    pc, sp, fp = "pc", "sp", "x29"
    kept = ["x%d" % n for n in range(19, 30)] + ["v%d" % n for n in range(8, 16)]
inferior = gdb.selected_inferior()


def register(frame, name):
    v = frame.read_register(name)
    if name[0] == "v":  # the low half is kept; gdb does not unwind d8
        v = v["d"]["u"][0]
    return int(v) & (1 << 64) - 1


def word(at):
    return int.from_bytes(inferior.read_memory(at, 8).tobytes(), "little")


def registers(frame):
    return {r: register(frame, r) for r in kept}


def instruction(at):
    return inferior.read_memory(at, 4).tobytes()


class Call:
    def __init__(self, back, kept):
        self.back, self.kept = back, kept


def walk(f):
    """The calls around a function's first instruction, the outermost first; registers are known of the innermost."""
    calls = [Call(word(register(f, sp)) if x64 else register(f, "x30"), registers(f))]
    at = register(f, fp)
    while at:
        calls.append(Call(word(at + 8), None))
        at = word(at)
        if calls[-1].back == 0:
            calls.pop()
            break
    return calls[::-1]


def compare(calls, where):
    f = gdb.newest_frame()
    # waot_core_leave returns from a call further out. On the way it has no registers of the calls that end.
    leaves = f.name() == "waot_core_leave"
    while leaves and f.older().pc() != calls[-1].back:
        calls.pop()
    for c in reversed(calls):
        older = f.older()
        if older is None:
            raise gdb.GdbError("%#x: %s: the backtrace ends behind %#x, before %#x" % (where, f.name(), f.pc(), c.back))
        f = older
        if f.pc() != c.back:
            raise gdb.GdbError("%#x: the backtrace has %#x instead of %#x" % (where, f.pc(), c.back))
        for r, v in (c.kept or {}).items():
            if leaves and f.read_register(r).is_optimized_out:
                continue
            have = register(f, r)
            if have != v:
                raise gdb.GdbError("%#x: %s is %#x at the return to %#x, was %#x" % (where, r, have, c.back, v))


def run(left):
    seen = 0
    f = gdb.newest_frame()
    # What is around main is the C library's.
    calls = [] if f.name() == "main" else walk(f)
    while left > 0:
        f = gdb.newest_frame()
        at, stack = f.pc(), register(f, sp)
        compare(calls, at)
        seen += 1
        left -= 1
        code = instruction(at)
        saved = registers(f)
        gdb.execute("stepi", to_string=True)
        if not inferior.threads():  # it has ended
            break
        f = gdb.newest_frame()
        to, now = f.pc(), register(f, sp)
        if x64:
            called = now == stack - 8 and 2 <= word(now) - at <= 8 and to != word(now)
            returned = code[0] in (0xC3, 0xC2) or code[:2] == b"\xf3\xc3"
            back = word(now)
        else:
            back = at + 4
            called = to != back and register(f, "x30") == back and (code[3] & 0xFC == 0x94 or code[3] == 0xD6)
            returned = code == b"\xc0\x03\x5f\xd6"
        if called:
            calls.append(Call(back, saved))
        elif returned:
            if not calls:
                break
            if calls[-1].back != to:
                raise gdb.GdbError("%#x returned to %#x instead of %#x" % (at, to, calls[-1].back))
            calls.pop()
    return seen


try:
    seen = 0
    for s in starts:
        # The address of a symbol is its first instruction; gdb itself would skip the prologue.
        b = gdb.Breakpoint("*(char *)&'%s'" % s, temporary=True)
        gdb.execute("continue", to_string=True)
        if not inferior.threads():
            break
        if b.is_valid():
            b.delete()
        seen += run(each)
    print("ok", seen)
except gdb.error as e:
    print("gdb:", e)
