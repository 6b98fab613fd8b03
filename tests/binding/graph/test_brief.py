"""Promise: without brief-calls, C functions that take little time at each call are left out, and places that
call nothing else stop to report their calls; whoever wants such calls later gets them all.

Broken by hand: set_requested_events() did not hear_calls() (the option, another instance); no
hear_all_calls() (a user that names `len`); fg_may_wait() returned false (a lock in Python, then one in C);
uses_name() returned true (a function that is given as an argument).
"""

from __future__ import annotations

import dis
import importlib
import operator
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph.answers import waits

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

SOURCE = Path(__file__).parents[3] / "src/arch/cpython/read/brief.c"
CAN_STOP = sys.version_info >= (3, 12) and getattr(sys, "_is_gil_enabled", lambda: True)()
HERE = __name__


def names_in(table: str) -> list[str]:
    return re.findall(r'"([^"]+)"', re.search(rf"{table}\[\] = {{(.*?)}};", SOURCE.read_text(), re.DOTALL)[1])


def graph(name: str, *functions: Callable[..., Any], options: str = "nobrief-calls") -> funcgraph.Instance:
    return funcgraph.Instance(
        name,
        tracer="function_graph",
        filter=[f"{HERE}.{function.__qualname__}" for function in functions],
        c_calls=True,
        options=options,
    )


def calls(instance: funcgraph.Instance) -> list[str]:
    """Return the C functions in a trace, and empty it."""
    found = re.findall(r"\|  +([\w.]+)\(", instance.trace())
    instance.files["trace"] = ""
    return [name for name in found if not name.startswith(HERE)]


def is_silent(function: Any) -> bool:
    """Return whether no place of a function reports its calls."""
    names = {op.opname for op in dis.get_instructions(function, adaptive=True)}
    return not any(name.startswith("INSTRUMENTED_CALL") for name in names)


def plain(n: int) -> int:
    return n


def works(items: list[int]) -> int:
    items.append(plain(len(items)))
    items.sort()
    return items[-1]


def brief_alone(items: list[int]) -> int:
    items.append(plain(len(items)))
    return isinstance(items, list)


@pytest.fixture(name="instance")
def fixture_instance() -> Iterator[funcgraph.Instance]:
    with graph("brief", works, brief_alone) as instance:
        yield instance


ALL = ["builtins.len", "builtins.list.append", "builtins.list.sort"]


def test_brief_functions_are_left_out(instance: funcgraph.Instance) -> None:
    works([])
    works([])
    assert calls(instance) == ["builtins.list.sort"] * 2


@pytest.mark.skipif(not CAN_STOP, reason="no place can stop to report")
def test_places_that_call_nothing_else_stop_to_report(instance: funcgraph.Instance) -> None:
    brief_alone([])
    assert is_silent(brief_alone)
    works([])
    assert not is_silent(works)
    assert calls(instance) == ["builtins.list.sort"]


def test_the_option_brings_them_back(instance: funcgraph.Instance) -> None:
    works([])
    calls(instance)
    instance.options["brief-calls"] = True
    works([])
    assert calls(instance) == ALL
    instance.trace_options = "nobrief-calls"
    works([])
    assert calls(instance) == ALL[2:]


def test_another_instance_gets_all(instance: funcgraph.Instance) -> None:
    works([])
    with graph("all", works, options="brief-calls") as other:
        works([])
        assert calls(other) == ALL
    works([])
    assert calls(instance) == ALL[2:] * 3


def test_a_user_that_names_one_gets_it_from_all_places(instance: funcgraph.Instance) -> None:
    seen: list[str] = []
    works([])
    ops = funcgraph.FgraphOps(lambda trace, ops, regs: seen.append(trace.func.name), filter=["builtins.len"])
    with funcgraph.registered(ops):
        seen.clear()
        works([])
        assert seen == ["builtins.len"]
    works([])
    assert calls(instance) == ALL[2:] * 3


def test_a_function_that_comes_later(instance: funcgraph.Instance) -> None:
    """A record that is used again belongs to another function."""
    for n in range(3):
        made: dict[str, Any] = {"__name__": HERE}
        exec(f"def works(items):\n    items.append({n})\n    items.sort()", made)
        made["works"]([])
        assert calls(instance) == ["builtins.list.sort"]


# ---- what has another value later


class PythonLock:
    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass


def locks(lock: Any) -> None:
    lock.acquire()
    lock.release()


def applies(function: Callable[[Any], Any], value: Any) -> Any:
    return function(value)


def test_a_lock_in_python_then_one_in_c() -> None:
    with graph("locks", locks) as instance:
        locks(PythonLock())
        locks(threading.Lock())
        assert "_thread.lock.acquire" in calls(instance)


def test_a_function_that_is_given_as_an_argument() -> None:
    with graph("applies", applies) as instance:
        for function in (len, plain, str, sorted, len, operator.index):
            applies(function, (1,) if function is not operator.index else 1)
        assert calls(instance) == ["builtins.sorted", "_operator.index"]


# ---- other tools


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_another_tool_hears_silent_places(instance: funcgraph.Instance) -> None:
    monitoring = sys.monitoring
    heard: list[Any] = []
    works([])
    monitoring.use_tool_id(1, "test_brief")
    monitoring.register_callback(1, monitoring.events.CALL, lambda code, at, to, arg: heard.append(to))
    try:
        monitoring.set_local_events(1, works.__code__, monitoring.events.CALL)
        works([])
    finally:
        monitoring.set_local_events(1, works.__code__, 0)
        monitoring.register_callback(1, monitoring.events.CALL, None)
        monitoring.free_tool_id(1)
    assert [getattr(callee, "__name__", "") for callee in heard] == ["len", "plain", "append", "sort"]
    works([])
    assert calls(instance) == ALL[2:] * 3


# ---- the lists


@pytest.mark.one_python
def test_the_lists_are_sorted_and_agree_with_the_answers() -> None:
    brief, waiting = names_in("brief"), names_in("waiting")
    assert brief == sorted(set(brief))
    assert waiting == sorted({name.rpartition(".")[2] for name in waits.C_KINDS})
    assert not set(brief) & waits.C_KINDS.keys()


@pytest.mark.parametrize("name", names_in("brief"))
def test_each_brief_function_is_one_in_c(name: str) -> None:
    module, _, path = name.partition(".")
    if path.startswith("lock."):  # CPython 3.11 has no such name in _thread
        found = getattr(type(threading.Lock()), path.removeprefix("lock."))
    else:
        found = operator.attrgetter(path)(importlib.import_module(module))
    assert type(found).__name__ in ("builtin_function_or_method", "method_descriptor"), name
