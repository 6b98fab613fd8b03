"""A user that names a C function sees all its calls from Python code; other tools' results do not change.

Broken by hand: no C function was wanted (no calls were reported); FG_USER_CALLER was never set (a recording
with C calls contained calls made by functions outside its filter); sync_c() never switched the events off
(the last two tests); is_heard() ignored calls in progress (the end of a call whose function had left the
filter); is_included() let globs match C functions; fg_symbols_meet_named_c() registered none; make_record()
did not switch the events on (a module that is imported later); adopt() kept the thread's old profile function
(3.11); fg_c_calls_hear_all() left out other threads (3.11).
"""

from __future__ import annotations

import contextlib
import cProfile
import functools
import importlib
import math
import operator
import pstats
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph import _engine

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")


class Heard:
    """A user that notes the name of each entered function and how each call ended."""

    def __init__(self, **settings: Any) -> None:
        self.entries: list[str] = []
        self.ends: list[tuple[str, str]] = []
        self.depths: list[int] = []
        self.ops = funcgraph.FgraphOps(self._entered, self._returned, **settings)

    def _entered(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.entries.append(trace.func.name)
        self.depths.append(trace.depth)
        return True

    def _returned(self, trace: Any, ops: Any, regs: Any) -> None:
        self.ends.append((trace.func.name, trace.end))


@contextlib.contextmanager
def hearing(*names: str, **settings: Any) -> Iterator[Heard]:
    received = Heard(filter=names, **settings)
    with funcgraph.registered(received.ops):
        yield received
    assert received.ops.last_error is None
    assert _engine.status()["killed"] is None


def square_root(x: float) -> float:
    return math.sqrt(x)


def test_a_call_of_a_named_function_is_told() -> None:
    with hearing("math.sqrt") as received:
        assert square_root(4) == 2
        assert math.sqrt(9) == 3
        assert math.floor(1.5) == 1
    assert received.entries == ["math.sqrt"] * 2
    assert received.ends == [("math.sqrt", "return")] * 2
    assert received.depths == [0, 0]
    square_root(4)
    assert len(received.entries) == 2


def test_an_exception_is_its_end() -> None:
    with hearing("math.sqrt") as received, pytest.raises(ValueError, match=r"math domain|nonnegative"):
        square_root(-1)
    assert received.ends == [("math.sqrt", "raise")]


def test_methods_and_functions_of_builtins() -> None:
    names = ["builtins.len", "builtins.list.append", "builtins.dict.fromkeys", "builtins.str.maketrans"]
    with hearing(*names) as received:
        del received.entries[:]  # what registered() itself called
        values: list[int] = []
        values.append(len("abc"))
        list.append(values, 1)
        dict.fromkeys("ab")
        str.maketrans("a", "b")
    assert received.entries == [names[i] for i in (0, 1, 1, 2, 3)]
    assert [name for name, _ in received.ends][-5:] == received.entries


@pytest.mark.parametrize("pattern", ["math.*", "math.sqr?", "*sqrt", ":mod:math", "math.sqrt:mod:math"])
def test_globs_bring_no_c_functions(pattern: str) -> None:
    with hearing(pattern) as received:
        square_root(4)
    assert received.entries == []


def test_notrace_wins() -> None:
    with hearing("math.sqrt", "math.floor", notrace=["math.s*"]) as received:
        square_root(4)
        math.floor(1.5)
    assert received.entries == ["math.floor"]


def test_calls_nest() -> None:
    def key(x: int) -> float:
        return math.sqrt(x)

    with hearing("builtins.sorted", "math.sqrt", f"{__name__}.test_calls_nest.<locals>.key") as received:
        sorted([2, 1], key=key)
    inner = [f"{__name__}.test_calls_nest.<locals>.key", "math.sqrt"]
    assert received.entries == ["builtins.sorted", *inner, *inner]
    assert received.depths == [0, 1, 2, 1, 2]
    assert [name for name, _ in received.ends] == [*inner[::-1], *inner[::-1], "builtins.sorted"]


def test_this_c_function_and_what_it_calls() -> None:
    def key(x: int) -> float:
        return square_root(x)

    received = Heard(graph=["builtins.sorted"], filter=[f"{__name__}.*"])
    with funcgraph.registered(received.ops):
        key(1)
        sorted([1], key=key)
    names = [name.rpartition(".")[2] for name in received.entries]
    assert names == ["key", "square_root"]
    received = Heard(graph_notrace=["builtins.sorted"], filter=[f"{__name__}.*"])
    with funcgraph.registered(received.ops):
        sorted([1], key=key)
        key(1)
    names = [name.rpartition(".")[2] for name in received.entries if not name.endswith("__exit__")]
    assert names == ["key", "square_root"]


def test_a_filter_may_change_meanwhile() -> None:
    with hearing("math.sqrt") as received:
        square_root(4)
        received.ops.set_filter(["math.floor"], reset=True)
        square_root(4)
        math.floor(1.5)
        received.ops.set_filter(["math.sqrt"])
        square_root(4)
        received.ops.set_filter(["nothing"], reset=True)
        square_root(4)
    assert received.entries == ["math.sqrt", "math.floor", "math.sqrt"]


def test_an_end_is_told_though_the_filter_changed_in_the_call() -> None:
    received = Heard(filter=["builtins.sorted"])

    def key(x: int) -> int:
        received.ops.set_filter(["nothing"], reset=True)
        return x

    with funcgraph.registered(received.ops):
        sorted([1], key=key)
        sorted([1])
    assert received.entries == ["builtins.sorted"]
    assert received.ends == [("builtins.sorted", "return")]


def test_a_user_may_leave_in_the_call() -> None:
    received = Heard(filter=["builtins.sorted"])

    def key(x: int) -> int:
        if received.ops.registered:
            funcgraph.unregister_ftrace_graph(received.ops)
        return x

    funcgraph.register_ftrace_graph(received.ops)
    assert sorted([2, 1], key=key) == [1, 2]
    assert received.entries == ["builtins.sorted"]
    assert received.ends == []


def test_several_users_of_one_function() -> None:
    with hearing("math.sqrt") as first:
        with hearing("math.sqrt", "math.floor") as second:
            square_root(4)
            math.floor(1)
        square_root(4)
    assert first.entries == ["math.sqrt"] * 2
    assert second.entries == ["math.sqrt", "math.floor"]


def test_other_threads_and_those_that_run_already() -> None:
    gate = threading.Lock()

    def waits() -> None:
        gate.acquire()  # this call began before any user registered; no Python function is called after it
        math.sqrt(1)

    gate.acquire()
    early = threading.Thread(target=waits)
    early.start()
    time.sleep(0.1)
    with hearing("math.sqrt") as received:
        gate.release()
        early.join()
        late = threading.Thread(target=math.sqrt, args=(4,))
        late.start()
        late.join()
    assert received.entries.count("math.sqrt") == 2


def test_a_profiler_that_another_thread_took_out_stays_out() -> None:
    gates = [threading.Lock() for _ in range(2)]
    reported: list[str] = []
    steps: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        reported.append(event)

    def runs() -> None:
        sys.setprofile(profile)
        square_root(4)
        steps.append("heard")
        gates[0].acquire()
        sys.setprofile(None)
        reported.clear()
        steps.append("out")
        gates[1].acquire()
        math.sqrt(4)

    def wait_for(step: str) -> None:
        while step not in steps:
            time.sleep(0.01)

    for gate in gates:
        gate.acquire()
    thread = threading.Thread(target=runs)
    with hearing("math.sqrt") as first:
        thread.start()
        wait_for("heard")
    gates[0].release()
    wait_for("out")
    time.sleep(0.1)
    with hearing("math.sqrt") as second:
        gates[1].release()
        thread.join()
    assert first.entries == second.entries == ["math.sqrt"]
    assert reported == []


def test_a_call_in_progress_hears_from_now_on() -> None:
    received = Heard(filter=["math.sqrt"])
    math.sqrt(1)
    funcgraph.register_ftrace_graph(received.ops)
    math.sqrt(2)
    funcgraph.unregister_ftrace_graph(received.ops)
    math.sqrt(3)
    assert received.entries == ["math.sqrt"]


def test_calls_that_c_makes_are_not_python_code() -> None:
    with hearing("math.sqrt") as received:
        assert list(map(math.sqrt, [4])) == [2]
        assert functools.reduce(operator.add, [1, 2]) == 3
    assert received.entries == []


def test_a_module_that_comes_later() -> None:
    """Its C functions become known at their first call, if a user wants C calls at that time."""
    assert "_symtable" not in sys.modules
    with hearing("math.sqrt", "_symtable.symtable") as received:
        importlib.import_module("_symtable").symtable("1", "a file", "eval")
    assert received.entries == ["_symtable.symtable"]


def test_generators_and_coroutines() -> None:
    def generator() -> Iterator[float]:
        yield math.sqrt(4)
        yield math.sqrt(9)

    async def coroutine() -> float:
        return math.sqrt(16)

    with hearing("math.sqrt", "builtins.coroutine.send") as received:
        assert list(generator()) == [2, 3]
        with pytest.raises(StopIteration):
            coroutine().send(None)
    assert received.entries == ["math.sqrt", "math.sqrt", "builtins.coroutine.send", "math.sqrt"]
    assert received.ends[-1] == ("builtins.coroutine.send", "raise")


def test_what_the_callback_itself_calls_is_not_told() -> None:
    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        math.sqrt(1)
        seen.append(trace.func.name)
        return False

    seen: list[str] = []
    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=["math.sqrt"])):
        square_root(4)
    assert seen == ["math.sqrt"]


# ---- users that want the C calls of their functions (record --c-calls)


def root_of_four() -> float:
    return math.sqrt(4)


def _count_in(trace: Path, name: str) -> int:
    text = subprocess.run(
        [sys.executable, "-m", "funcgraph", "report", "-i", trace], capture_output=True, text=True, check=True
    ).stdout
    return text.count(f"{name}()")


@pytest.mark.parametrize("other", [[], ["math.sqrt"], ["math.floor"]])
def test_a_recording_has_c_calls_of_its_functions_alone(tmp_path: Path, other: list[str]) -> None:
    """This also holds while another user wants all calls of this C function or another."""
    with (
        hearing("nothing", *other) as received,
        funcgraph.record(tmp_path / "trace.fg", filter=["*.root_of_four"], c_calls=True),
    ):
        square_root(4)
        root_of_four()
        square_root(4)
        root_of_four()
    assert _count_in(tmp_path / "trace.fg", "math.sqrt") == 2
    assert received.entries.count("math.sqrt") == (4 if other == ["math.sqrt"] else 0)


def test_a_recording_that_names_one_too_has_all_calls_of_that(tmp_path: Path) -> None:
    with funcgraph.record(tmp_path / "trace.fg", filter=["*.root_of_four", "math.floor"], c_calls=True):
        square_root(4)
        root_of_four()
        math.floor(1.5)
    assert _count_in(tmp_path / "trace.fg", "math.sqrt") == 1
    assert _count_in(tmp_path / "trace.fg", "math.floor") == 1


def test_a_recording_meets_what_another_user_names(tmp_path: Path) -> None:
    """The other user receives all calls of the function from then on."""

    def asks_module() -> object:
        return module.getcodec("big5hkscs")

    assert "_codecs_hk" not in sys.modules  # nobody else needs this one
    with (
        hearing("_codecs_hk.getcodec") as received,
        funcgraph.record(tmp_path / "trace.fg", filter=["*.asks_module"], c_calls=True),
    ):
        module = importlib.import_module("_codecs_hk")
        module.getcodec("big5hkscs")
        asks_module()
        module.getcodec("big5hkscs")
    assert received.entries == ["_codecs_hk.getcodec"] * 2
    assert _count_in(tmp_path / "trace.fg", "getcodec") == 1


def test_a_recording_without_c_calls_has_what_it_names(tmp_path: Path) -> None:
    with funcgraph.record(tmp_path / "trace.fg", filter=["math.sqrt"]):
        square_root(4)
        math.floor(1.5)
    assert _count_in(tmp_path / "trace.fg", "math.sqrt") == 1
    assert _count_in(tmp_path / "trace.fg", "math.floor") == 0


# ---- other tools at the same time


def _work() -> float:
    return sum(square_root(x) for x in range(20))


def _profile() -> dict[Any, Any]:
    profile = cProfile.Profile()
    profile.enable()
    _work()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    return {key: value[:2] for key, value in stats.stats.items()}


def test_cprofile_counts_the_same() -> None:
    alone = _profile()
    with hearing("math.sqrt") as received:
        together = _profile()
    callbacks = {key for key in together if "test_c_functions" in key[0] and key[2].startswith("_")}
    assert {k: v for k, v in together.items() if k not in callbacks or k in alone} == alone
    assert received.entries.count("math.sqrt") == 20


def test_setprofile_is_told_the_same() -> None:
    def reported() -> list[tuple[str, str]]:
        events: list[tuple[str, str]] = []

        def profile(frame: Any, event: str, arg: Any) -> None:
            if frame is not here:  # the return of sys.setprofile() is already a C call's event
                events.append((event, frame.f_code.co_name))

        here = sys._getframe()
        sys.setprofile(profile)
        _work()
        sys.setprofile(None)
        return events

    alone = reported()
    with hearing("math.sqrt") as received:
        assert reported() == alone
        assert sys.getprofile() is None
    assert received.entries.count("math.sqrt") == 20
    assert reported() == alone


def test_a_profiler_that_was_there_stays() -> None:
    events: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if arg is math.sqrt:
            events.append(event)

    sys.setprofile(profile)
    try:
        with hearing("math.sqrt") as received:
            square_root(4)
            assert sys.getprofile() is profile
        square_root(4)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert received.entries == ["math.sqrt"]
    assert events == ["c_call", "c_return"] * 2
    square_root(4)
    assert len(events) == 4


def test_settrace_is_told_the_same() -> None:
    def reported() -> list[tuple[str, int]]:
        events: list[tuple[str, int]] = []

        def trace(frame: Any, event: str, arg: Any) -> Any:
            if frame.f_code in (_work.__code__, square_root.__code__):
                events.append((event, frame.f_lineno))
            return trace

        sys.settrace(trace)
        _work()
        sys.settrace(None)
        return events

    alone = reported()
    with hearing("math.sqrt") as received:
        assert reported() == alone
    assert received.entries.count("math.sqrt") == 20


@needs_monitoring
def test_call_events_are_heard_only_as_long_as_somebody_names_one() -> None:
    """CALL events slow the whole program, so they end with the last user that names a C function."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]

    def is_on() -> bool:
        tool = _engine.status()["tool_id"]
        return tool >= 0 and bool(monitoring.get_events(tool) & monitoring.events.CALL)

    with hearing("shop.*"):
        assert not is_on()
        with hearing("math.sqrt", "math.floor") as received:
            assert is_on()
            received.ops.set_filter(["math.floor"], reset=True)
            assert is_on()
            received.ops.set_filter(["nothing"], reset=True)
            assert not is_on()
            received.ops.set_filter(["math.sqrt"], reset=True)
            assert is_on()
            with hearing("math.sqrt"):
                assert is_on()
            assert is_on()
        assert not is_on()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it is an event of sys.monitoring")
def test_the_profile_function_goes_with_the_last_user() -> None:
    stop = threading.Event()
    counts: list[int] = []

    def runs() -> None:
        while not stop.is_set():
            math.sqrt(4)

    thread = threading.Thread(target=runs)
    thread.start()
    with hearing("math.sqrt") as received:
        deadline = time.monotonic() + 5
        while len(received.entries) < 10 and time.monotonic() < deadline:
            time.sleep(0.01)
        counts.append(len(received.entries))
    stop.set()
    thread.join()
    assert counts[0] >= 10
