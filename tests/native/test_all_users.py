"""Each kind of user on all functions of the C library and of SQLite: the program's output stays the same.

The library calls itself in the middle of its allocator, holding its locks, in threads that begin and end, and
around a fork.

Broken by hand: the function profile took the engine's lock for a function's first call (the program hung).
"""

from __future__ import annotations

import sys
from pathlib import Path

import extension
import pytest
from conftest import Funcgraph
from planned import needs_plans

SOURCE = Path(__file__).parents[1] / "binding" / "capi" / "native_probe.c"

pytestmark = [needs_plans, pytest.mark.skipif("gcc" not in extension.available(), reason="no gcc is here")]

WORK = """
    import contextlib, json, os, re, sqlite3, subprocess, sys, threading, zlib

    def work():
        database = sqlite3.connect(":memory:")
        database.create_function("twice", 1, lambda x: 2 * x)
        print(database.execute("select twice(21)").fetchone())
        print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
        print(len(zlib.compress(b"x" * 10000)), json.loads("[1, 2.5]"), re.findall("a+", "baab"))
        for _ in range(5):
            threads = [threading.Thread(target=sorted, args=(range(1000),)) for _ in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        pid = os.fork()
        if not pid:
            json.dumps(list(range(1000)))
            os._exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
PROFILE = """
    import funcgraph
    patterns = ["*:mod:libc", "*:mod:libsqlite3"]
    with funcgraph.FunctionProfile(filter=patterns, graph_time={graph_time}) as profile:
        work()
    print(len(profile.rows()) > 100, profile.nmissed, file=sys.stderr)
"""
COMMANDS = """
    from funcgraph import Instance
    with Instance("x", tracer="function_graph", filter=["__main__.*"]) as instance:
        instance.tracing_on = True
        for command in ("malloc:mod:libc:stacktrace", "free:mod:libc:snapshot:50",
                        "*:mod:libsqlite3:traceoff:10", "*:mod:libc:traceon"):
            instance.function_commands.add(command)
        work()
        print("=> malloc [libc]" in instance.trace(), file=sys.stderr)
"""
USER = """
    import native_probe
    assert native_probe.start("*:mod:libc", 2) == 0 == native_probe.change("*:mod:libsqlite3")
    work()
    entries, returns, wrong = native_probe.stop()
    print(entries == returns > 1000, wrong, file=sys.stderr)
"""
FPROBE = """
    import native_probe
    assert native_probe.watch("*:mod:libc *:mod:libsqlite3", 2) == 0
    work()
    assert native_probe.unwatch() == 0
    print(native_probe.watched()["entries"] > 1000, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (PROFILE.format(graph_time=True), "True 0"),
        (PROFILE.format(graph_time=False), "True 0"),
        (COMMANDS, "True"),
        (USER, "True 0"),
        (FPROBE, "True"),
    ],
    ids=["profile", "profile-without-callees", "commands", "user", "fprobe"],
)
def test_the_output_is_that_of_the_program_alone(
    fg: Funcgraph, tmp_path: Path, user: str, expected: str
) -> None:
    extension.compile_extension(tmp_path, "native_probe", [SOURCE])
    start = f"    import sys\n    sys.path.insert(0, {str(tmp_path)!r})\n"
    alone = fg.plain(sys.executable, fg.script(f"{WORK}\n    work()\n"))
    done = fg.plain(sys.executable, fg.script(f"{start}{WORK}{user}"))
    assert (done.stdout, done.returncode) == (alone.stdout, 0), done.stderr
    assert done.stderr.splitlines()[-1:] == [expected]
