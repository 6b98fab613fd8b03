"""Each user sees the functions, calls and threads of its filter as soon as the filter is set.

Broken by hand: exchange() kept the old tuple; editing the patterns always replaced them; make_filter()
ignored the threads.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = __name__


def a() -> None:
    b()


def b() -> None:
    c()


def c() -> None:
    pass


class Seen:
    """A user that notes the names of entered functions."""

    def __init__(self, **settings: Any) -> None:
        self.names: list[str] = []
        self.ops = funcgraph.FgraphOps(
            self.note, filter=settings.pop("filter", [f"{HERE}.[abc]"]), **settings
        )

    def note(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.names.append(trace.func.qualname)
        return True

    def of(self, run: Any = a) -> str:
        self.names.clear()
        run()
        return "".join(self.names)


def test_filter_and_notrace():
    seen = Seen(notrace=[f"{HERE}.b"])
    with funcgraph.registered(seen.ops):
        assert seen.of() == "ac"


def test_live():
    seen = Seen(filter=[f"{HERE}.a"])
    with funcgraph.registered(seen.ops):
        assert seen.of() == "a"
        seen.ops.set_filter([f"{HERE}.b"])
        assert seen.ops.filter == (f"{HERE}.a", f"{HERE}.b")
        assert seen.of() == "ab"
        seen.ops.set_filter([f"{HERE}.c"], reset=True)
        assert seen.ops.filter == (f"{HERE}.c",)
        assert seen.of() == "c"
        seen.ops.set_filter([f"{HERE}.[abc]"], True)
        seen.ops.set_notrace([f"{HERE}.a"])
        assert seen.of() == "bc"
        seen.ops.set_notrace((), reset=True)
        assert seen.of() == "abc"
    assert seen.ops.last_error is None


def test_this_function_and_what_it_calls():
    seen = Seen(graph=[f"{HERE}.b"])
    with funcgraph.registered(seen.ops):
        assert seen.of() == "bc"
        assert seen.of(c) == ""
        seen.ops.set_graph([f"{HERE}.a"], reset=True)
        assert seen.of() == "abc"
        seen.ops.set_graph([], reset=True)
        seen.ops.set_graph_notrace([f"{HERE}.b"])
        assert seen.of() == "a"
        assert seen.of(c) == "c"
        seen.ops.set_graph_notrace([], reset=True)
        assert seen.of() == "abc"


def test_a_bad_pattern_changes_nothing():
    seen = Seen()
    before = seen.ops.filter
    with funcgraph.registered(seen.ops):
        for setter in (
            seen.ops.set_filter,
            seen.ops.set_notrace,
            seen.ops.set_graph,
            seen.ops.set_graph_notrace,
        ):
            with pytest.raises(ValueError, match=r"pattern 'x\[', column 2"):
                setter([f"{HERE}.a", "x["], reset=True)
            with pytest.raises(TypeError):
                setter("abc")
        assert (seen.ops.filter, seen.ops.notrace, seen.ops.graph, seen.ops.graph_notrace) == (
            before,
            (),
            (),
            (),
        )
        assert seen.of() == "abc"


def test_functions_that_are_not_there_yet(tmp_path, monkeypatch):
    (tmp_path / "fg_comes_later.py").write_text("def late():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = Seen(filter=["fg_comes_later.late"])
    with funcgraph.registered(seen.ops):
        import fg_comes_later  # type: ignore[import-not-found]

        assert seen.of(fg_comes_later.late) == "late"
    sys.modules.pop("fg_comes_later")


def test_threads():
    def in_thread(ready: list[Any], go: threading.Event, done: threading.Event) -> None:
        ready.append(threading.get_native_id())
        go.wait(10)
        c()
        done.set()

    def run(seen: Seen, chosen: bool) -> str:
        ready: list[Any] = []
        go, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=in_thread, args=(ready, go, done))
        thread.start()
        while not ready:
            pass
        seen.names.clear()
        seen.ops.set_tids([ready[0]] if chosen else [threading.get_native_id()])
        go.set()
        assert done.wait(10)
        thread.join()
        a()
        return "".join(seen.names)

    seen = Seen()
    with funcgraph.registered(seen.ops):
        assert run(seen, True) == "c"
        assert run(seen, False) == "abc"
        seen.ops.set_tids([])
        assert seen.of() == ""
        seen.ops.set_tids(None)
        assert seen.ops.tids is None
        assert seen.of() == "abc"


def test_a_callback_may_change_its_own_filter():
    def entry(trace, ops, regs):
        names.append(trace.func.qualname)
        ops.set_filter([f"{HERE}.c"], reset=True)
        return True

    names: list[str] = []
    ops = funcgraph.FgraphOps(
        entry, lambda trace, ops, regs: names.append(trace.end), filter=[f"{HERE}.[abc]"]
    )
    with funcgraph.registered(ops):
        a()
    assert ops.last_error is None
    assert names == ["a", "c", "return", "return"]


def test_two_threads_may_change_one_filter():
    seen = Seen()

    def change(pattern: str) -> None:
        for _ in range(200):
            seen.ops.set_filter([pattern], reset=True)

    with funcgraph.registered(seen.ops):
        threads = [threading.Thread(target=change, args=(f"{HERE}.{name}",)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            a()
            thread.join()
        (left,) = seen.ops.filter
        assert seen.of() == left[-1]
