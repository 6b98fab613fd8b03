"""Dynamic events on native functions: what they fetch is what a C library was called with and returned.

Broken by hand: stack arguments were read one word too low (the seventh argument was wrong); a text
without a NUL before an unmapped page was one.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from native_events import BEGIN, printed_lines
from planned import build, needs_plans

import funcgraph

pytestmark = needs_plans

LIBRARY = r"""
    typedef unsigned long u64;
    struct pair { long a, b; };

    u64 numbers[3] = {1, 22, 333};
    static const char *words[2] __attribute__((used)) = {"first", "second"};
    static _Atomic u64 calls; /* threads call without the GIL */
    u64 calls_so_far(void) { return calls; }

    u64 nine(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i)
    {
        calls++;
        return a + b + c + d + e + f + g + h + i;
    }
    u64 mixed(u64 a, double x, u64 b, double y) { calls++; return a + b + (u64)(x + y); }
    double real(double x, double y) { calls++; return x * y; }
    u64 take(const void *p, u64 n) { calls++; return n ? *(const unsigned char *)p : n; }
    void fill(char *to, u64 n)
    {
        calls++;
        for (u64 i = 0; i < n; i++)
            to[i] = "abcdefgh"[i % 8];
        to[n] = 0;
    }
    int fail(int n) { calls++; return -n; }
"""

PROLOGUE = (
    BEGIN
    + r"""
    import mmap

    for name in ("nine", "mixed", "take", "calls_so_far"):
        getattr(library, name).restype = u64
    library.nine.argtypes = [u64] * 9
    library.take.argtypes = [ctypes.c_void_p, u64]
    library.mixed.argtypes = [u64, ctypes.c_double, u64, ctypes.c_double]
    library.real.argtypes = [ctypes.c_double] * 2
    library.real.restype = ctypes.c_double
    library.fill.argtypes = [ctypes.c_void_p, u64]
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
"""
)


def sample(tmp_path: Path) -> Path:
    return build(tmp_path, LIBRARY, "-Wl,--build-id", language="c", name="libsample.so")


def program(fg: Funcgraph, tmp_path: Path, text: str, *arguments: str) -> list[str]:
    """Run a program with the library; return the lines that it prints."""
    return printed_lines(fg, sample(tmp_path), PROLOGUE + text, *arguments)


def test_an_event_has_the_size_that_malloc_was_asked_for(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    define("f:mem/big libc:malloc size=$arg1:u64")
    with Instance("x") as instance:
        instance.events["mem/big"].filter = "size > 7000000"
        instance.events["mem/big"].enable = True
        for size in (9_000_000, 10, 7_000_000, 7_000_001):
            libc.free(libc.malloc(size))
        instance.events["mem/big"].enable = False
        print("\\n".join(hits(instance)))
    print([state[1:3] for state in _engine.native_functions()])
    """,
    )
    assert printed == ["(malloc [libc]) size=9000000", "(malloc [libc]) size=7000001", "[('malloc', False)]"]


def test_arguments_in_registers_and_on_the_stack_and_the_result(fg: Funcgraph, tmp_path: Path) -> None:
    fields = " ".join(f"$arg{n}:u64" for n in range(1, 10))
    printed = program(
        fg,
        tmp_path,
        f"""
    run = lambda: library.nine(1, 2, 3, 4, 5, 6, 7, 2**64 - 8, 9)
    fields = "{fields}"
    for hit in values(run, f"f:x/in libsample:nine {{fields}}",
                      f"f:x/out libsample:nine%return {{fields}} $retval:s64"):
        print(hit)
    """,
    )
    seen = "arg1=1 arg2=2 arg3=3 arg4=4 arg5=5 arg6=6 arg7=7 arg8=18446744073709551608 arg9=9"
    assert printed == [f"(nine [libsample]) {seen}", f"(<unknown> <- nine [libsample]) {seen} arg10=29"]


def test_doubles_have_registers_of_their_own(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    def run():
        library.mixed(10, 1.5, 20, -2.25)
        library.real(3.0, 0.5)
    for hit in values(run, "f:x/mixed libsample:mixed $arg1:u64 $arg2:u64 x=%xmm0:f64 y=%xmm1:f64",
                      "f:x/real libsample:real%return x=%xmm0:f64 $retval"):
        print(hit)
    """,
    )
    assert printed[0] == "(mixed [libsample]) arg1=10 arg2=20 x=1.5 y=-2.25"
    assert printed[1].startswith("(<unknown> <- real [libsample]) x=1.5 arg2=0x")


def test_a_return_event_reads_what_the_call_has_filled(fg: Funcgraph, tmp_path: Path) -> None:
    """Arguments are those of the entry; what they point to is read at the return, as in the kernel."""
    printed = program(
        fg,
        tmp_path,
        """
    buffer = ctypes.create_string_buffer(b"before", 32)
    run = lambda: library.fill(buffer, 10)
    for hit in values(run, "f:x/in libsample:fill s=+0($arg1):string",
                      "f:x/out libsample:fill%return s=+0($arg1):string n=$arg2:u8 first=+0($arg1):char[3]"):
        print(hit)
    """,
    )
    assert printed == [
        '(fill [libsample]) s="before"',
        "(<unknown> <- fill [libsample]) s=\"abcdefghab\" n=10 first={'a','b','c'}",
    ]


#: What a random definition reads is read once more by this, from what the program knows of its memory.
MODEL = r"""
    import random

    rng = random.Random(int(sys.argv[2]))
    PAGE = mmap.PAGESIZE
    memory = mmap.mmap(-1, 4 * PAGE)  # the first and the last cannot be read
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + PAGE
    # Any other eight bytes are no address of a process: no byte is 0, and pointers do not overlap. Else they
    # could point to somebody's memory: a program that is not position-independent has some below 16 MB.
    BAD = int.from_bytes(b"\xfe" * 8, "little")
    content = bytearray(rng.choice(b"abcxyz \x10\x81\xfe") for _ in range(2 * PAGE))
    for at in rng.sample(range(0, 2 * PAGE, 8), 300):
        target = rng.choice([base + rng.randrange(2 * PAGE), BAD, base + 2 * PAGE - rng.randrange(9)])
        content[at : at + 8] = target.to_bytes(8, "little")
    memory[PAGE : 3 * PAGE] = bytes(content)
    assert libc.mprotect(base - PAGE, PAGE, 0) == libc.mprotect(base + 2 * PAGE, PAGE, 0) == 0
    BITS = (1 << 64) - 1

    def read(address, n):
        at = (address & BITS) - base
        return content[at : at + n] if 0 <= at and at + n <= len(content) else None

    def number(data, kind):
        value = int.from_bytes(data, "little", signed=kind[0] == "s")
        return hex(value) if kind[0] == "x" else str(value)

    def field():
        # A fetch argument, and what it is for given arguments: all its elements.
        n = rng.randrange(1, 10)
        text, derefs = f"$arg{n}", [rng.randrange(-16, 64) for _ in range(rng.randrange(4))]
        for offset in derefs:
            text = f"{'-' if offset < 0 else '+'}{abs(offset)}({text})"
        size = rng.choice([1, 2, 4, 8])
        kind = f"{rng.choice('usx')}{size * 8}"
        count = rng.choice([0, 0, 0, 3, 5]) if derefs else 0

        def value(arguments):
            word = arguments[n - 1]
            for offset in derefs[:-1]:
                data = read(word + offset, 8)
                if data is None:
                    return ["(fault)"] * max(count, 1)
                word = int.from_bytes(data, "little")
            if not derefs:
                return [number((word & BITS).to_bytes(8, "little")[:size], kind)]
            found = [read(word + derefs[-1] + i * size, size) for i in range(max(count, 1))]
            return ["(fault)" if data is None else number(data, kind) for data in found]

        return f"{text}:{kind}{f'[{count}]' if count else ''}", count, value

    fields = [field() for _ in range(rng.randrange(1, 9))]
    kind = rng.choice(["", "%return"])
    define(f"f:x/y libsample:nine{kind} " + " ".join(f"f{i}={text}" for i, (text, _, _) in enumerate(fields)))
    pick = lambda: rng.choice([rng.getrandbits(64), rng.randrange(100), base + rng.randrange(2 * PAGE),
                               base + 2 * PAGE - rng.randrange(1, 9)])
    calls = [[pick() for _ in range(9)] for _ in range(20)]
    with Instance("x") as instance:
        instance.events["x/y"].enable = True
        for call in calls:
            library.nine(*call)
        instance.events["x/y"].enable = False
        seen = [line.partition("nine [libsample]) ")[2] for line in hits(instance)]
    for call, line in zip(calls, seen, strict=True):
        expected = []
        for i, (text, count, value) in enumerate(fields):
            found = value(call)
            expected.append(f"f{i}={{{','.join(found)}}}" if count else f"f{i}={found[0]}")
        if line != " ".join(expected):
            print(list(funcgraph.dynamic_events)[0].text, call, line, " ".join(expected), sep=" | ")
    print(library.calls_so_far(), len(seen))
"""


@pytest.mark.parametrize("seed", range(12))
def test_random_definitions_read_what_a_model_reads(fg: Funcgraph, tmp_path: Path, seed: int) -> None:
    assert program(fg, tmp_path, MODEL, str(seed)) == ["20 20"]


def test_hits_are_as_many_as_the_library_counts(fg: Funcgraph, tmp_path: Path) -> None:
    """In threads that have no GIL, too."""
    printed = program(
        fg,
        tmp_path,
        """
    import threading
    define("f:x/y libsample:take n=$arg2:u64", "f:x/z libsample:take%return n=$retval:u64")
    with Instance("x") as instance:
        instance.buffer_size_kb = 65536
        for name in ("x/y", "x/z"):
            instance.events[name].enable = True
        instance.events["x/y"].trigger = "hist:keys=n"
        before = library.calls_so_far()
        work = lambda: [library.take(b"x", n % 4) for n in range(2000)]
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        for name in ("x/y", "x/z"):
            instance.events[name].enable = False
        text = instance.trace()
        print(text.count(" y: "), text.count(" z: "), library.calls_so_far() - before)
        print(str(instance.events["x/y"].hist).count("hitcount:       2000"))
    """,
    )
    assert printed == ["8000 8000 8000", "4"]


def test_filters_and_triggers_are_the_engine_s(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    define("f:x/y libsample:take s=+0($arg1):string n=$arg2:u64", "f:x/z libsample:take%return $retval:u64")
    with Instance("x") as instance:
        event = instance.events["x/y"]
        event.filter = 's ~ "a*" && n & 1'
        event.enable = True
        event.trigger = "traceoff:1 if n == 9"
        event.trigger = "hist:keys=s:vals=n:sort=n"
        instance.events["x/z"].trigger = "hist:keys=stacktrace"
        for text, n in ((b"abc", 1), (b"abc", 2), (b"x", 3), (b"ab", 9), (b"abc", 5)):
            library.take(text, n)
        for hit in hits(instance):
            print(hit)
        for row in str(event.hist).splitlines():
            if row.startswith("{"):
                print(row)
        print(str(instance.events["x/z"].hist).count("libsample.take"))
    """,
    )
    assert printed[:2] == ['(take [libsample]) s="abc" n=1', '(take [libsample]) s="ab" n=9']
    assert sorted(row.split() for row in printed[2:5]) == [
        ["{", "s:", "ab", "}", "hitcount:", "1", "n:", "9"],
        ["{", "s:", "abc", "}", "hitcount:", "3", "n:", "8"],
        ["{", "s:", "x", "}", "hitcount:", "1", "n:", "3"],
    ]
    assert printed[5] == "1"


#: The handler of the signal allocates.
SIGNALS = r"""
    #include <signal.h>
    #include <stdlib.h>

    static volatile long handled;
    static void handle(int signal)
    {
        void *p = malloc(1234567);

        (void)signal;
        handled += p != 0;
        free(p);
    }
    long handler_allocates(void)
    {
        signal(SIGUSR1, handle);
        raise(SIGUSR1);
        return handled;
    }
"""


def test_malloc_in_a_handler_of_a_signal(fg: Funcgraph, tmp_path: Path) -> None:
    folder = tmp_path / "signals"
    folder.mkdir()
    library = build(folder, SIGNALS, "-Wl,--build-id", "-lc", language="c", name="libsignals.so")
    printed = program(
        fg,
        tmp_path,
        """
    signals = ctypes.CDLL(sys.argv[2])
    define("f:x/y libc:malloc size=$arg1:u64")
    with Instance("x") as instance:
        event = instance.events["x/y"]
        event.filter = "size == 1234567"
        event.enable = True
        print(signals.handler_allocates())
        event.enable = False
        print(*hits(instance))
    """,
        str(library),
    )
    assert printed == ["1", "(malloc [libc]) size=1234567"]


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="there is no trace-cmd")
def test_stock_trace_cmd_prints_what_was_recorded(fg: Funcgraph, tmp_path: Path) -> None:
    library = sample(tmp_path)
    script = fg.script("""
    import ctypes, sys
    library = ctypes.CDLL(sys.argv[1])
    library.take(b"some text", 9)
    """)
    entry = "f:x/y libsample:take s=+0($arg1):string a=+0($arg1):u8[2] n=$arg2:s32"
    done = fg.record(
        "-e", entry, "-f", "n > 8", "-e", "f:x/z libsample:take%return $retval", script, str(library)
    )
    assert done.returncode == 0, done.stderr
    report = fg.run("report").stdout
    assert '(take [libsample]) s="some text" a={115,111} n=9' in report
    assert "take [libsample]) arg1=0x73" in report
    fg.run("export", "trace-dat", "trace.fg", "trace.dat")
    printed = fg.plain("trace-cmd", "report", "trace.dat").stdout
    assert '(libsample.take) s="some text" a=ARRAY[73, 6f] n=9' in printed or "a={115,111} n=9" in printed
    assert "libsample.take) arg1=0x73" in printed


def test_variables_of_the_object(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    line = "f:x/y libsample:take n=@numbers+8:u64 a=@numbers:u16[3] w=@words:string[2] s=+0(@words+8):string"
    (hit,) = values(lambda: library.take(b"x", 0), line)
    print(hit)
    print(funcgraph.dynamic_events.read().rstrip() == line)
    try:
        define("f libsample:take @nosuch")
    except OSError as error:
        print(*str(error).splitlines(), sep="\\n")
    """,
    )
    assert printed == [
        '(take [libsample]) n=22 a={1,0,0} w={"first","second"} s="second"',
        "True",
        "trace_fprobe: Failed to register probe event",
        "  Command: f libsample:take @nosuch",
        "             ^",
        "no loaded object that is named libsample has the variable nosuch",
    ]


def test_what_is_not_there_is_refused(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    for line in ("f libsample:nosuch", "f libnothing:take", "f lib*thing:take"):
        try:
            define(line)
        except OSError as error:
            print(error.errno, str(error).splitlines()[0])
    print(funcgraph.dynamic_events.read(), _engine.native_functions())
    """,
    )
    refused = "22 trace_fprobe: Invalid probed address or symbol"
    assert printed == [refused, refused, refused, " []"]


def test_functions_are_hooked_while_the_event_is_used(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    hooked = lambda: sorted(name for _, name, is_hooked, _ in _engine.native_functions() if is_hooked)
    names = define("f:x/y libsample:[nt]*e n=$arg2:u64", "f:x/y libsample:real n=%xmm0:u64")
    print(len(funcgraph.dynamic_events), hooked())
    with Instance("x") as instance:
        instance.events["x/y"].enable = True
        print(hooked())
        library.take(b"", 7)
        library.nine(*range(9))
        library.real(0.0, 1.0)
        funcgraph.dynamic_events.delete("-:x/y libsample:real")
        print(hooked())
        library.real(0.0, 1.0)
        try:
            funcgraph.dynamic_events.delete("-:x/y")
        except OSError as error:
            print(error.errno)
        print(*hits(instance), sep="\\n")
    print(hooked())
    funcgraph.dynamic_events.delete("-:x/y")
    print(funcgraph.dynamic_events.read() == "")
    """,
    )
    assert printed == [
        "2 []",
        "['nine', 'real', 'take']",
        "['nine', 'take']",
        "16",
        "(take [libsample]) n=7",
        "(nine [libsample]) n=1",
        "(real [libsample]) n=0",
        "[]",
        "True",
    ]


def test_events_on_events_and_synthetic_events(fg: Funcgraph, tmp_path: Path) -> None:
    """How long a call took, by a histogram's variable; and an event on that."""
    printed = program(
        fg,
        tmp_path,
        """
    define("f:x/in libsample:take n=$arg2:u64", "f:x/out libsample:take%return n=$arg2:u64",
           "s:took u64 n; u64 ns", "e:one synthetic/took n=$n if n == 2")
    with Instance("x") as instance:
        instance.events["x/in"].trigger = "hist:keys=common_pid:t0=common_timestamp,n0=n"
        instance.events["x/out"].trigger = (
            "hist:keys=common_pid:ns=common_timestamp-$t0:onmatch(x.in).took($n0,$ns)")
        for name in ("synthetic/took", "eprobes/one"):
            instance.events[name].enable = True
        for n in (1, 2, 3):
            library.take(b"x", n)
        for name in ("synthetic/took", "eprobes/one"):
            instance.events[name].enable = False
        for line in instance.trace().splitlines():
            if line[:1] == " ":
                print(line.split(": ", 1)[1].partition(" ns=")[0])
    """,
    )
    assert printed == ["took: n=1", "took: n=2", "one: n=2", "took: n=3"]


def test_events_through_the_files_of_the_instance(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    with Instance("x") as instance:
        files = instance.files
        files["dynamic_events"] = "f:x/y libsample:take s=+0($arg1):string n=$arg2:s16"
        files["events/x/y/filter"] = "n < 0"
        files["events/x/y/enable"] = "1"
        library.take(b"a", 2**64 - 1)
        library.take(b"b", 1)
        files["events/x/y/enable"] = "0"
        print(files["dynamic_events"].rstrip())
        print(*hits(instance), sep="\\n")
        print(*(line.strip() for line in files["events/x/y/format"].splitlines()
                if " s;" in line or " n;" in line), sep="\\n")
    """,
    )
    assert printed[:2] == [
        "f:x/y libsample:take s=+0($arg1):string n=$arg2:s16",
        '(take [libsample]) s="a" n=-1',
    ]
    assert [line.split(";")[0] for line in printed[2:]] == ["field:__data_loc char[] s", "field:s16 n"]


def test_the_trace_has_its_fields_in_python_and_in_exports(fg: Funcgraph, tmp_path: Path) -> None:
    library = sample(tmp_path)
    script = fg.script("""
    import ctypes, sys
    library = ctypes.CDLL(sys.argv[1])
    for n in range(5):
        library.take(b"text", n)
    """)
    done = fg.record("-e", "f:x/y libsample:take s=+0($arg1):string n=$arg2:u64", script, str(library))
    assert done.returncode == 0, done.stderr
    with funcgraph.open(fg.trace) as trace:
        found = [dict(event.fields or {}) for event in trace.events()]
    assert found == [{"s": "text", "n": n} for n in range(5)]
    exported = fg.run("export", "chrome", "trace.fg", "-o", "-").stdout
    assert exported.count('"args":{"s":"text","n":') == 5


def test_an_event_on_all_functions_of_libc(fg: Funcgraph, tmp_path: Path) -> None:
    """Whatever its arguments point to: the program's output and its exit status stay the same."""
    script = fg.script("""
    import json, os, re, sqlite3, subprocess, sys, threading, zlib

    database = sqlite3.connect(":memory:")
    print(database.execute("select upper('x'), 21 * 2").fetchone())
    print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
    print(len(zlib.compress(b"x" * 10000)), json.loads("[1, 2.5]"), re.findall("a+", "baab"))
    threads = [threading.Thread(target=sorted, args=(range(1000),)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    pid = os.fork()
    if not pid:
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.exit(3)
    """)
    entry = "a=+0($arg1):u64 s=+0($arg2):string c=+8(+0($arg1)):u8[4] d=$arg7 e=$stack3 x=%xmm0:f64"
    result = "r=$retval s=+0($retval):string b=+0($arg2):x32 c=%cx"
    plain = fg.plain(sys.executable, script)
    done = fg.record("-e", f"f:x/in libc:* {entry}", "-e", f"f:x/out libc:*%return {result}", script)
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode) == (plain.stdout, 3)
    report = fg.run("report").stdout
    assert " in: (malloc [libc]) a=" in report and "<- malloc [libc]) r=0x" in report


def test_events_come_and_go_while_threads_call(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    import threading
    is_done = False
    def call():
        n = 0
        while not is_done:
            library.take(b"a text", n % 2)
            n += 1
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads: thread.start()
    with Instance("x") as instance:
        for n in range(30):
            kind = "%return" if n % 2 else ""
            define(f"f:x/y libsample:take{kind} s=+0($arg1):string n=$arg2:u64")
            instance.events["x/y"].trigger = "hist:keys=s,n"
            instance.events["x/y"].enable = True
            seen = library.calls_so_far()
            while library.calls_so_far() < seen + 100:
                pass
            instance.events["x/y"].enable = False
            rows = str(instance.events["x/y"].hist)
            if rows.count("{ s: a text") != 2 or "(fault)" in rows:
                print(rows)
            instance.events["x/y"].trigger = "!hist:keys=s,n"
            funcgraph.dynamic_events.delete("-:x/y")
        print(instance.trace().count("(fault)"), _engine.killed())
    is_done = True
    for thread in threads: thread.join()
    """,
    )
    assert printed == ["0 None"]
