"""Threads that are left out, and the options function-fork and event-fork: what listed threads start.

A Linux kernel gave the rules (processes there); here a pid is a thread.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator

import pytest
from traced import leaf, outer

import funcgraph
from funcgraph import _engine

pytestmark = pytest.mark.one_python

SELF = threading.get_native_id
needs_call_hooks = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="no call hooks without the GIL"
)


@pytest.fixture
def instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("pids", filter="traced.*", tracer="function") as instance:
        yield instance


def in_thread(*functions: object) -> None:
    """Run functions in a thread, and wait for its end."""

    def run() -> None:
        for function in functions:
            function(1) if function is leaf else function()  # type: ignore[operator]

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def traced_tids(instance: funcgraph.Instance) -> set[int]:
    lines = [line for line in instance.trace().splitlines() if "traced.leaf" in line]
    return {int(line.split("[")[0].strip().rpartition("-")[2]) for line in lines}


def test_set_ftrace_notrace_pid_leaves_out_threads(instance: funcgraph.Instance) -> None:
    assert instance.files["set_ftrace_notrace_pid"] == "no pid\n"
    instance.files["set_ftrace_notrace_pid"] = f"{SELF()}\n"
    assert instance.files["set_ftrace_notrace_pid"] == f"{SELF()}\n"
    leaf(1)
    in_thread(leaf)
    (other,) = traced_tids(instance)
    assert other != SELF()
    instance.set_ftrace_notrace_pid = ()
    leaf(1)
    assert traced_tids(instance) == {other, SELF()}


def test_a_thread_in_both_lists_is_not_traced(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_pid = instance.set_ftrace_notrace_pid = (SELF(),)
    leaf(1)
    in_thread(leaf)
    assert traced_tids(instance) == set()


def test_lists_are_written_as_the_kernels(instance: funcgraph.Instance) -> None:
    files = instance.files
    files["set_ftrace_notrace_pid"] = "30 10 20\n"
    files.write("set_ftrace_notrace_pid", "5 7\n", append=True)
    assert files["set_ftrace_notrace_pid"] == "5\n7\n10\n20\n30\n"
    for text in ("!10", "1-5", "1,2", "-1"):
        with pytest.raises(OSError) as caught:
            files["set_ftrace_notrace_pid"] = text
        assert caught.value.errno == errno.EINVAL


def test_without_the_options_children_are_not_followed(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_pid = (SELF(),)
    in_thread(leaf)
    leaf(1)
    assert traced_tids(instance) == {SELF()}
    assert instance.set_ftrace_pid == (SELF(),)


@needs_call_hooks
def test_function_fork_follows_threads_from_their_first_call(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_pid = (SELF(),)
    instance.options["function-fork"] = True
    seen: list[int] = []
    in_thread(leaf, lambda: seen.append(SELF()), lambda: seen.extend(instance.set_ftrace_pid))
    assert traced_tids(instance) == {seen[0]}
    assert set(seen[1:]) == {SELF(), seen[0]}
    assert instance.set_ftrace_pid == (SELF(),)  # it has ended
    instance.options["function-fork"] = False
    instance.clear()
    in_thread(leaf)
    assert traced_tids(instance) == set()


@needs_call_hooks
def test_function_fork_follows_the_children_of_children_only(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_pid = (SELF(),)
    instance.options["function-fork"] = True
    tids: list[int] = []
    in_thread(lambda: in_thread(leaf, lambda: tids.append(SELF())))
    assert traced_tids(instance) == set(tids)
    instance.set_ftrace_pid = (1,)
    instance.clear()
    in_thread(leaf)
    assert traced_tids(instance) == set()


@needs_call_hooks
def test_function_fork_follows_what_is_left_out_too(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_notrace_pid = (SELF(),)
    instance.options["function-fork"] = True
    leaf(1)
    in_thread(leaf)
    assert traced_tids(instance) == set()


@needs_call_hooks
def test_the_last_thread_of_a_list_stays_when_it_ends(instance: funcgraph.Instance) -> None:
    """An empty list would begin to select all threads."""
    instance.options["function-fork"] = True
    tids: list[int] = []

    def run() -> None:
        tids.append(SELF())
        instance.set_ftrace_pid = (SELF(),)

    in_thread(run)
    assert instance.set_ftrace_pid == tuple(tids)
    leaf(1)
    assert traced_tids(instance) == set()


@needs_call_hooks
def test_event_fork_follows_threads_in_the_events_lists() -> None:
    with funcgraph.Instance("pids") as one:
        funcgraph.dynamic_events.define("f:pids/leaf traced.leaf")
        try:
            one.events["pids/leaf"].enable = True
            one.set_event_pid = (SELF(),)
            in_thread(leaf)
            assert "pids" not in one.trace().replace("#P", "") and "leaf:" not in one.trace()
            one.options["event-fork"] = True
            in_thread(leaf)
            assert one.trace().count("leaf: (traced.leaf)") == 1
            one.set_event_pid = ()
            one.set_event_notrace_pid = (SELF(),)
            one.clear()
            leaf(1)
            in_thread(leaf)
            assert "leaf:" not in one.trace()
            assert one.set_event_notrace_pid == (SELF(),)
        finally:
            one.close()
            funcgraph.dynamic_events.clear()


@needs_call_hooks
def test_a_forked_child_follows_its_own_threads(instance: funcgraph.Instance) -> None:
    instance.options["function-fork"] = True
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        own = funcgraph.Instance("own", filter="traced.*", tracer="function", tids=[SELF()])
        own.options["function-fork"] = True
        in_thread(leaf)
        os.write(write, str(len(traced_tids(own))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 64) == b"1"
    os.close(read)
    os.close(write)


@needs_call_hooks
def test_threads_are_watched_only_while_an_instance_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(_engine, "watch_threads", calls.append)
    with funcgraph.Instance("watched") as one:
        one.options["event-fork"] = True
        one.options["function-fork"] = True
        one.options["event-fork"] = False
        assert len(calls) == 1 and calls[0] is not None
    assert calls[1:] == [None]


def test_a_python_that_cannot_follow_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no call hooks")

    monkeypatch.setattr(_engine, "watch_threads", refuse)
    with funcgraph.Instance("refused") as one:
        with pytest.raises(OSError) as caught:
            one.options["function-fork"] = True
        assert caught.value.errno == errno.EOPNOTSUPP
        assert not one.options["function-fork"]


@needs_call_hooks
def test_many_threads_at_once_are_followed_and_forgotten(instance: funcgraph.Instance) -> None:
    instance.set_ftrace_pid = (SELF(),)
    instance.options["function-fork"] = True
    threads = [threading.Thread(target=outer) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert instance.trace().count(": traced.outer <-") == 20
    assert instance.set_ftrace_pid == (SELF(),)
