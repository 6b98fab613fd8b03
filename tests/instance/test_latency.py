"""The latency tracers: a known stall is caught and named; without a stall nothing is caught."""

from __future__ import annotations

import asyncio
import copy
import ctypes
import errno
import gc
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest

import funcgraph
from funcgraph import _engine
from funcgraph.instance.latency import Latency, Section

MS = 1_000_000
VECTORCALL_OFFSET = 56  # offset of tp_vectorcall_offset in a type
#: A threshold that no stall of a busy machine reaches.
NEVER_US = 3_600_000_000


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Prevent garbage collections within a section, and disable all tracers at the end."""
    gc.collect()
    gc.disable()
    start_clock()
    yield
    gc.enable()
    for tracer in _engine.LATENCY_TRACERS:
        assert not _engine.latency_get(tracer)["is_on"], tracer


class Clock:
    """Says how long a test has run: a stall that it causes has to be its longest."""

    begin_ns = time.monotonic_ns()


def start_clock() -> None:
    Clock.begin_ns = time.monotonic_ns()


def passed_ns() -> int:
    """Return the time since start_clock(), and a little: no section in between can be longer."""
    return (time.monotonic_ns() - Clock.begin_ns) * 101 // 100


def block(milliseconds: int = 30) -> None:
    """Sleep for so long that nothing in the test took as long before, however busy the machine is."""
    time.sleep(max(milliseconds * MS, 2 * passed_ns()) / 1e9)


def caught(tracer: str, program: Callable[[], Awaitable[None]]) -> Section:
    start_clock()
    with Latency(tracer) as latency:
        asyncio.run(program())  # type: ignore[arg-type]
    section = latency.section
    assert section is not None
    assert section.latency_ns <= passed_ns()
    return section


# ---- loopblock


def blocking_callback() -> None:
    block()


async def schedules_blocking_callback() -> None:
    start_clock()
    asyncio.get_running_loop().call_soon(blocking_callback)
    await asyncio.sleep(0.01)


def test_a_callback_that_sleeps_30_ms_is_named() -> None:
    section = caught("loopblock", schedules_blocking_callback)
    line = blocking_callback.__code__.co_firstlineno
    assert section.started_at == f"{__name__}.blocking_callback ({__file__}:{line})"
    assert section.latency_ns >= 30 * MS
    assert section.end_ns - section.begin_ns == pytest.approx(section.latency_ns, abs=10_000)


async def blocks_inside(milliseconds: int) -> None:
    await asyncio.sleep(0)
    block(milliseconds)
    await asyncio.sleep(0)


async def awaits_what_blocks(milliseconds: int = 30) -> None:
    await blocks_inside(milliseconds)


def test_a_step_of_a_task_is_named_by_its_coroutine_and_where_it_gave_way() -> None:
    section = caught("loopblock", awaits_what_blocks)
    line = awaits_what_blocks.__code__.co_firstlineno
    assert section.started_at == f"{__name__}.awaits_what_blocks ({__file__}:{line})"
    assert section.ended_at == f"{__name__}.awaits_what_blocks ({__file__}:{line + 1})"
    inner = [event.text for event in section.events if event.text.startswith("=> ")]
    assert inner[0] == f"=> {__name__}.blocks_inside ({__file__}:{blocks_inside.__code__.co_firstlineno + 3})"


def audit() -> None:
    time.sleep(0.03)


async def awaits_and_audits() -> None:
    await asyncio.sleep(0)
    start_clock()
    audit()
    await asyncio.sleep(0)


@pytest.mark.parametrize("display_graph", [False, True])
def test_the_call_that_blocked_is_named_not_what_was_awaited(display_graph: bool) -> None:
    with Latency("loopblock", display_graph=display_graph) as latency:
        asyncio.run(awaits_and_audits())
    section = latency.section
    assert section is not None
    line = audit.__code__.co_firstlineno + 1
    assert section.slowest_call == f"time.sleep <-{__name__}.audit:{line}"
    assert 30 * MS <= section.slowest_ns <= section.latency_ns
    shown = f"#  => slowest call: {section.slowest_call} ({section.slowest_ns // 1000} us)"
    assert shown in latency.report().splitlines()


def test_the_slowest_call_is_not_looked_for_if_nobody_wants_it() -> None:
    with Latency("loopblock", slowest_call=False) as latency:
        asyncio.run(awaits_and_audits())
    assert latency.section is not None
    assert (latency.section.slowest_call, latency.section.slowest_ns) == ("", 0)
    assert "slowest call" not in latency.report()


def computes() -> int:
    return sum(n * n for n in range(300_000))


async def computes_between_callbacks() -> None:
    audit()  # in another section: it is no part of the next
    await asyncio.sleep(0)
    computes()
    await asyncio.sleep(0)


def test_the_slowest_call_is_one_of_the_section() -> None:
    with Latency("loopblock", thresh_us=1) as latency:
        asyncio.run(computes_between_callbacks())
        asyncio.run(does_little())
    assert latency.section is not None  # the latest
    assert "sleep <-" + __name__ + ".audit" not in latency.section.slowest_call


async def ends_blocking() -> None:
    block()


def test_a_step_that_ends_its_task_says_so() -> None:
    section = caught("loopblock", ends_blocking)
    assert section.started_at.startswith("ends_blocking (") or ".ends_blocking (" in section.started_at
    assert section.ended_at == "its end"


async def does_little() -> None:
    for _ in range(20):
        await asyncio.sleep(0.001)


def test_nothing_long_is_caught_where_nothing_stalls() -> None:
    with Latency("loopblock", thresh_us=NEVER_US) as latency:
        asyncio.run(does_little())
    assert latency.section is None
    assert latency.max_latency_us == 0
    assert latency.report() == "# tracer: loopblock\n#\n"


def sleeps(milliseconds: int) -> None:
    time.sleep(milliseconds / 1000)


async def blocks_then_sleeps(milliseconds: int) -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(block, 2 * milliseconds)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    loop.call_soon(sleeps, milliseconds)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_without_a_threshold_the_longest_is_kept_and_with_one_the_latest_over_it() -> None:
    with Latency("loopblock") as latency:
        asyncio.run(blocks_then_sleeps(15))
    assert latency.section and latency.section.started_at == labelled(block)
    start_clock()
    with Latency("loopblock", thresh_us=200_000) as latency:
        asyncio.run(blocks_then_sleeps(250))
    assert _engine.latency_get("loopblock")["nr_sections"] >= 2
    assert latency.section and latency.section.latency_ns >= 200 * MS
    assert latency.section.started_at == labelled(sleeps)


def test_the_maximum_set_to_zero_starts_again() -> None:
    with Latency("loopblock") as latency:
        asyncio.run(schedules_blocking_callback())
        assert latency.max_latency_us >= 30_000
        latency.max_latency_us = 0
        asyncio.run(does_little())
        assert latency.max_latency_us > 0
        assert latency.section and latency.section.started_at != labelled(blocking_callback)
        latency.max_latency_us = NEVER_US
        asyncio.run(schedules_blocking_callback())
        assert latency.max_latency_us == pytest.approx(NEVER_US, rel=1e-6)


def test_there_is_one_of_each_in_a_process() -> None:
    with Latency("loopblock"):
        with pytest.raises(OSError, match=r"loopblock: already enabled"):
            Latency("loopblock").__enter__()
    with pytest.raises(ValueError, match="loopblock is not enabled"):
        _engine.latency_stop("loopblock")


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(ValueError, match="must be one of loopblock"):
        Latency("irqsoff")
    with pytest.raises(ValueError, match="invalid thresh_us -1: must be 0 or more"):
        Latency("loopblock", thresh_us=-1)
    with pytest.raises(ValueError, match="invalid max_latency_us -1: must be 0 or more"):
        Latency("loopblock").max_latency_us = -1


class Finalized:
    def __del__(self) -> None:
        pass

    def callback(self) -> None:
        pass


def test_handles_and_callbacks_are_let_go_of() -> None:
    import weakref

    async def program() -> weakref.ref[Finalized]:
        finalized = Finalized()
        asyncio.get_running_loop().call_soon(finalized.callback)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return weakref.ref(finalized)

    with Latency("loopblock"):
        ref = asyncio.run(program())
    assert ref() is None


class Raised(SystemExit):
    """Raised by a callback through the event loop."""


async def blocks_and_raises() -> None:
    await asyncio.sleep(0)
    block()
    raise Raised("out of the loop")


def test_what_a_callback_raises_out_of_the_loop_comes_through() -> None:
    """Fails if fg_label_callback does not save the exception: reading names clears it."""
    for tracer in ("loopblock", "wakeup"):
        with Latency(tracer) as latency, pytest.raises(Raised, match="out of the loop"):
            asyncio.run(blocks_and_raises())
        assert latency.section is not None, tracer


def test_a_callback_that_turns_the_tracer_off_is_no_section() -> None:
    """Fails without fg_call_hook_is: the callback's section was kept."""
    latency = Latency("loopblock")

    def turns_off() -> None:
        latency.__exit__(None, None, None)
        time.sleep(0.03)

    async def program() -> None:
        asyncio.get_running_loop().call_soon(turns_off)
        await asyncio.sleep(0.01)

    latency.__enter__()
    asyncio.run(program())
    assert latency.section is None or "turns_off" not in latency.section.started_at


def test_on_and_off_again_leaves_calls_as_they_were() -> None:
    for _ in range(3):
        for tracer in ("loopblock", "wakeup"):
            with Latency(tracer):
                asyncio.run(schedules_blocking_callback())
            with Latency(tracer) as latency:
                pass
            assert latency.section is None
    assert asyncio.run(asyncio.sleep(0, "done")) == "done"


WITH_A_GIL = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="methods are not taken by themselves there"
)


@WITH_A_GIL
def test_a_method_that_is_taken_is_the_function_that_it_was() -> None:
    """On 3.11 it fails without fg_is_function in symbols.c, and without __reduce_ex__ in call_hook.c."""
    method = asyncio.events.Handle._run
    before = repr(method), inspect.signature(method), _engine.find_functions(["asyncio.events.Handle._run"])
    with Latency("loopblock"), Latency("wakeup"):
        assert isinstance(method, types.FunctionType) and inspect.isfunction(method)
        assert pickle.loads(pickle.dumps(method)) is copy.copy(method) is copy.deepcopy(method) is method
        handle = asyncio.events.Handle.__new__(asyncio.events.Handle)
        assert cast(Any, handle)._run.__func__ is method
        now = repr(method), inspect.signature(method), _engine.find_functions(["asyncio.events.Handle._run"])
        assert now == before
    assert type(method) is types.FunctionType


@WITH_A_GIL
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="a class's __init__ is a function with a user there")
def test_methods_that_are_taken_need_no_hook_of_cpythons() -> None:
    """On 3.11 the hook would be the frame evaluator, at a cost to each call of a Python function."""
    with Latency("loopblock", slowest_call=False), Latency("wakeup"):
        asyncio.run(schedules_blocking_callback())
        status = _engine.status()
    assert status["users"] == [] and status["tool_id"] == -1, status


def vectorcall_of(function: Callable[..., object]) -> int | None:
    at = ctypes.c_ssize_t.from_address(id(types.FunctionType) + VECTORCALL_OFFSET).value
    return ctypes.c_void_p.from_address(id(function) + at).value


@WITH_A_GIL
@pytest.mark.parametrize("tracers", [("loopblock", "wakeup"), ("wakeup", "loopblock")])
def test_tracers_leave_a_method_in_any_order(tracers: tuple[str, str]) -> None:
    """Fails without hook_over: the hook of the first to leave was below the other's, and stayed."""
    method = asyncio.events.Handle._run
    original = vectorcall_of(method)
    for first, second in (tracers, tracers[::-1]):
        on = {tracer: Latency(tracer) for tracer in tracers}
        for tracer in tracers:
            on[tracer].__enter__()
        assert vectorcall_of(method) != original
        asyncio.run(schedules_blocking_callback())
        on[first].__exit__(None, None, None)
        assert vectorcall_of(method) != original
        asyncio.run(schedules_blocking_callback())
        on[second].__exit__(None, None, None)
        assert vectorcall_of(method) == original


NOT_FROM_THE_BEGINNING = """
import sys, time
from funcgraph.instance.latency import Latency

assert "asyncio.events" not in sys.modules
with Latency("loopblock") as latency:
    import asyncio

    def blocking_callback():
        time.sleep(0.03)

    async def program():
        asyncio.get_running_loop().call_soon(blocking_callback)
        await asyncio.sleep(0.01)

    asyncio.run(program())
print(latency.section.started_at)
"""


def test_a_loop_that_is_imported_later_is_seen() -> None:
    result = run_program(NOT_FROM_THE_BEGINNING)
    assert result.startswith("__main__.blocking_callback (")


PUT_OVER_OURS = """
import asyncio, ctypes, time
from funcgraph.instance.latency import Latency

def blocking_callback():
    time.sleep(0.03)

async def program():
    asyncio.get_running_loop().call_soon(blocking_callback)
    await asyncio.sleep(0.01)

VECTORCALL_OFFSET = 56
Vectorcall = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)
at = ctypes.c_ssize_t.from_address(id(type(program)) + VECTORCALL_OFFSET).value
place = ctypes.c_void_p.from_address(id(asyncio.events.Handle._run) + at)
original = place.value
with Latency("loopblock"):
    ours = Vectorcall(place.value)
    assert place.value != original
    calls = []
    other = Vectorcall(lambda *args: calls.append(1) or ours(*args))
    others = ctypes.cast(other, ctypes.c_void_p)
    if hasattr(ctypes.pythonapi, "PyFunction_SetVectorcall"):
        ctypes.pythonapi.PyFunction_SetVectorcall(ctypes.py_object(asyncio.events.Handle._run), others)
    else:
        place.value = others.value  # CPython 3.11
assert place.value == others.value
with Latency("loopblock") as latency:
    asyncio.run(program())
assert place.value == others.value and calls
print(latency.section.started_at)
"""


@WITH_A_GIL
def test_who_takes_the_method_after_us_keeps_it() -> None:
    """The tracer then traces it as a user. Fails if fg_call_hook_remove overwrites the other vectorcall."""
    assert run_program(PUT_OVER_OURS).startswith("__main__.blocking_callback (")


def run_program(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stderr == ""
    return result.stdout


def test_the_report_has_the_kernels_layout() -> None:
    with Latency("loopblock") as latency:
        asyncio.run(schedules_blocking_callback())
    lines = latency.report().splitlines()
    assert lines[0] == "# tracer: loopblock"
    assert lines[2].startswith("# loopblock latency trace v1.1.5 on CPython 3.")
    assert lines[4].startswith(f"# latency: {latency.max_latency_us} us, #2/2 | (M:")
    assert lines[6].startswith("#    | task: ")
    assert lines[8].startswith("#  => started at: ") and ".blocking_callback (" in lines[8]
    assert lines[9].startswith("#  => ended at:   ")
    assert latency.section is not None
    first, last = latency.section.events
    later_us = (last.time_ns - first.time_ns) // 1000
    mark = "$" if later_us > 1_000_000 else "@" if later_us > 100_000 else "*"  # a busy machine sleeps longer
    assert lines[-2].split()[1:2] == [f"0us{mark}:"]


# ---- wakeup


def runs_instead() -> None:
    block(20)


async def waits_its_turn() -> None:
    pass


async def makes_ready_behind_a_blocker() -> None:
    asyncio.get_running_loop().call_soon(runs_instead)
    task = asyncio.create_task(waits_its_turn())
    await task


def labelled(function: Callable[..., object], line: int = 0) -> str:
    name, file, first = function.__qualname__, __file__, function.__code__.co_firstlineno
    return f"{__name__}.{name} ({file}:{first + line})"


def test_a_ready_task_that_waits_20_ms_is_named_with_what_ran_instead() -> None:
    section = caught("wakeup", makes_ready_behind_a_blocker)
    assert section.latency_ns >= 20 * MS
    assert section.started_at == "asyncio.base_events.BaseEventLoop._call_soon"
    assert section.ended_at == labelled(waits_its_turn)
    assert section.events[0].text == f"ready: {labelled(waits_its_turn)}"
    # On a busy machine, the task that made it ready took long enough to be listed too.
    ran = next(event for event in section.events[1:-1] if event.text == labelled(runs_instead))
    assert 20 * MS <= ran.duration_ns <= section.latency_ns
    assert section.events[-1].text == f"runs: {labelled(waits_its_turn)}"
    assert [event.time_ns for event in section.events] == sorted(event.time_ns for event in section.events)


async def makes_ready_and_blocks() -> None:
    task = asyncio.create_task(waits_its_turn())
    block(20)
    await task


def test_what_makes_it_ready_and_runs_on_is_what_ran_instead() -> None:
    section = caught("wakeup", makes_ready_and_blocks)
    assert section.latency_ns >= 20 * MS
    assert section.events[1].text == labelled(makes_ready_and_blocks)
    assert section.events[1].duration_ns <= section.latency_ns


def timed() -> None:
    pass


async def timer_behind_a_blocker() -> None:
    asyncio.get_running_loop().call_later(0.005, timed)
    block()
    await asyncio.sleep(0.01)


def test_a_timer_that_is_late_is_ready_since_its_time() -> None:
    section = caught("wakeup", timer_behind_a_blocker)
    assert section.latency_ns >= 20 * MS
    assert section.started_at == "asyncio.events.TimerHandle.when"
    assert section.ended_at == labelled(timed)
    assert section.events[1].text == labelled(timer_behind_a_blocker)


class OwnClock(asyncio.SelectorEventLoop):
    def time(self) -> float:
        return super().time() - 3600.0


def test_a_loop_with_a_clock_of_its_own_is_not_taken_for_late() -> None:
    async def program() -> None:
        await asyncio.sleep(0.001)

    loop = OwnClock()
    with Latency("wakeup") as latency:
        loop.run_until_complete(program())
        loop.close()
    assert latency.max_latency_us * 1000 <= passed_ns()


async def readable_behind_a_blocker() -> None:
    import socket

    loop = asyncio.get_running_loop()
    a, b = socket.socketpair()
    a.setblocking(False)
    done = loop.create_future()

    def readable() -> None:
        loop.remove_reader(a)
        done.set_result(None)

    def blocks_once() -> None:
        loop.remove_reader(c)
        block(25)

    c, d = socket.socketpair()
    loop.add_reader(c, blocks_once)
    loop.add_reader(a, readable)
    d.send(b"x")
    b.send(b"x")
    await done
    for sock in (a, b, c, d):
        sock.close()


def test_io_is_ready_when_the_loop_sees_it() -> None:
    section = caught("wakeup", readable_behind_a_blocker)
    if section.started_at.endswith("_add_callback"):  # the selector reported the blocker first
        assert ".readable (" in section.ended_at
    assert section.latency_ns >= 20 * MS
    assert any(".blocks_once (" in event.text for event in section.events)


def test_a_task_that_is_cancelled_while_ready_leaves_nothing_behind() -> None:
    async def program() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(20_000):
            loop.call_soon(timed).cancel()
        await asyncio.sleep(0.05)
        for _ in range(100):
            await asyncio.sleep(0)

    with Latency("wakeup") as latency:
        asyncio.run(program())
    section = latency.section
    assert section is not None
    assert section.latency_ns <= passed_ns()
    assert section.started_at in (
        "asyncio.base_events.BaseEventLoop._call_soon",
        "asyncio.events.TimerHandle.when",
    )


def test_nothing_waits_long_where_nothing_stalls() -> None:
    with Latency("wakeup", thresh_us=NEVER_US) as latency:
        asyncio.run(does_little())
    assert latency.section is None


# ---- gilwait


def has_gil() -> bool:
    """Return whether there is a GIL now: in a free-threaded build an imported module may enable it."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


needs_gil = pytest.mark.skipif("not has_gil()", reason="there is no interpreter lock to wait for")
HOLDS_GIL = ctypes.PyDLL(None)  # its functions are called without releasing the GIL


def holds_lock(microseconds: int) -> None:
    HOLDS_GIL.usleep(microseconds)


def wants_lock(ready: threading.Event, done: list[int]) -> None:
    ready.set()
    while not done:
        time.sleep(0.0005)


def stall(microseconds: int) -> None:
    """Hold the GIL while another thread returns from its sleep and waits for it.

    Callers hold it for much longer than they assert: the other thread may return late.
    """
    ready, done = threading.Event(), list[int]()
    thread = threading.Thread(target=wants_lock, args=(ready, done))
    thread.start()
    ready.wait()
    time.sleep(0.005)
    holds_lock(microseconds)
    time.sleep(0.005)
    done.append(1)
    thread.join()


@needs_gil
def test_a_thread_that_holds_the_lock_in_c_is_named() -> None:
    with Latency("gilwait") as latency:
        stall(200_000)
    section = latency.section
    assert section is not None
    assert 20 * MS <= section.latency_ns <= passed_ns()
    assert (
        section.ended_at == f"{holds_lock.__qualname__} ({__file__}:{holds_lock.__code__.co_firstlineno + 1})"
    )
    assert section.started_at.startswith(f"{wants_lock.__qualname__} ({__file__}:")
    assert section.tid != threading.get_native_id()
    texts = [event.text.partition(":")[0] for event in section.events]
    assert texts[0] == "waits" and texts[-1] == "gets it" and "holds" in texts
    hold = max(section.events, key=lambda event: event.duration_ns)
    assert hold.text == f"holds: {section.ended_at}"
    assert 20 * MS <= hold.duration_ns <= section.latency_ns


@needs_gil
def test_no_thread_waits_long_where_none_holds_the_lock_long() -> None:
    with Latency("gilwait", thresh_us=NEVER_US) as latency:
        stall(100)
    assert latency.section is None


def lock_wait_entries() -> list[int]:
    """Return the values of the GOT entries through which CPython calls pthread_cond_timedwait."""
    import struct

    with open("/proc/self/maps") as maps:
        mapped = [line.split() for line in maps]
    modules = [row for row in mapped if len(row) > 5 and "libpython3" in row[5]]
    modules = modules or [
        row for row in mapped if len(row) > 5 and row[5] == os.path.realpath(sys.executable)
    ]
    path, base = modules[0][5], int(modules[0][0].split("-")[0], 16)
    listing = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    is_fixed = "EXEC" in subprocess.run(["readelf", "-hW", path], capture_output=True, text=True).stdout
    entries = []
    for line in listing.splitlines():
        if "pthread_cond_timedwait" in line:
            address = int(line.split()[0], 16) + (0 if is_fixed else base)
            entries.append(struct.unpack("P", ctypes.string_at(address, struct.calcsize("P")))[0])
    return entries


@needs_gil
@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is needed")
def test_what_cpython_calls_is_put_back() -> None:
    before = lock_wait_entries()
    assert before
    with Latency("gilwait"):
        during = lock_wait_entries()
    assert lock_wait_entries() == before
    assert all(a != b for a, b in zip(before, during, strict=True))


@needs_gil
def test_threads_that_wait_while_it_goes_on_and_off_come_to_no_harm() -> None:
    stop = threading.Event()
    counts = [0] * 4

    def work(i: int) -> None:
        while not stop.is_set():
            counts[i] += sum(range(1000)) > 0
            if counts[i] % 50 == 0:
                time.sleep(0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(counts))]
    for thread in threads:
        thread.start()
    for _ in range(30):
        with Latency("gilwait") as latency:
            time.sleep(0.01)
        section = latency.section
        assert section is None or section.latency_ns <= passed_ns()
    stop.set()
    for thread in threads:
        thread.join()
    assert all(counts)


@needs_gil
def test_threads_may_end_right_after_they_waited() -> None:
    with Latency("gilwait") as latency:
        for _ in range(50):
            threads = [threading.Thread(target=sum, args=(range(20_000),)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        stall(30_000)
    assert latency.section is not None


@needs_gil
def test_a_fork_while_it_is_on() -> None:
    with Latency("gilwait"):
        pid = os.fork()
        if pid == 0:
            try:
                stall(200_000)
                caught = _engine.latency_section("gilwait")
                os._exit(0 if caught and caught["latency_ns"] >= 20 * MS else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        stall(20_000)
        own = _engine.latency_section("gilwait")
        assert own is not None and own["tid"] != pid


@pytest.mark.skipif("has_gil()", reason="there is an interpreter lock")
def test_without_an_interpreter_lock_it_says_that_there_is_none() -> None:
    with pytest.raises(OSError, match="there is no interpreter lock"):
        Latency("gilwait").__enter__()


def test_an_end_of_the_interpreter_while_tracers_are_on() -> None:
    program = (
        "import asyncio, threading, time\n"
        "from funcgraph import _engine\n"
        "for tracer in _engine.LATENCY_TRACERS:\n"
        "    try: _engine.latency_start(tracer)\n"
        "    except OSError: pass\n"
        "def spin():\n"
        "    while True: sum(range(1000))\n"
        "threads = [threading.Thread(target=spin, daemon=True) for _ in range(3)]\n"
        "[thread.start() for thread in threads]\n"
        "asyncio.run(asyncio.sleep(0.02))\n"
        "print('done')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


# ---- with the function graph inside


def test_loopblock_shows_what_the_callback_called() -> None:
    with Latency("loopblock", display_graph=True) as latency:
        asyncio.run(awaits_what_blocks())
    lines = latency.report().splitlines()
    graph = lines[
        lines.index("#      |           |    |            |   |                     |   |   |   |") + 1 :
    ]
    assert "us |" in graph[0] and "asyncio.events.Handle._run() {" in graph[0]
    assert re.search(r"\| [*@$] .*\|  }$", graph[-1].rstrip())  # over 10 ms; a busy machine sleeps longer
    assert any(f"{__name__}.blocks_inside() {{ /* resumed */" in line for line in graph)
    times = [int(line.split()[0]) for line in graph]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(latency.max_latency_us, abs=2)


def test_wakeup_shows_what_the_thread_did_meanwhile() -> None:
    with Latency("wakeup", display_graph=True) as latency:
        asyncio.run(makes_ready_behind_a_blocker())
    blocked = re.compile(r"\.runs_instead\(\) {\n.*\.block\(\) {\n.*\.passed_ns\(\);\n(.*)\|\s+}")
    end = blocked.search(latency.report())
    assert end and re.search(r"\| [*@$]", end[1])  # over 10 ms, 100 ms, 1 s


@needs_gil
def test_gilwait_has_its_events_where_no_call_began_or_ended() -> None:
    with Latency("gilwait", display_graph=True) as latency:
        stall(200_000)
    section = latency.section
    assert section is not None
    assert ".holds_lock (" in section.ended_at
    assert "holds_lock" in latency.report()


# ---- as an instance's tracer


def test_an_instance_has_them_as_tracers() -> None:
    with funcgraph.Instance("latency") as instance:
        assert {"loopblock", "wakeup", "gilwait"} <= set(instance.available_tracers)
        instance.current_tracer = "loopblock"
        assert instance.current_tracer == "loopblock"
        asyncio.run(schedules_blocking_callback())
        assert 30_000 <= instance.tracing_max_latency <= passed_ns() // 1000
        text = instance.trace()
        assert (
            text.startswith("# tracer: loopblock\n") and f"started at: {labelled(blocking_callback)}" in text
        )
        instance.tracing_max_latency = 0
        asyncio.run(does_little())
        assert instance.tracing_max_latency > 0
        assert "blocking_callback" not in instance.trace()


def test_an_instances_display_graph_threshold_and_the_way_back() -> None:
    with funcgraph.Instance("latency", tracing_thresh=200_000, options="display-graph") as instance:
        instance.current_tracer = "loopblock"
        assert instance.tracing_thresh == 200_000
        assert instance.set_graph_function == ()
        asyncio.run(awaits_what_blocks(250))
        assert f"{__name__}.blocks_inside() {{ /* resumed */" in instance.trace()
        instance.options["display-graph"] = False
        assert instance.tracing_max_latency == 0
        asyncio.run(awaits_what_blocks(250))
        assert "DURATION" not in instance.trace()
        instance.current_tracer = "function_graph"
        assert (instance.tracing_thresh, instance.set_graph_function) == (200_000, ())
        sleeps(210)
        assert ".sleeps" in instance.trace()


def test_a_second_instance_with_the_same_latency_tracer_is_busy() -> None:
    with funcgraph.Instance("one", tracer="wakeup"), funcgraph.Instance("two") as two:
        with pytest.raises(OSError, match="wakeup: already enabled") as error:
            two.current_tracer = "wakeup"
        assert error.value.errno == errno.EBUSY
        assert two.current_tracer == "nop"
        two.current_tracer = "loopblock"
        asyncio.run(makes_ready_behind_a_blocker())
        assert "runs_instead" in two.trace()
