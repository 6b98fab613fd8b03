"""Other tools that watch the same program find the same beside funcgraph as alone, and so does funcgraph."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph
from sizes import share

PROGRAMS = Path(__file__).parent / "programs"
HERE = ["recursion", "generators", "coroutines", "exceptions", "classes"]

OPTIONS = [[], ["--args", "--retval", "--c-calls"]]


def app(fg: Funcgraph, program: str) -> Path:
    """Write a script into the test's folder that runs a program of programs/."""
    text = (PROGRAMS / f"{program}.py").read_text()
    return fg.script(text + '\n\nif __name__ == "__main__":\n    main()\n', f"{program}.py")


def own_calls(fg: Funcgraph, script: Path) -> Counter[tuple[int, str]]:
    """Return the calls and resumes of the script's own functions in the trace."""
    counts: Counter[tuple[int, str]] = Counter()
    for function in fg.summary()["functions"]:
        if function["file"] == str(script):
            counts[function["line"], function["name"]] += function["calls"] + function["resumes"]
    assert counts
    return counts


def check(
    fg: Funcgraph, script: Path, options: list[str], tool: list[str], result: Callable[[], Any]
) -> None:
    """Run `tool` with and without a recording. Its `result` must be equal, and so must funcgraph's counts."""
    python = [sys.executable, *tool]
    expected = fg.plain(*python, timeout=120)
    assert expected.returncode == 0, expected.stderr
    expected_result = result()
    assert expected_result
    assert fg.record("-q", *options, sys.executable, script).returncode == 0
    alone = own_calls(fg, script)
    both = fg.record("-q", *options, *python, timeout=180)
    assert both.returncode == 0, both.stderr
    assert both.stdout == expected.stdout
    assert both.stderr == expected.stderr
    assert result() == expected_result
    assert own_calls(fg, script) == alone


@pytest.mark.parametrize(
    ("program", "core", "options"), share(HERE, ["ctrace", "sysmon", "ctrace-branch"], OPTIONS, of=5)
)
def test_coverage(
    fg: Funcgraph, program: str, core: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring came with 3.12")
    if core != "sysmon" and importlib.util.find_spec("coverage.tracer") is None:
        pytest.skip("this coverage has no tracer in C")
    script = app(fg, program)
    fg.env["COVERAGE_CORE"] = core.partition("-")[0]

    def report() -> Any:
        done = fg.plain(sys.executable, "-m", "coverage", "json", "-o", "coverage.json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((fg.folder / "coverage.json").read_text())["files"]

    branch = ["--branch"] if "branch" in core else []
    check(fg, script, options, ["-m", "coverage", "run", *branch, str(script)], report)


@pytest.mark.parametrize(("program", "options"), share(HERE, OPTIONS, of=5))
def test_cprofile(fg: Funcgraph, program: str, options: list[str]) -> None:
    """cProfile's calls, recursive calls and callers of the program's functions."""
    script = app(fg, program)
    watcher = fg.script(
        """
        import cProfile, json, re, runpy, sys
        path = sys.argv[1]

        def name(code):
            if isinstance(code, str):
                return re.sub("0x[0-9a-f]+", "", code)
            return f"{code.co_qualname}:{code.co_firstlineno}"

        profiler = cProfile.Profile()
        profiler.enable()
        try:
            runpy.run_path(path, run_name="__main__")
        finally:
            profiler.disable()
        rows = []
        for entry in profiler.getstats():
            if not isinstance(entry.code, str) and entry.code.co_filename == path:
                called = entry.calls or ()
                calls = sorted([name(call.code), call.callcount, call.reccallcount] for call in called)
                rows.append([name(entry.code), entry.callcount, entry.reccallcount, calls])
        with open("profile.json", "w") as file:
            json.dump(sorted(rows), file)
        """,
        "watcher.py",
    )
    check(fg, script, options, [str(watcher), str(script)], (fg.folder / "profile.json").read_text)


@pytest.mark.parametrize(("program", "options"), share(HERE, OPTIONS, of=5))
def test_viztracer(fg: Funcgraph, program: str, options: list[str]) -> None:
    pytest.importorskip("viztracer")
    script = app(fg, program)

    def report() -> Any:
        events = json.loads((fg.folder / "viz.json").read_text())["traceEvents"]
        return Counter((event["ph"], event["name"]) for event in events if "0x" not in event["name"])

    tool = ["-m", "viztracer", "--quiet", "--tracer_entries", "2000000", "-o", "viz.json", str(script)]
    check(fg, script, options, tool, report)


@pytest.mark.parametrize("options", OPTIONS)
def test_debugger(fg: Funcgraph, options: list[str]) -> None:
    script = app(fg, "generators")
    commands = "\n".join([
        "break tree", "commands", "where", "continue", "end", "break inner_does_not_exist", "tbreak averager",
        "continue", "continue", "args", "step", "next", "return", "p list(numbers(3))", "until", "up", "down",
        "ignore 1 5", "condition 1 depth == 2", "continue", "clear 1", "display 1 + 1", "next", "continue",
        "quit",
    ])  # fmt: skip
    (fg.folder / ".pdbrc").write_text("")
    words = [sys.executable, "-m", "pdb", str(script)]
    expected = fg.plain(*words, input=commands)
    result = fg.record("-q", *options, *words, input=commands)
    assert result.stdout == expected.stdout
    assert result.stdout.count("-> ") > 10
    assert result.stderr == expected.stderr
    assert result.returncode == expected.returncode


@pytest.mark.parametrize(("program", "options"), share(HERE, OPTIONS, of=5))
def test_trace_function(fg: Funcgraph, program: str, options: list[str]) -> None:
    """Every event of sys.settrace and sys.setprofile, in order."""
    script = app(fg, program)
    watcher = fg.script(
        """
        import runpy, sys
        kind, path = sys.argv[1:]
        out = open(f"{kind}.txt", "w")

        def name(arg):
            return arg.__name__ if type(arg) is type(len) else type(arg).__name__

        # 3.11 inlines calls only without a frame evaluator; of an inlined one f_lasti is the end.
        def where(frame, event):
            return frame.f_lasti if event == "opcode" or sys.version_info >= (3, 12) else None

        def watch(frame, event, arg):
            code = frame.f_code
            if code.co_filename == path:
                frame.f_trace_opcodes = kind == "opcodes"
                out.write(f"{code.co_name} {event} {frame.f_lineno} {where(frame, event)} {name(arg)}\\n")
            return watch

        start = sys.setprofile if kind == "setprofile" else sys.settrace
        start(watch)
        try:
            runpy.run_path(path, run_name="__main__")
        finally:
            start(None)
        """,
        "watcher.py",
    )
    for kind in ("settrace", "setprofile", "opcodes"):

        def report(kind: str = kind) -> Any:
            return (fg.folder / f"{kind}.txt").read_text()

        check(fg, script, options, [str(watcher), kind, str(script)], report)


@pytest.mark.parametrize("options", OPTIONS)
def test_bdb_steps(fg: Funcgraph, options: list[str]) -> None:
    """Every step of a debugger, with breakpoints that are set and cleared."""
    script = app(fg, "recursion")
    watcher = fg.script(
        """
        import bdb, sys
        path = sys.argv[1]

        class Steps(bdb.Bdb):
            n = 0

            def user_line(self, frame):
                if frame.f_code.co_filename == path:
                    self.n += 1
                    print(frame.f_code.co_name, frame.f_lineno)
                if self.n == 300:
                    self.set_break(path, 9)
                    self.set_continue()
                elif self.n > 400:
                    self.clear_all_breaks()
                    self.set_continue()
                else:
                    self.set_step()

            def user_return(self, frame, value):
                if frame.f_code.co_filename == path:
                    print(frame.f_code.co_name, "returns", value)

        code = compile(open(path).read(), path, "exec")
        Steps().run(code, {"__name__": "__main__"})
        """,
        "watcher.py",
    )
    check(fg, script, options, [str(watcher), str(script)], lambda: True)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize(("program", "options"), share(HERE, OPTIONS, of=5))
def test_monitoring_user(fg: Funcgraph, program: str, options: list[str]) -> None:
    """A tool of sys.monitoring with all events, which sometimes returns DISABLE or calls restart_events()."""
    script = app(fg, program)
    watcher = fg.script(
        """
        import runpy, sys
        path = sys.argv[1]
        mon = sys.monitoring
        out = open("events.txt", "w")
        count = 0

        def watch(event):
            def callback(code, *details):
                global count
                if code.co_filename != path:
                    return None
                out.write(f"{event} {code.co_qualname} {[d for d in details if isinstance(d, int)]}\\n")
                count += 1
                if count % 1000 == 0:
                    mon.restart_events()
                return mon.DISABLE if event in ("LINE", "JUMP", "PY_YIELD") and count % 3 == 0 else None
            return callback

        mon.use_tool_id(3, "watcher")
        events = 0
        for event in vars(mon.events):
            bit = getattr(mon.events, event)
            if event.isupper() and bit and event != "INSTRUCTION":
                events |= bit
                mon.register_callback(3, bit, watch(event))
        mon.set_events(3, events)
        try:
            runpy.run_path(path, run_name="__main__")
        finally:
            mon.set_events(3, 0)
        """,
        "watcher.py",
    )
    check(fg, script, options, [str(watcher), str(script)], (fg.folder / "events.txt").read_text)
