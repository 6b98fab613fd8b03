"""`funcgraph selftest` passes here, and each of its checks fails when the promise behind it is broken."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import Funcgraph
from sizes import share

from funcgraph import selftest

# Runs one check against a broken API. A break overrides a part of the API; `Ops` and `Told` help it.
_PRELUDE = """
import funcgraph, sys, threading
from funcgraph import selftest, _engine
from funcgraph.cli import main

class Told:
    '''A callback's argument with some attributes replaced.'''
    def __init__(self, real, **lies):
        self.__dict__.update(lies, real=real)
    def __getattr__(self, name):
        return getattr(self.real, name)

class Ops(_engine.FgraphOps):
    '''Passes every callback on; a break overrides a method.'''
    def __new__(cls, *args, **settings):
        return super().__new__(cls)
    def __init__(self, entry=None, ret=None, **settings):
        hand_in = entry and (lambda *told: self.hand_in(entry, *told))
        hand_out = ret and (lambda *told: self.hand_out(ret, *told))
        super().__init__(hand_in, hand_out, **self.settings(settings))
    def settings(self, settings):
        return settings
    def hand_in(self, entry, trace, ops, regs):
        return entry(trace, ops, regs)
    def hand_out(self, ret, trace, ops, regs):
        ret(trace, ops, regs)

funcgraph.FgraphOps = Ops
title = sys.argv[1]
selftest.CHECKS = {title: selftest.CHECKS[title]}
"""

# Title of a check -> a break that the check must find. The comments say which edit of the engine or the
# arch, made by hand on 2026-11-21, made the same check fail without this test's help.
BREAKS = {
    # the engine does not decrement the depth at a return
    "one user": "Ops.hand_out = lambda self, ret, *told: (ret(*told), ret(*told))",
    # the return value is always None; rettime is before calltime
    "arguments and results": """
        def hand_out(self, ret, trace, ops, regs):
            ret(trace, ops, Told(regs, get_return_value=lambda: None))
        Ops.hand_out = hand_out
    """,
    # only the last user's bit is set in the frame's bitmap
    "two users, different filters": """
        def settings(self, settings):
            return {**settings, "filter": ["funcgraph.selftest.program.*"]}
        Ops.settings = settings
    """,
    # the new lists of users are not published; threads are not compared
    "filters changed while in use": "Ops.set_filter = lambda self, patterns, reset=False: None",
    # graph filters are ignored; graph_notrace is ignored
    "functions alone, or with their callees": """
        def settings(self, settings):
            return {**settings, "filter": settings.get("graph", settings["filter"]), "graph": []}
        Ops.settings = settings
    """,
    # walking the stack stops after the newest frame
    "calls in progress": "funcgraph.get_ret_stack = lambda *args: []",
    # another user's data is found; bytes are not zeroed; their number is rounded up
    "data of each size, 1 to 256 bytes": """
        def retrieve_data(self):
            view = _engine.FgraphOps.retrieve_data(self)
            view[-1] ^= 1
            return view
        Ops.retrieve_data = retrieve_data
    """,
    # fgraph_retrieve_parent_data() counts one frame too few
    "data of enclosing calls": """
        Ops.retrieve_parent_data = lambda self, depth: _engine.FgraphOps.retrieve_parent_data(self, depth + 1)
    """,
    # no object is released with its frame
    "objects live as long as their call": """
        kept = []
        def reserve_object(self, thing):
            kept.append(thing)
            return _engine.FgraphOps.reserve_object(self, thing)
        Ops.reserve_object = reserve_object
    """,
    # registering does not clear the slot's task variables
    "task variables": """
        words = {}
        Ops.task_var = property(lambda self: words.get(self, 0), words.__setitem__)
    """,
    # every end is FG_END_RETURN
    "calls that end with an exception": """
        def hand_out(self, ret, trace, ops, regs):
            ret(Told(trace, end="return"), ops, regs)
        Ops.hand_out = hand_out
    """,
    # a resume loses the first word of data; a resume pushes no frame
    "generators and coroutines across threads": """
        def retrieve_data(self):
            is_main = threading.current_thread() is threading.main_thread()
            return _engine.FgraphOps.retrieve_data(self) if is_main else None
        Ops.retrieve_data = retrieve_data
    """,
    # GeneratorExit is an exception like any other
    "generators closed, thrown into, collected": """
        def hand_out(self, ret, trace, ops, regs):
            ret(Told(trace, end={"close": "raise"}.get(trace.end, trace.end)), ops, regs)
        Ops.hand_out = hand_out
    """,
    # no return is reported after the function has lost its last user
    "users that come late and leave early": "funcgraph.unregister_ftrace_graph = lambda ops: None",
    # unregistering waits for no task
    "unregister waits for callbacks": """
        real = funcgraph.unregister_ftrace_graph
        funcgraph.unregister_ftrace_graph = lambda ops: threading.Thread(target=real, args=(ops,)).start()
    """,
    # one slot fewer is free; registering the same ops twice fails with another errno
    "all slots in use": """
        real = funcgraph.register_ftrace_graph
        def register(ops):
            if len(funcgraph.users()) == 40:
                raise OSError(28, "no slot is free")
            real(ops)
        funcgraph.register_ftrace_graph = register
    """,
    # the frame's epoch is not compared with the slot's generation
    "slots reused": """
        told = []
        def hand_out(self, ret, trace, ops, regs):
            for one in [*told, (ret, self)]:
                one[0](trace, one[1], regs)
        def hand_in(self, entry, trace, ops, regs):
            previous = told[-1:]
            told.append((entry, self))
            for one in previous:
                one[0](trace, one[1], regs)
            return entry(trace, ops, regs)
        Ops.hand_in, Ops.hand_out = hand_in, hand_out
    """,
    # a task's overrun count is not incremented
    "full shadow stack": """
        def hand_out(self, ret, trace, ops, regs):
            ret(Told(trace, overrun=0), ops, regs)
        Ops.hand_out = hand_out
    """,
    # missed calls are not counted (on 3.11, where CPython reports such calls)
    "calls made by callbacks": "Ops.nmissed = property(lambda self: 1)",
    # the user is not disabled
    "errors in callbacks": "Ops.enabled = property(lambda self: True)",
    "fprobes": "funcgraph.disable_fprobe = lambda fp: None",
    "kprobes": """
        class Shifted(_engine.Kprobe):
            def __init__(self, handler, symbol, line=None, **place):
                super().__init__(handler, symbol, line=line and line - 1, **place)
        funcgraph.Kprobe = Shifted
    """,
    "kretprobes": """
        from funcgraph.kretprobe import Kretprobe
        Kretprobe._entry = lambda self, *told: self.entry_handler(Told(self, data=bytearray(8)), told[3])
    """,
    "kprobe_multi links": """
        real = funcgraph.kprobe_multi
        funcgraph.kprobe_multi = lambda handler, names, cookies, **settings: real(
            handler, names, cookies=cookies[::-1], **settings)
    """,
    "instances": """
        real = funcgraph.Instance
        funcgraph.Instance = lambda name, **settings: real(name, **{**settings, "tracer": "function"})
    """,
    "tracer function_graph": """
        real = funcgraph.Instance
        funcgraph.Instance = lambda name, options, **settings: real(name, **settings)
    """,
    "tracer function": """
        real = funcgraph.Instance
        funcgraph.Instance = lambda name, filter, **settings: real(name, filter=filter[1:], **settings)
    """,
    "tracer nop": """
        real = funcgraph.Instance
        funcgraph.Instance = lambda name, **settings: real(name, **{**settings, "tracer": "function"})
    """,
    "function profiler": """
        real = funcgraph.FunctionProfile
        class OneThread(real):
            def rows(self, tid=None):
                return super().rows(threading.get_native_id())
        funcgraph.FunctionProfile = OneThread
    """,
    "tracer loopblock": "_engine.latency_start = lambda *how: None",
    "tracer wakeup": """
        real = _engine.latency_start
        _engine.latency_start = lambda tracer, *how: real("loopblock", *how)
    """,
    "tracer gilwait": """
        def refuse(tracer, *how):
            raise OSError(95, "")
        _engine.latency_start = refuse
    """,
    # the recorder takes no sub-buffers that tasks still own
    "a recording whose recorder is killed": """
        import os, subprocess
        from funcgraph.recorder.directory import all_sessions
        real = subprocess.Popen.kill
        def kill(process):
            real(process)
            process.wait()
            for session in all_sessions():
                if not session.recorder_alive():
                    for name in session.files.ring_names():
                        session.files.unlink_ring(name)
        subprocess.Popen.kill = kill
    """,
}


def run_with(fg: Funcgraph, title: str, broken: str = "") -> subprocess.CompletedProcess[str]:
    script = fg.script(broken, "broken.py").read_text()
    code = f"{_PRELUDE}\n{script}\nsys.exit(main(['selftest', '-q']))"
    return fg.plain(sys.executable, "-c", code, title)


def test_each_check_has_a_break() -> None:
    assert list(BREAKS) == list(selftest.CHECKS)


@pytest.mark.parametrize("title", share(list(BREAKS), of=5))
def test_a_check_finds_what_is_broken(fg: Funcgraph, title: str) -> None:
    whole = run_with(fg, title)
    assert (whole.returncode, whole.stdout) == (0, ""), whole.stderr
    broken = run_with(fg, title, BREAKS[title])
    assert broken.returncode == 1, broken.stderr
    assert f"{title}  FAILED: " in broken.stdout
    assert "1 of 1 checks FAILED" in broken.stdout


def test_all_checks_pass_here(fg: Funcgraph) -> None:
    result = fg.run("selftest")
    assert result.returncode == 0, result.stdout
    assert result.stderr == ""
    head, engine, blank, *lines, last = result.stdout.splitlines()
    assert head.startswith("funcgraph ")
    assert f"CPython {sys.version_info.major}.{sys.version_info.minor}" in head
    assert engine.startswith(
        "engine: sys.monitoring, tool id 4, " if hasattr(sys, "monitoring") else "engine: frame"
    )
    assert blank == ""
    width = max(map(len, selftest.CHECKS))
    assert lines == [f"{title:<{width}}  ok" for title in selftest.CHECKS]
    assert last == f"{len(selftest.CHECKS)} checks: ok"


def test_quiet_prints_nothing_when_all_checks_pass(fg: Funcgraph) -> None:
    result = fg.run("selftest", "-q")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_json_has_the_machine_and_each_check(fg: Funcgraph) -> None:
    result = fg.run("selftest", "--json")
    found = json.loads(result.stdout)
    assert found["ok"] is True
    assert found["arch"] == ("sys.monitoring" if hasattr(sys, "monitoring") else "frame evaluator")
    assert found["tool_id"] == (4 if hasattr(sys, "monitoring") else None)
    assert [(check["title"], check["error"]) for check in found["checks"]] == [
        (t, None) for t in selftest.CHECKS
    ]


def test_json_says_what_failed(fg: Funcgraph) -> None:
    title = "one user"
    code = f"{_PRELUDE}\n{BREAKS[title]}\nsys.exit(main(['selftest', '--json']))"
    result = fg.plain(sys.executable, "-c", code, title)
    found = json.loads(result.stdout)
    assert result.returncode == 1
    assert found["ok"] is False
    assert found["checks"][0]["error"].startswith("the user's events: expected ['pair {', ")


def test_it_runs_beside_a_recording_of_itself(fg: Funcgraph) -> None:
    """The recording is another user: the checks must not assume that they are the only users."""
    result = fg.record("-q", "-l", "funcgraph.selftest.program.*", "-m", "funcgraph", "selftest")
    assert result.returncode == 0, result.stdout
    assert ", 1 other user\n" in result.stdout
    assert fg.calls()["funcgraph.selftest.program.pair"] > 0


def test_bad_usage_has_status_2(fg: Funcgraph) -> None:
    result = fg.run("selftest", "--loud")
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


def test_a_check_that_hangs_ends_the_command(fg: Funcgraph) -> None:
    code = """
        import sys, time
        from funcgraph import selftest
        from funcgraph.commands import selftest as command
        from funcgraph.cli import main
        command._HANGS_S = 0.3
        selftest.CHECKS = {"a check that hangs": lambda: time.sleep(60)}
        sys.exit(main(["selftest"]))
    """
    result = fg.plain(sys.executable, fg.script(code))
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "a check that hangs  "
    assert "Timeout" in result.stderr
    assert "app.py" in result.stderr


def test_a_tripped_kill_switch_fails_every_further_check(fg: Funcgraph) -> None:
    code = """
        import sys
        from funcgraph import _engine, selftest
        from funcgraph.cli import main
        real = _engine.status
        _engine.status = lambda: {**real(), "killed": "the facts"}
        sys.exit(main(["selftest", "-q"]))
    """
    result = fg.plain(sys.executable, fg.script(code))
    assert result.returncode == 1
    assert result.stdout.count("FAILED: the kill switch tripped: the facts") == len(selftest.CHECKS)


def test_it_leaves_the_interpreter_as_it_was(fg: Funcgraph) -> None:
    code = """
        import sys, threading
        import funcgraph
        from funcgraph import selftest
        def look():
            return sys.getrecursionlimit(), sys.unraisablehook, funcgraph.users(), threading.active_count()
        before = look()
        assert [result.error for result in selftest.run()] == [None] * len(selftest.CHECKS)
        assert look() == before
        if hasattr(sys, "monitoring"):
            assert [sys.monitoring.get_tool(i) for i in range(6)] == [None] * 6
    """
    result = fg.plain(sys.executable, fg.script(code))
    assert result.returncode == 0, result.stderr
