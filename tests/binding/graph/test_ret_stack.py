"""users() lists the registered users; get_ret_stack() lists the traced calls in progress.

Broken by hand: is_frame_of() did not compare the function (calls that had long ended were listed, after the
other tests of this folder); idx was ignored; own_place() was find_place() (3.11: the call of the callback was
missing).
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from builds import HAS_GIL

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

FILTER = [f"{__name__}.outer", f"{__name__}.inner"]


def outer(look: Any) -> Any:
    return inner(look)


def inner(look: Any) -> Any:
    return look()


def names(stack: Any) -> list[str]:
    return [frame.func.qualname for frame in stack]


@pytest.fixture
def traced():
    with funcgraph.registered(funcgraph.FgraphOps(filter=FILTER)):
        yield


def test_newest_first(traced):
    before = time.monotonic_ns()
    stack = outer(funcgraph.get_ret_stack)
    assert names(stack) == ["inner", "outer"]
    assert (
        before - 1_000_000 < stack[1].calltime_ns <= stack[0].calltime_ns <= time.monotonic_ns() + 1_000_000
    )
    assert stack[0].parent.qualname == "outer"
    assert stack[1].parent.qualname == "test_newest_first"
    assert stack[0].line == inner.__code__.co_firstlineno + 1
    assert stack[0].parent.line == stack[1].line == outer.__code__.co_firstlineno + 1
    assert funcgraph.get_ret_stack() == []


def test_from_an_index_on(traced):
    assert names(outer(lambda: funcgraph.get_ret_stack(1))) == ["outer"]
    assert names(outer(lambda: funcgraph.get_ret_stack(idx=2))) == []
    with pytest.raises(ValueError):
        funcgraph.get_ret_stack(-1)


def test_of_a_callback():
    stacks: list[Any] = []

    def look(trace, ops, regs):
        stacks.append(funcgraph.get_ret_stack())
        assert stacks[-1][0].parent == trace.parent
        return True

    with funcgraph.registered(funcgraph.FgraphOps(look, look, filter=FILTER)) as ops:
        outer(int)
    assert ops.last_error is None
    assert [names(stack) for stack in stacks] == [
        ["outer"],
        ["inner", "outer"],
        ["inner", "outer"],
        ["outer"],
    ]
    assert [frame.parent.qualname for frame in stacks[1]] == ["outer", "test_of_a_callback"]


def test_a_suspended_call_is_on_no_stack():
    def generate():
        yield funcgraph.get_ret_stack()

    with funcgraph.registered(funcgraph.FgraphOps(filter=["*.generate"])):
        generator = generate()
        assert names(next(generator)) == [generate.__qualname__]
        assert funcgraph.get_ret_stack() == []
        generator.close()


@pytest.mark.skipif(not HAS_GIL, reason="only one's own stack can be read without the GIL")
def test_of_another_thread(traced):
    ready, leave = threading.Event(), threading.Event()

    def wait() -> None:
        ready.set()
        leave.wait(10)

    thread = threading.Thread(target=outer, args=(wait,))
    thread.start()
    assert ready.wait(10)
    for task in (thread, thread.native_id):
        stack = funcgraph.get_ret_stack(task=task)
        assert names(stack) == ["inner", "outer"]
        assert stack[0].parent.qualname == "outer"
        assert stack[1].parent.qualname == "Thread.run"
    assert funcgraph.get_ret_stack() == []
    leave.set()
    thread.join()
    assert funcgraph.get_ret_stack(task=thread) == []


def test_of_what_is_no_thread():
    for wrong in ("x", 1.5, threading.Thread()):
        with pytest.raises(TypeError):
            funcgraph.get_ret_stack(task=wrong)  # type: ignore[arg-type]
    for wrong_id in (0, -1, 1 << 40):
        with pytest.raises(ValueError):
            funcgraph.get_ret_stack(task=wrong_id)


def test_users(tmp_path):
    from funcgraph import _engine

    ops = funcgraph.FgraphOps(
        filter=["a.*"], notrace=["b"], graph=["c"], graph_notrace=["d"], tids=[7], name="mine"
    )
    with funcgraph.registered(ops):
        handle = _engine.start(str(tmp_path), filter=["x.*"], mode="drop", buffer_kb=256)
        try:
            mine, tracer = sorted(funcgraph.users(), key=lambda user: user.kind)
            assert mine.slot == ops.slot != tracer.slot
        finally:
            _engine.stop(handle)
    assert mine == (
        "mine",
        "python",
        mine.slot,
        mine.generation,
        ("a.*",),
        ("b",),
        ("c",),
        ("d",),
        (7,),
        0,
        0,
    )
    assert (tracer.name, tracer.kind) == ("function_graph", "tracer")
    assert (tracer.filter, tracer.tids) == (("x.*",), None)
    assert tracer.generation > mine.generation
    with pytest.raises(AttributeError):
        mine.name = "x"
