"""Functions without users have their events disabled; the next matching user receives them again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import funcgraph
from funcgraph import _engine

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")

NR_FUNCTIONS = 50


def _make_functions() -> list[Callable[[int], int]]:
    namespace: dict[str, Any] = {"__name__": "rehooked"}
    exec("\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(NR_FUNCTIONS)), namespace)
    return [namespace[f"f{i}"] for i in range(NR_FUNCTIONS)]


class Calls:
    """A user that notes the functions of its entries and returns."""

    def __init__(self, *patterns: str) -> None:
        self.entries: list[str] = []
        self.returns: list[str] = []
        self.ops = funcgraph.FgraphOps(self._entered, self._returned, filter=patterns)

    def _entered(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.entries.append(trace.func.qualname)
        return True

    def _returned(self, trace: Any, ops: Any, regs: Any) -> None:
        self.returns.append(trace.func.qualname)

    def take(self) -> list[str]:
        """Return the functions entered since the last call, all of which must have returned."""
        entries, returns = self.entries[:], self.returns[:]
        self.entries.clear()
        self.returns.clear()
        assert entries == returns
        return entries


@pytest.fixture
def functions() -> Iterator[list[Callable[[int], int]]]:
    """Known functions without users: they were called while a user waited for other functions."""
    waiting = Calls("nothing.*")
    functions = _make_functions()
    with funcgraph.registered(waiting.ops):
        _call_all(functions)
        _call_all(functions)
        yield functions
    assert waiting.take() == []


def _call_all(functions: list[Callable[[int], int]]) -> list[str]:
    for function in functions:
        function(1)
    return [function.__qualname__ for function in functions]


def _has_local_events(function: Any) -> bool:
    """Return whether any tool still has events enabled for this function."""
    if sys.version_info < (3, 12):
        return False
    return any(sys.monitoring.get_local_events(tool, function.__code__) for tool in range(6))


def test_silent_functions_are_heard_by_a_new_user(functions: list[Callable[[int], int]]) -> None:
    """Broken by not enabling the start event again (monitoring.c): the second round received no calls."""
    for _ in range(3):
        user = Calls("rehooked.*")
        with funcgraph.registered(user.ops):
            assert _call_all(functions) == user.take()
            assert _call_all(functions) == user.take()
        _call_all(functions)
        _call_all(functions)
        assert user.take() == []


def test_a_filter_that_grows_and_shrinks(functions: list[Callable[[int], int]]) -> None:
    """Broken by the same change as the test before."""
    user = Calls("rehooked.f7")
    with funcgraph.registered(user.ops):
        for _ in range(3):
            _call_all(functions)
            assert user.take() == ["f7"]
            user.ops.set_filter(["rehooked.*"], reset=True)
            assert _call_all(functions) == user.take()
            user.ops.set_filter(["rehooked.f7"], reset=True)


def test_users_of_one_function_come_and_go_in_any_order(functions: list[Callable[[int], int]]) -> None:
    """Broken by disabling the events (sync_func) with the first user that leaves, or not with the last."""
    first, second, third = (Calls("rehooked.*") for _ in range(3))
    funcgraph.register_ftrace_graph(first.ops)
    funcgraph.register_ftrace_graph(second.ops)
    assert _call_all(functions) == first.take() == second.take()
    funcgraph.unregister_ftrace_graph(first.ops)
    assert _call_all(functions) == second.take()
    funcgraph.register_ftrace_graph(third.ops)
    assert _call_all(functions) == second.take() == third.take()
    funcgraph.unregister_ftrace_graph(second.ops)
    assert _call_all(functions) == third.take()
    funcgraph.unregister_ftrace_graph(third.ops)
    _call_all(functions)
    assert first.take() == second.take() == third.take() == []
    assert not any(_has_local_events(function) for function in functions)


def test_thousands_of_whole_names(functions: list[Callable[[int], int]]) -> None:
    """Broken by a name lookup (pattern.c) that skips the last name, or loses a name that it moves."""
    names = [f"rehooked.f{i * 37 % 5000}" for i in range(5000) if i * 37 % 5000 % 3]
    user = Calls(*names)
    with funcgraph.registered(user.ops):
        _call_all(functions)
        assert user.take() == [f"f{i}" for i in range(NR_FUNCTIONS) if i % 3]


class OtherTool:
    """A tool of sys.monitoring that wants each function's start event once."""

    def __init__(self, tool_id: int) -> None:
        self.received: list[str] = []
        self.tool_id = tool_id

    def __enter__(self) -> OtherTool:
        monitoring = sys.monitoring
        monitoring.use_tool_id(self.tool_id, "other tool")
        monitoring.register_callback(self.tool_id, monitoring.events.PY_START, self._started)
        monitoring.set_events(self.tool_id, monitoring.events.PY_START)
        return self

    def __exit__(self, *_: object) -> None:
        monitoring = sys.monitoring
        monitoring.set_events(self.tool_id, 0)
        monitoring.register_callback(self.tool_id, monitoring.events.PY_START, None)
        monitoring.free_tool_id(self.tool_id)

    def _started(self, code: Any, offset: int) -> Any:
        if code.co_filename == "<string>":
            self.received.append(code.co_qualname)
        return sys.monitoring.DISABLE

    def take(self) -> list[str]:
        received = self.received[:]
        self.received.clear()
        return received


@needs_monitoring
@pytest.mark.parametrize("tool_id", [1, 5], ids=["below ours", "above ours"])
def test_what_other_tools_disabled_stays_disabled(
    functions: list[Callable[[int], int]], tool_id: int
) -> None:
    """Broken by clearing every tool's disabled bit, and by calling restart_events() instead."""
    with OtherTool(tool_id) as other:
        assert _call_all(functions) == other.take()
        for _ in range(3):
            user = Calls("rehooked.*")
            with funcgraph.registered(user.ops):
                assert _call_all(functions) == user.take()
            _call_all(functions)
            assert user.take() == []
            assert other.take() == []


@needs_monitoring
def test_a_tool_that_comes_to_functions_of_ours_hears_them_too(functions: list[Callable[[int], int]]) -> None:
    """Broken by clearing every tool's bit."""
    user = Calls("rehooked.*")
    with funcgraph.registered(user.ops):
        with OtherTool(5) as other:
            assert _call_all(functions) == other.take() == user.take()
            funcgraph.unregister_ftrace_graph(user.ops)
            _call_all(functions)
            funcgraph.register_ftrace_graph(user.ops)
            assert _call_all(functions) == user.take()
        assert _call_all(functions) == user.take()
        assert other.take() == []


# ---- the hooks are removed with the last user


@needs_monitoring
def test_local_events_that_another_tool_left_are_not_ours() -> None:
    """From 3.14 on CPython ends a tool's local events when the tool gives its id back. But it clears the bits
    of a code object only at its next call. Broken by reading bits that are out of date (fg_local_events): a
    user found just the events that it needed, and saw entries without returns."""
    monitoring = sys.monitoring
    functions = _make_functions()
    user = Calls("rehooked.*")
    with funcgraph.registered(user.ops):
        _call_all(functions)
        tool = _engine.status()["tool_id"]
        events = monitoring.get_local_events(tool, functions[0].__code__)
    assert user.take() and events & monitoring.events.PY_RETURN
    monitoring.use_tool_id(tool, "another")
    for function in functions:
        monitoring.set_local_events(tool, function.__code__, events)
    monitoring.free_tool_id(tool)
    with funcgraph.registered(user.ops):
        assert _engine.status()["tool_id"] == tool
        assert _call_all(functions) == user.take()


def test_hooks_stay_until_a_user_that_leaves_has_let_go_of_its_functions() -> None:
    """Broken by fg_cpython_stop() that asks only for the number of users: while the user waited for a
    callback, the hooks were removed, and the functions kept their local events."""
    functions = _make_functions()
    inside, go = threading.Event(), threading.Event()

    def entered(fp: Any, entry_ip: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        if entry_ip.qualname == "f1":
            inside.set()
            assert go.wait(10)

    fp = funcgraph.Fprobe(entered, lambda *args: None)
    funcgraph.register_fprobe_ips(fp, functions)
    calling = threading.Thread(target=functions[1], args=(1,))
    calling.start()
    assert inside.wait(10)
    leaving = threading.Thread(target=funcgraph.unregister_fprobe, args=(fp,))
    leaving.start()
    while fp.registered:
        time.sleep(0)
    with pytest.raises(OSError, match="no function"):  # and the hooks go if nobody needs them
        funcgraph.register_fprobe(funcgraph.Fprobe(), "rehooked.nothing")
    go.set()
    calling.join()
    leaving.join()
    assert fp.last_error is None
    assert not any(_has_local_events(function) for function in functions)
    assert _engine.status()["tool_id"] == -1
    user = Calls("rehooked.*")
    with funcgraph.registered(user.ops):
        assert _call_all(functions) == user.take()


def test_a_user_that_leaves_in_its_callback_leaves_no_events() -> None:
    """Broken without fg_progress_forget() in fg_cpython_stop(): the call in progress kept the events, on 3.12
    and 3.13 for good."""
    function = _make_functions()[0]
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: funcgraph.unregister_ftrace_graph(ops),
        lambda *args: None,
        filter=["rehooked.*"],
    )
    funcgraph.register_ftrace_graph(ops)
    function(1)
    assert ops.last_error is None and not ops.registered
    assert not _has_local_events(function)
    assert _engine.status()["tool_id"] == -1
