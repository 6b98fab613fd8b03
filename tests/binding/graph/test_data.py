"""Data that a user reserves at an entry is available at that call's return. A view that is used after its
callback raises.

Broken by hand: fg_views_settle did not copy the bytes back; linger() set no flag, so slices continued to show
bytes; free_lingers() was never called (the leak test); find_buffer() always returned NULL (two views of the
same data differed).
"""

from __future__ import annotations

import gc
import struct
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

SIZES = [*range(1, 34), 63, 64, 65, 127, 128, 129, 255, 256]


def traced(n: int = 0) -> int:
    return traced(n - 1) + 1 if n else 0


def registered(entry: Any, ret: Any) -> Any:
    return funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=[f"{__name__}.traced"]))


@pytest.mark.parametrize("size", SIZES)
def test_each_size_goes_from_entry_to_return(size):
    seen: list[bytes] = []

    def entry(trace, ops, regs):
        data = ops.reserve_data(size)
        assert len(data) == size and bytes(data) == bytes(size) and not data.readonly
        data[:] = bytes((trace.depth + i) % 256 for i in range(size))
        return True

    def ret(trace, ops, regs):
        seen.append(bytes(ops.retrieve_data()))

    with registered(entry, ret) as ops:
        traced(3)
    assert ops.last_error is None
    assert seen == [bytes((depth + i) % 256 for i in range(size)) for depth in (3, 2, 1, 0)]


@pytest.mark.parametrize("size", [0, -1, 257, 1 << 70])
def test_a_size_out_of_range(size):
    def entry(trace, ops, regs):
        with pytest.raises(ValueError):
            ops.reserve_data(size)

    with registered(entry, None) as ops:
        traced()
    assert ops.last_error is None


def test_once_per_entry_and_none_reserved():
    found: list[object] = []

    def entry(trace, ops, regs):
        found.append(ops.reserve_data(8) is not None)
        found.append(ops.reserve_data(8))
        return True

    with registered(entry, None) as ops:
        traced()
    with registered(None, lambda trace, ops, regs: found.append(ops.retrieve_data())) as other:
        traced()
    assert ops.last_error is other.last_error is None
    assert found == [True, None, None]


_DEEP = """
import sys
import funcgraph

told, overrun = [], []

def traced(n):
    return traced(n - 1) + 1 if n else 0

def entry(trace, ops, regs):
    told.append(ops.reserve_data(256) is not None)
    return True

def ended(trace, ops, regs):
    overrun.append(trace.overrun)

sys.setrecursionlimit(40_000)
ops = funcgraph.FgraphOps(entry, ended, filter=["__main__.traced"])
with funcgraph.registered(ops):
    assert traced(30_000) == 30_000
assert ops.last_error is None
assert True in told
assert len(told) == len(overrun)
assert len(told) + overrun[-1] == 30_001, (len(told), overrun[-1])
"""


def test_no_room_is_told_by_none():
    """A deep recursion fills the shadow stack with data; the program is not affected.

    The test needs its own process: when greenlet is loaded, CPython 3.11 runs calls this deep untraced.
    """
    done = subprocess.run([sys.executable, "-c", _DEEP], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_data_of_parents_can_be_read_and_written():
    sums: list[int] = []

    def entry(trace, ops, regs):
        ops.reserve_data(8)[:] = struct.pack("q", 0)
        return True

    def ret(trace, ops, regs):
        (below,) = struct.unpack("q", ops.retrieve_data())
        sums.append(below)
        parent = ops.retrieve_parent_data(1)
        if parent is None:
            assert trace.depth == 0
            return
        parent[:] = struct.pack("q", struct.unpack("q", parent)[0] + below + 1)
        assert ops.retrieve_parent_data(1) is parent
        assert ops.retrieve_parent_data(trace.depth) is not None
        assert ops.retrieve_parent_data(trace.depth + 1) is None

    with registered(entry, ret) as ops:
        traced(4)
    assert ops.last_error is None
    assert sums == [0, 1, 2, 3, 4]


def test_a_view_used_after_its_callback_raises():
    kept: list[memoryview] = []

    def entry(trace, ops, regs):
        data = ops.reserve_data(16)
        kept.extend([data, data[2:10], memoryview(data), data.cast("I"), data.toreadonly()])
        data[3] = 7
        return True

    def ret(trace, ops, regs):
        assert ops.retrieve_data()[3] == 7
        kept.append(ops.retrieve_data()[1:])

    with registered(entry, ret) as ops:
        traced()
    assert ops.last_error is None
    assert len(kept) == 6
    for view in kept:
        with pytest.raises(ValueError):
            view[0]
        with pytest.raises(ValueError):
            bytes(view)
        with pytest.raises(ValueError):
            memoryview(view)
    kept.clear()
    gc.collect()


def test_a_view_that_nothing_hangs_on_raises_too():
    kept: list[memoryview] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: kept.append(ops.reserve_data(8)) is None,
        lambda trace, ops, regs: kept.append(ops.retrieve_data()),
        filter=[f"{__name__}.traced"],
    )
    with funcgraph.registered(ops):
        traced()
    assert ops.last_error is None
    for view in kept:
        with pytest.raises(ValueError):
            view[0]


@pytest.mark.imports_much
def test_a_buffer_taken_from_a_view_shows_no_memory_that_is_gone():
    numpy = pytest.importorskip("numpy")
    kept: list[Any] = []

    def entry(trace, ops, regs):
        data = ops.reserve_data(32)
        kept.append(numpy.frombuffer(data, dtype="u1"))
        kept[-1][5] = 77
        kept.append(struct.Struct("16s"))
        return True

    def ret(trace, ops, regs):
        assert ops.retrieve_data()[5] == 77

    with registered(entry, ret) as ops:
        traced(5)
        for array in kept[::2]:
            array[:] = 255  # must not reach the shadow stack of later calls
        traced(5)
    assert ops.last_error is None
    assert [int(array[5]) for array in kept[::2]] == [255] * 6 + [77] * 6


def test_views_that_were_kept_go_when_they_are_let_go():
    """The buffers of kept slices are freed, although CPython never releases them by itself."""
    kept: list[memoryview] = []

    def entry(trace, ops, regs):
        kept.append(ops.reserve_data(256)[:128])
        return True

    def blocks_after(rounds: int) -> int:
        for _ in range(rounds):
            traced()
            kept.clear()
        gc.collect()
        return sys.getallocatedblocks()

    with registered(entry, None) as ops:
        before = blocks_after(1000)
        assert blocks_after(5000) < before + 500
    assert ops.last_error is None


def test_a_view_that_its_user_released():
    seen: list[bytes] = []

    def entry(trace, ops, regs):
        with ops.reserve_data(4) as data:
            data[:] = b"abcd"
        return True

    def ret(trace, ops, regs):
        with ops.retrieve_data() as data:
            data[0] = 0
        seen.append(bytes(ops.retrieve_data()))

    with registered(entry, ret) as ops:
        traced()
    assert ops.last_error is None
    assert seen == [b"\0bcd"]


@pytest.mark.parametrize(
    "use",
    [
        lambda ops: ops.reserve_data(8),
        lambda ops: ops.retrieve_data(),
        lambda ops: ops.retrieve_parent_data(0),
        lambda ops: ops.reserve_object(1),
        lambda ops: ops.retrieve_object(),
    ],
)
def test_outside_of_its_callback_nothing_can_be_reserved_or_retrieved(use):
    other = funcgraph.FgraphOps()
    raised: list[str] = []

    def entry(trace, ops, regs):
        with pytest.raises(RuntimeError) as caught:
            use(other)
        raised.append(str(caught.value))

    with registered(entry, None) as ops:
        with pytest.raises(RuntimeError):
            use(ops)
        traced()
    assert ops.last_error is None
    assert len(raised) == 1


def test_entry_and_return_have_their_own():
    def entry(trace, ops, regs):
        with pytest.raises(RuntimeError, match="return function"):
            ops.retrieve_data()
        with pytest.raises(RuntimeError, match="return function"):
            ops.retrieve_object()
        return True

    def ret(trace, ops, regs):
        with pytest.raises(RuntimeError, match="entry function"):
            ops.reserve_data(8)
        with pytest.raises(RuntimeError, match="entry function"):
            ops.reserve_object(8)

    with registered(entry, ret) as ops:
        traced()
    assert ops.last_error is None


class Thing:
    pass


@pytest.mark.parametrize("expected", [False, True])
def test_an_object_lives_as_long_as_its_frame(expected):
    things: list[weakref.ref[Thing]] = []
    alive: list[bool] = []

    def entry(trace, ops, regs):
        thing = Thing()
        things.append(weakref.ref(thing))
        assert ops.reserve_object(thing)
        assert not ops.reserve_object(thing)
        return expected

    def ret(trace, ops, regs):
        alive.append(things[-1]() is ops.retrieve_object() is not None)

    def generate():
        alive.append(things[-1]() is not None)
        yield
        alive.append(things[-1]() is not None)

    ops = funcgraph.FgraphOps(entry, ret, filter=["*.generate"])
    with funcgraph.registered(ops):
        list(generate())
    assert ops.last_error is None
    assert alive == ([True] * 3 if expected else [False] * 2)
    assert things[-1]() is None


def test_an_object_goes_also_if_its_user_left_meanwhile():
    things: list[weakref.ref[Thing]] = []

    def entry(trace, ops, regs):
        thing = Thing()
        things.append(weakref.ref(thing))
        return ops.reserve_object(thing)

    program: dict[str, Any] = {}
    exec("def generate(): yield", program)
    ops = funcgraph.FgraphOps(entry, filter=["*.generate"])
    with funcgraph.registered(ops):
        generator = program["generate"]()
        next(generator)
        assert things[-1]() is not None
    del generator
    program.clear()  # the function's end is reported; the generator's end may reach no user
    gc.collect()
    assert things[-1]() is None


def test_an_object_of_a_user_that_left_goes_at_once_in_its_own_thread():
    def entry(trace, ops, regs):
        thing = Thing()
        things.append(weakref.ref(thing))
        return ops.reserve_object(thing)

    def traced_call():
        funcgraph.unregister_ftrace_graph(ops)
        alive.append(things[-1]() is not None)

    def inner():
        traced_call()

    things: list[weakref.ref[Thing]] = []
    alive: list[bool] = []
    ops = funcgraph.FgraphOps(entry, filter=["*.traced_call"])
    funcgraph.register_ftrace_graph(ops)
    inner()
    assert alive == [False]
    # A newer call that another user waits for lies above it on the stack.
    other = funcgraph.FgraphOps(None, lambda *_: None, filter=["*.inner", "*.reserves"])

    def reserves():
        inner_leaves()

    def inner_leaves():
        inner()

    ops = funcgraph.FgraphOps(entry, filter=["*.inner_leaves", "*.traced_call"])
    alive.clear()
    with funcgraph.registered(other):
        funcgraph.register_ftrace_graph(ops)
        reserves()
        assert alive == [False]
        assert things[-2]() is None
    assert ops.last_error is None


def test_an_object_of_a_user_that_left_goes_at_the_next_traced_call_of_another_thread():
    """Not before: until then nothing reads that thread's stack. From 3.12 on the call's end is not hooked."""

    def entry(trace, ops, regs):
        thing = Thing()
        things.append(weakref.ref(thing))
        return ops.reserve_object(thing)

    def waits():
        runs.set()
        leaves.wait()

    def other():
        pass

    def run():
        waits()
        alive.append(things[-1]() is not None)
        with funcgraph.registered(funcgraph.FgraphOps(lambda *_: False, filter=["*.other"])):
            other()
        alive.append(things[-1]() is not None)

    things: list[weakref.ref[Thing]] = []
    alive: list[bool] = []
    runs, leaves = threading.Event(), threading.Event()
    thread = threading.Thread(target=run)
    ops = funcgraph.FgraphOps(entry, filter=["*.waits"])
    with funcgraph.registered(ops):
        thread.start()
        runs.wait()
    leaves.set()
    thread.join()
    assert ops.last_error is None
    assert alive == [sys.version_info >= (3, 12), False]


def test_no_object_was_reserved():
    found: list[object] = []
    with registered(None, lambda trace, ops, regs: found.append(ops.retrieve_object())) as ops:
        traced()
    assert ops.last_error is None
    assert found == [None]
