"""Users in C of native functions in a Python program, and Python callbacks, which are refused.

Broken by hand: register_user() did not hook what the filter selects (no entry); an fprobe of Python got a
Function that is native (its handler ran in the middle of native code).
"""

from __future__ import annotations

from pathlib import Path

import extension
import pytest
from conftest import Funcgraph
from counter import program
from planned import build, needs_plans

SOURCE = Path(__file__).parents[1] / "binding" / "capi" / "native_probe.c"
#: FTRACE_OPS_FL_NATIVE, FTRACE_OPS_FL_SAVE_REGS.
NATIVE, SAVE_REGS = 2, 1

pytestmark = [needs_plans, pytest.mark.skipif("gcc" not in extension.available(), reason="no gcc is here")]

#: A library with threads of its own, which call without the GIL, and functions with many arguments.
LIBRARY = """
    double many(long a, long b, long c, long d, long e, long f, double x, long g, long h, int i)
    {
        return a + b + c + d + e + f + g + h + i + x;
    }
    struct two { long a, b; };
    struct two pair(double x) { return (struct two){(long)x, (long)x + 1}; }
"""


def run(fg: Funcgraph, tmp_path: Path, text: str) -> list[str]:
    """Run a program with the counting library, the library above and the extension."""
    extension.compile_extension(tmp_path, "native_probe", [SOURCE])
    build(tmp_path, LIBRARY, "-Wl,--build-id", language="c", name="libmany.so")
    start = f"""
    sys.path.insert(0, {str(tmp_path)!r})
    import native_probe
    NATIVE, SAVE_REGS = {NATIVE}, {SAVE_REGS}
    """
    return program(fg, tmp_path, start + text).splitlines()


def test_counts_of_a_user_are_those_of_the_library_itself(fg: Funcgraph, tmp_path: Path) -> None:
    assert run(
        fg,
        tmp_path,
        """
    import threading
    library = load()
    print(native_probe.start("step:mod:libcounter", NATIVE))
    before = library.calls_of_step()
    threads = [threading.Thread(target=lambda: [library.walk(97) for _ in range(20)]) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(native_probe.change("walk:mod:libcounter"), library.walk(5), library.calls_of_step() - before)
    print(native_probe.stop())
    library.walk(5)
    print(native_probe.start("step:mod:libcounter", 0), library.walk(5), native_probe.stop())
    """,
    ) == ["0", f"0 5 {80 * 118 + 5}", f"({80 * 118 + 6}, {80 * 118 + 6}, 0)", "0 5 (0, 0, 0)"]


def test_registers_are_those_of_the_call(fg: Funcgraph, tmp_path: Path) -> None:
    printed = run(
        fg,
        tmp_path,
        f"""
    many = ctypes.CDLL({str(tmp_path / "libmany.so")!r})
    class Two(ctypes.Structure):
        _fields_ = [("a", ctypes.c_long), ("b", ctypes.c_long)]
    many.many.restype = ctypes.c_double
    many.many.argtypes = [ctypes.c_long] * 6 + [ctypes.c_double] + [ctypes.c_long] * 2 + [ctypes.c_int]
    many.pair.restype = Two
    many.pair.argtypes = [ctypes.c_double]
    print(native_probe.watch("many:mod:libmany", NATIVE | SAVE_REGS))
    print(many.many(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9))
    seen = native_probe.watched()
    print(seen["words"][:8], seen["words"][8] & 0xffffffff, seen["double"], seen["result_double"])
    print(seen["ip"] == ctypes.cast(many.many, ctypes.c_void_p).value, seen["is_native"], seen["has_frame"])
    print(seen["entries"], seen["returns"], seen["wrong"], native_probe.unwatch())
    print(native_probe.watch("pair:mod:libmany", NATIVE))
    two = many.pair(20.5)
    seen = native_probe.watched()
    print(two.a, two.b, seen["double"], seen["result"], seen["second"], seen["wrong"], native_probe.unwatch())
    """,
    )
    assert printed == [
        "0",
        "45.5",
        "(1, 2, 3, 4, 5, 6, 7, 8) 9 0.5 45.5",
        "True 1 0",
        "1 1 0 0",
        "0",
        "20 21 20.5 20 21 0 0",
    ]


def test_only_who_asked_gets_all_registers(fg: Funcgraph, tmp_path: Path) -> None:
    """The extension compares them with what the other functions of the API say. tests/arch/native/
    test_full_regs.c has a value in each register, and several users of one function."""
    printed = run(
        fg,
        tmp_path,
        f"""
    many = ctypes.CDLL({str(tmp_path / "libmany.so")!r}).many
    many.restype = ctypes.c_double
    many.argtypes = [ctypes.c_long] * 6 + [ctypes.c_double] + [ctypes.c_long] * 2 + [ctypes.c_int]
    for flags in NATIVE, NATIVE | SAVE_REGS, NATIVE | SAVE_REGS | 4:
        assert native_probe.watch("many:mod:libmany", flags) == 0
        many(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9)
        seen, full = native_probe.watched(), native_probe.watched_full()
        print(full["n"], seen["wrong"], native_probe.unwatch())
    print(full["di"], full["r9"], full["ip"] == seen["ip"], full["exit_sp"] - full["sp"])
    print(full["exit_ip"] not in range(seen["ip"], seen["ip"] + 64))
    """,
    )
    assert printed == ["0 0 0", "2 0 0", "2 0 0", "1 6 True 8", "True"]


def test_handlers_run_in_threads_that_python_does_not_know(fg: Funcgraph, tmp_path: Path) -> None:
    """glibc resolves names in a thread of its own (getaddrinfo_a), which has no thread state."""
    assert run(
        fg,
        tmp_path,
        """
    library = load()
    libc = ctypes.CDLL(None)
    print(native_probe.watch("step:mod:libcounter", NATIVE | SAVE_REGS))
    thread, start = ctypes.c_ulong(), ctypes.cast(library.walk, ctypes.c_void_p)
    before = library.calls_of_step()
    threads = [ctypes.c_ulong() for _ in range(4)]
    for n, thread in enumerate(threads):
        assert libc.pthread_create(ctypes.byref(thread), None, start, ctypes.c_void_p(97)) == 0
    for thread in threads:
        libc.pthread_join(thread, None)
    seen = native_probe.watched()
    print(seen["entries"] == seen["returns"] == library.calls_of_step() - before, seen["wrong"])
    print(native_probe.unwatch())
    """,
    ) == ["0", "True 0", "0"]


def test_functions_have_cookies_by_name(fg: Funcgraph, tmp_path: Path) -> None:
    assert run(
        fg,
        tmp_path,
        """
    import errno
    library = load()
    names = "walk:mod:libcounter", "step:mod:libcounter"
    print(native_probe.attach(*names, 0) == -errno.EOPNOTSUPP, native_probe.attach(*names, NATIVE))
    library.walk(4)
    print(native_probe.detach())
    print(native_probe.attach("none:mod:libcounter", "step:mod:libcounter", NATIVE))
    print(native_probe.kprobe_on("step:mod:libcounter") == -errno.EOPNOTSUPP)
    print(native_probe.watch("*:mod:_engine", NATIVE) == -errno.EOPNOTSUPP)
    print(native_probe.watch("*:mod:nothing", NATIVE) == -errno.ENOENT)
    print(native_probe.watch("step:mod:libcounter", 0) == -errno.ENOENT)
    """,
    ) == ["True 0", "[10, 20, 20]", "-1000", "True", "True", "True", "True"]


def test_python_callbacks_are_refused(fg: Funcgraph, tmp_path: Path) -> None:
    printed = run(
        fg,
        tmp_path,
        """
    import errno
    library = load()
    pattern = "*:mod:libcounter"
    def callback(*args):
        print("called")
    def attempt(action):
        try:
            action()
        except OSError as error:
            print(error.errno == errno.EOPNOTSUPP, error.strerror)
        else:
            print("not refused")
    for name in "filter", "graph", "graph_notrace":
        attempt(lambda: funcgraph.register_ftrace_graph(funcgraph.FgraphOps(callback, **{name: [pattern]})))
    ops = funcgraph.FgraphOps(callback, filter=["__main__.nothing"])
    with funcgraph.registered(ops):
        attempt(lambda: ops.set_filter([pattern]))
        print(ops.filter)
        ops.set_notrace([pattern])
    attempt(lambda: funcgraph.register_fprobe(funcgraph.Fprobe(callback), pattern))
    attempt(lambda: funcgraph.kprobe_multi(callback, filter=pattern))
    funcgraph.FunctionProfile(filter=[pattern])
    [step] = _engine.native_matching(["step:mod:libcounter"])
    attempt(lambda: _engine.register_fprobe_ips(funcgraph.Fprobe(callback), [step]))
    attempt(lambda: funcgraph.register_kprobe(funcgraph.Kprobe(callback, step, line=1)))
    with funcgraph.registered(funcgraph.FgraphOps(callback, filter=["*:mod:lib*", "*:mod:_ctypes"])):
        library.walk(5)
    """,
    )
    reason = "selects native functions of libcounter, whose calls can have no Python callbacks"
    refused = f"True pattern '*:mod:libcounter' {reason}"
    assert printed[:4] == [refused] * 4
    assert printed[4] == "('__main__.nothing',)"
    assert printed[5:7] == [refused] * 2
    assert printed[7] == "True calls of native functions can have no Python callbacks"
    assert printed[8:] == ["False libcounter.step() is not a Python function, or is gone"]
