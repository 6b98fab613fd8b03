"""Instances are independent of each other, and each change of one takes effect at once."""

from __future__ import annotations

import errno
import itertools
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from traced import leaf, marks, middle, outer, slow

import funcgraph

HERE = "traced.*"


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        with instance:
            pass
    assert dict(funcgraph.instances()) == {}


def calls_in(text: str) -> list[str]:
    """Return the functions in a trace's lines, in order and without their module: entries and leaves."""
    return re.findall(r"traced\.(\w+)(?:\(.*\) \{|\(.*\);|(?: <-.*)?$)", text, re.MULTILINE)


def refusal(number: int, change: Callable[[], Any]) -> str:
    """Make a change that raises OSError with this number; return its text."""
    with pytest.raises(OSError) as caught:
        change()
    assert caught.value.errno == number
    return str(caught.value)


def graph(name: str = "one", **settings: Any) -> funcgraph.Instance:
    return funcgraph.Instance(name, **{"tracer": "function_graph", "filter": [HERE], **settings})


# ---- independence


def test_two_instances_record_only_their_own_calls() -> None:
    with (
        graph("one", options="funcgraph-args nofuncgraph-cpu") as one,
        funcgraph.Instance("two", tracer="function", filter=["traced.leaf"]) as two,
    ):
        outer(5)
        assert calls_in(one.trace()) == ["outer", "middle", "leaf", "leaf", "leaf"]
        assert "traced.outer(number=5) {" in one.trace()
        assert "CPU" not in one.trace()
        assert calls_in(two.trace()) == ["leaf", "leaf", "leaf"]
        assert two.trace().startswith("# tracer: function\n")


def test_closing_one_changes_nothing_in_the_other() -> None:
    one, two = graph("one"), graph("two")
    outer()
    before = two.trace()
    one.close()
    assert two.trace() == before
    outer()
    assert calls_in(two.trace()) == calls_in(before) * 2
    two.close()
    assert one.closed
    with pytest.raises(ValueError, match="closed"):
        one.trace()


def test_twenty_run_at_once() -> None:
    many = [graph(f"i{n}", max_graph_depth=1 + n % 3) for n in range(20)]
    outer()
    by_depth = {1: ["outer"], 2: ["outer", "middle", "leaf"], 3: ["outer", "middle", "leaf", "leaf", "leaf"]}
    for n, instance in enumerate(many):
        assert calls_in(instance.trace()) == by_depth[1 + n % 3]
    for instance in many[::2]:
        instance.close()
    assert list(funcgraph.instances()) == [f"i{n}" for n in range(1, 20, 2)]
    outer()
    assert len(calls_in(many[1].trace())) == 6


def test_no_slot_is_free() -> None:
    held = len(funcgraph.users())
    for number in range(64 - held):
        graph(f"i{number}")
    assert "slot" in refusal(errno.ENOSPC, lambda: graph("one more"))
    assert len(funcgraph.instances()) == 64 - held


# ---- errors


def test_names() -> None:
    with funcgraph.Instance("one"):
        refusal(errno.EEXIST, lambda: funcgraph.Instance("one"))
        refusal(errno.ENAMETOOLONG, lambda: funcgraph.Instance("x" * 64))
        for bad in ("", "a/b", ".", "..", "a\0b"):
            refusal(errno.EINVAL, lambda bad=bad: funcgraph.Instance(bad))  # type: ignore[misc]
        with funcgraph.Instance("x" * 63) as longest:
            assert funcgraph.instances()["x" * 63] is longest
    with funcgraph.Instance("one"):
        pass


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("current_tracer", "irqsoff", "function_graph, function, nop"),
        ("tracing_on", 2, "must be 0 or 1"),
        ("max_graph_depth", -1, "from 0 to 262143"),
        ("max_graph_depth", "3", "from 0 to 262143"),
        ("tracing_thresh", 2**41, "from 0 to"),
        ("buffer_size_kb", 3, "from 32 to"),
        ("set_ftrace_filter", ["a[b"], "column"),
        ("set_ftrace_pid", [0], "from 1 to"),
        ("trace_clock", "sundial", "mono"),
        ("trace_options", "funcgraph-nonsense", "funcgraph-cpu"),
        ("tracing_max_latency", -1, "from 0 to"),
    ],
)
def test_an_error_lists_the_allowed_values(attribute: str, value: object, message: str) -> None:
    with graph() as instance:
        before = getattr(instance, attribute)
        assert message in refusal(errno.EINVAL, lambda: setattr(instance, attribute, value))
        assert getattr(instance, attribute) == before
        outer()
        assert len(calls_in(instance.trace())) == 5


def test_a_failed_construction_leaves_no_instance() -> None:
    refusal(errno.EINVAL, lambda: graph("one", filter=["a[b"]))
    refusal(errno.EINVAL, lambda: graph("one", tracer="irqsoff"))
    refusal(errno.EINVAL, lambda: graph("one", options={"nonsense": True}))
    refusal(errno.EINVAL, lambda: graph("one", buffer_size_kb=1))
    assert dict(funcgraph.instances()) == {}


def test_an_open_pipe_prevents_closing_and_another_tracer() -> None:
    instance = graph()
    pipe = instance.trace_pipe()
    refusal(errno.EBUSY, instance.close)
    refusal(errno.EBUSY, lambda: setattr(instance, "current_tracer", "function"))
    outer()
    assert len(calls_in(instance.trace())) == 5
    pipe.close()
    pipe.close()
    instance.close()
    instance.close()


def test_all_but_the_tracer_can_change_while_a_pipe_is_open() -> None:
    """Also the size of the buffer: docs/guides/instances.md."""
    with graph(buffer_size_kb=64) as instance, instance.trace_pipe(blocking=False) as pipe:
        outer()
        for file, value in (
            ("buffer_size_kb", 128),
            ("set_ftrace_filter", ("traced.leaf",)),
            ("max_graph_depth", 7),
            ("trace_clock", "boot"),
            ("tracing_on", False),
        ):
            setattr(instance, file, value)
            assert getattr(instance, file) == value
        assert calls_in("".join(pipe)) == ["outer", "middle", "leaf", "leaf", "leaf"]


def test_a_callback_cannot_deadlock_with_a_change_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from funcgraph.instance import lock as module

    monkeypatch.setattr(module, "LOCK_TIMEOUT_S", 0.3)
    refused: list[int | None] = []
    is_in, changes = threading.Event(), threading.Event()

    def entry(*_: object) -> bool:
        is_in.set()
        changes.wait(10)
        time.sleep(0.1)  # the change now waits for this callback
        try:
            instance.max_graph_depth = 3
        except OSError as error:
            refused.append(error.errno)
        return False

    def change() -> None:
        is_in.wait(10)
        changes.set()
        instance.set_ftrace_filter = ["traced.middle"]

    ops = funcgraph.FgraphOps(entry, filter=["traced.slow"])
    thread = threading.Thread(target=change)
    with graph() as instance, funcgraph.registered(ops):
        thread.start()
        slow()
        thread.join()
        assert refused == [errno.EBUSY]
        assert instance.set_ftrace_filter == ("traced.middle",)


def test_leaving_the_block_ends_a_pipe_that_waits() -> None:
    read: list[str] = []
    with graph() as instance:
        thread = threading.Thread(target=lambda: read.extend(instance.trace_pipe()))
        thread.start()
        outer()
        while len(read) < 7:
            time.sleep(0.01)
    thread.join(10)
    assert not thread.is_alive()
    assert calls_in("".join(read)) == ["outer", "middle", "leaf", "leaf", "leaf"]


# ---- changes while an instance records


def test_current_tracer() -> None:
    with funcgraph.Instance("one", filter=[HERE]) as instance:
        assert instance.current_tracer == "nop"
        outer()
        assert calls_in(instance.trace()) == []
        assert instance.trace().startswith("# tracer: nop\n")
        instance.current_tracer = "function_graph"
        outer()
        assert len(calls_in(instance.trace())) == 5
        instance.current_tracer = "function_graph"  # the same one: changes nothing
        assert len(calls_in(instance.trace())) == 5
        instance.current_tracer = "function"
        assert calls_in(instance.trace()) == []  # as in the kernel
        outer()
        assert len(calls_in(instance.trace())) == 5
        instance.current_tracer = "nop"
        outer()
        assert calls_in(instance.trace()) == []


def test_tracing_on() -> None:
    with graph() as instance:
        outer()
        instance.tracing_on = False
        assert not instance.tracing_on
        outer()
        assert len(calls_in(instance.trace())) == 5
        instance.tracing_on = True
        outer()
        assert len(calls_in(instance.trace())) == 10
        assert "lost" not in instance.trace().lower()


def test_filters() -> None:
    with graph() as instance:

        def seen() -> list[str]:
            instance.clear()
            outer()
            return calls_in(instance.trace())

        instance.set_ftrace_filter = "traced.leaf\ntraced.middle"
        assert seen() == ["middle", "leaf", "leaf", "leaf"]
        instance.set_ftrace_filter += ("traced.outer",)
        instance.set_ftrace_notrace = ["traced.middle"]
        assert seen() == ["outer", "leaf", "leaf", "leaf"]
        assert instance.set_ftrace_notrace == ("traced.middle",)
        instance.set_ftrace_filter = instance.set_ftrace_notrace = ()
        instance.set_graph_function = ["traced.middle"]
        assert seen() == ["middle", "leaf", "leaf"]
        instance.set_graph_function = ()
        instance.set_ftrace_filter = [HERE]
        instance.set_graph_notrace = ["traced.middle"]
        assert seen() == ["outer", "leaf"]


def test_threads() -> None:
    with graph() as instance:
        instance.set_ftrace_pid = [threading.get_native_id()]
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
        leaf(1)
        assert calls_in(instance.trace()) == ["leaf"]
        instance.set_ftrace_pid = ()
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
        assert len(calls_in(instance.trace())) == 6


def test_max_graph_depth_and_tracing_thresh() -> None:
    with graph() as instance:
        instance.max_graph_depth = 2
        assert instance.max_graph_depth == 2
        outer()
        assert calls_in(instance.trace()) == ["outer", "middle", "leaf"]
        instance.max_graph_depth = 0
        instance.clear()
        instance.tracing_thresh = 10_000
        assert instance.tracing_thresh == 10_000
        outer()
        slow()
        text = instance.trace()
        assert "slow" in text
        assert "leaf" not in text
        instance.tracing_thresh = 0
        instance.clear()
        outer()
        assert len(calls_in(instance.trace())) == 5


def test_options_take_effect_at_once_and_for_their_tracer() -> None:
    with graph() as instance:
        leaf(7)
        instance.options["funcgraph-args"] = True
        instance.trace_options = "funcgraph-retval,nofuncgraph-cpu"
        leaf(8)
        text = instance.trace()
        assert "traced.leaf();" in text
        assert "traced.leaf(number=8);" in text
        assert re.search("= ?9", text)
        assert " 0) " not in text
        assert instance.options["funcgraph-retval"]
        assert "nofuncgraph-cpu" in instance.trace_options
        instance.current_tracer = "function"
        assert not any("funcgraph" in word for word in instance.trace_options)
        assert "overwrite" in refusal(
            errno.EINVAL, lambda: setattr(instance, "trace_options", "funcgraph-tail")
        )
        instance.options["funcgraph-tail"] = True
        leaf(9)
        assert "number=9" not in instance.trace()  # an option of the other tracer
        instance.current_tracer = "function_graph"
        middle(1)
        assert re.search(r"\} /\* traced\.middle", instance.trace())
        assert "number=1" in instance.trace()


def test_buffer_size_and_overwrite() -> None:
    with graph(buffer_size_kb=32) as instance:
        for _ in range(3000):
            leaf(0)
        outer()
        assert calls_in(instance.trace())[-5:] == ["outer", "middle", "leaf", "leaf", "leaf"]
        instance.clear()
        instance.options["overwrite"] = False
        outer()
        for _ in range(3000):
            leaf(0)
        assert calls_in(instance.trace())[:5] == ["outer", "middle", "leaf", "leaf", "leaf"]


def test_another_buffer_size_keeps_what_is_recorded() -> None:
    """Also during a call, and while somebody reads. A smaller buffer counts what it loses."""
    with graph(buffer_size_kb=64) as instance, instance.trace_pipe(blocking=False) as pipe:
        outer()
        first = "".join(itertools.islice(pipe, 2))
        instance.buffer_size_kb = 4096
        assert instance.buffer_size_kb == 4096
        assert calls_in(first + "".join(pipe)) == ["outer", "middle", "leaf", "leaf", "leaf"]
        for _ in range(3000):
            leaf(0)
        instance.buffer_size_kb = 8192
        assert calls_in(instance.trace()) == ["leaf"] * 3000
        instance.buffer_size_kb = 32
        text = instance.trace()
        assert 0 < calls_in(text).count("leaf") < 3000
        lost = re.search(r"LOST (\d+) EVENTS", text)
        assert lost
        # The entry of the oldest return may be lost.
        assert int(lost[1]) + 2 * calls_in(text).count("leaf") in (6000, 5999)


def test_functions_defined_later_and_deleted_functions() -> None:
    with funcgraph.Instance("one", tracer="function_graph", filter=["made_later.*"]) as instance:
        names: dict[str, Any] = {"__name__": "made_later"}
        exec("def late(): pass", names)
        names.pop("late")()
        del names
        assert "made_later.late();" in instance.trace()


# ---- harm


def test_changes_during_calls_are_harmless() -> None:
    instance = graph()
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            assert outer(1) == 6

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(12):  # each tracer with each depth and filter
            instance.current_tracer = ("function", "function_graph", "nop")[turn % 3]
            instance.max_graph_depth = turn % 2
            instance.set_ftrace_filter = [HERE] if turn % 4 else ["traced.leaf"]
            instance.tracing_on = turn % 5 != 0
            instance.trace()
    finally:
        over.set()
    for thread in threads:
        thread.join()
    instance.close()


def test_a_forks_child_has_it_without_records() -> None:
    with graph() as instance:
        outer()
        child = os.fork()
        if not child:
            try:
                outer()
                empty = calls_in(instance.trace()) == [] and calls_in(instance.snapshot().trace()) == []
                instance.current_tracer = "function"
                outer()
                os._exit(0 if empty and len(calls_in(instance.trace())) == 5 else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(calls_in(instance.trace())) == 5


@pytest.mark.parametrize("attribute", ["buffer_size_kb", "current_tracer"])
def test_a_forks_child_that_starts_it_again_names_functions_of_the_parent(attribute: str) -> None:
    with graph() as instance:
        instance.trace_marker.write("before")
        outer()
        child = os.fork()
        if not child:
            try:
                if attribute == "buffer_size_kb":
                    instance.buffer_size_kb *= 2
                else:
                    instance.current_tracer = "nop"
                    instance.current_tracer = "function_graph"
                outer()
                text = instance.trace()
                os._exit(0 if "outer" in text and "unknown" not in text else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_instance_that_nobody_closes_does_not_keep_the_program_from_ending() -> None:
    code = """
        import funcgraph, threading, time
        i = funcgraph.Instance("one", tracer="function_graph")
        pipe = i.trace_pipe()
        threading.Thread(target=lambda: [line for line in pipe], daemon=True).start()
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_modules_for_reading_are_imported_by_the_first_read() -> None:
    code = """
        import sys, funcgraph
        i = funcgraph.Instance("one", tracer="function_graph", filter=["__main__.*"])
        i.options["funcgraph-args"] = True
        i.set_ftrace_notrace = ["x.*"]
        i.tracing_on = False
        i.trace_marker.write("x")
        print(sorted({"json", "tempfile", "shutil", "subprocess", "dataclasses"} & set(sys.modules)))
        i.trace()
        print("json" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\nTrue\n", "")


# ---- the function profiler


def hits(text: str) -> dict[str, int]:
    """Return function -> hits of a profiler's table."""
    return {name: int(hit) for name, hit in re.findall(r"^  traced\.(\w+) +(\d+) ", text, re.MULTILINE)}


def test_the_profiler_counts_with_any_tracer_and_no_records() -> None:
    """Fails if the profiler does not get the filters, or if trace_stat() forgets earlier counts."""
    with funcgraph.Instance("one", filter=[HERE], notrace=["traced.leaf"]) as one:
        assert one.trace_stat().splitlines()[0].split() == ["Function", "Hit", "Time", "Avg", "s^2"]
        assert not one.function_profile_enabled
        one.function_profile_enabled = True
        outer(5)
        assert hits(one.trace_stat()) == {"outer": 1, "middle": 1}
        one.set_ftrace_notrace = ()
        outer(5)
        assert hits(one.trace_stat()) == {"outer": 2, "middle": 2, "leaf": 3}
        one.function_profile_enabled = False
        outer(5)
        assert hits(one.trace_stat()) == hits(one.trace_stat(threading.get_native_id())) != {}
        assert hits(one.trace_stat())["outer"] == 2
        assert calls_in(one.trace()) == []
        one.function_profile_enabled = True  # from zero
        assert hits(one.trace_stat()) == {}


def test_two_instances_profile_their_own_functions() -> None:
    with graph("one", filter=["traced.outer"]) as one, graph("two", filter=["traced.leaf"]) as two:
        one.options["graph-time"] = False
        one.function_profile_enabled = two.function_profile_enabled = True
        outer(5)
        one.close()
        outer(5)
        assert hits(two.trace_stat()) == {"leaf": 6}
        assert not one.function_profile_enabled
    assert "neither" not in refusal(errno.EINVAL, lambda: setattr(graph(), "function_profile_enabled", 2))


def test_func_args_are_the_function_tracers() -> None:
    """Fails if both tracers share one option for arguments, or if calls with arguments are counted."""
    options = {"func-args": True, "funcgraph-args": False}
    with funcgraph.Instance("one", tracer="function", filter=["traced.leaf"], options=options) as one:
        outer(5)
        assert "traced.leaf(number=" in one.trace()
        text = refusal(errno.EINVAL, lambda: one.options.update({"func-no-repeats": True}))
        assert "func-args and func-no-repeats" in text
        one.current_tracer = "function_graph"
        outer(5)
        assert "traced.leaf();" in one.trace()


def test_sym_offset_shows_the_lines_of_callers_that_were_recorded_with_it() -> None:
    """Fails if a line is shown that was not recorded, or one that was is shown without the option."""
    line = middle.__code__.co_firstlineno + 1
    with funcgraph.Instance("one", tracer="function", filter=["traced.leaf"]) as one:
        outer(5)
        one.options["sym-offset"] = True
        assert "<-traced.middle\n" in one.trace() and "<-traced.middle:" not in one.trace()
        outer(5)
        assert one.trace().count(f"traced.leaf <-traced.middle:{line}\n") == 2
        one.options["sym-offset"] = False
        assert "<-traced.middle:" not in one.trace()


# ---- idle instances


def test_a_thousand_idle_instances_take_no_slot_and_no_buffer() -> None:
    """Fails if an instance with the tracer nop registers a user, or maps its buffer."""
    code = """
        import errno, funcgraph
        def leaf(): pass
        def size_kb(): return int(open("/proc/self/statm").read().split()[0]) * 4
        with funcgraph.Instance("first", tracer="function", filter=["__main__.leaf"]): pass
        before = size_kb()
        idle = [funcgraph.Instance(str(number)) for number in range(1000)]
        assert funcgraph.users() == []
        assert size_kb() - before < 1000 * idle[0].buffer_size_kb // 10, size_kb() - before
        with funcgraph.Instance("one", tracer="function_graph", filter=["__main__.leaf"]) as one:
            leaf()
            assert "__main__.leaf();" in one.trace()
        for instance in idle[:64]:
            instance.set_ftrace_filter = ["__main__.leaf"]
            instance.current_tracer = "function"
        leaf()
        assert all(instance.trace().count("__main__.leaf") == 1 for instance in (idle[0], idle[63]))
        for attribute, value in (("current_tracer", "function_graph"), ("function_profile_enabled", True)):
            try:
                setattr(idle[64], attribute, value)
            except OSError as error:
                assert error.errno == errno.ENOSPC and "all 64 slots" in error.strerror, error
            else:
                raise AssertionError("a 65th user")
        assert idle[64].current_tracer == "nop"
        idle[0].current_tracer = "nop"
        idle[64].function_profile_enabled = True
        idle[64].function_profile_enabled = False
        idle[64].current_tracer = "function"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_texts_of_an_idle_instance_have_their_functions_and_threads() -> None:
    """Fails if a text needs a slot, or if the function that wrote it has no symbol in the buffer."""
    with funcgraph.Instance("idle") as idle, funcgraph.Instance("two", tracer="function", filter=[HERE]):
        marks(idle)
        thread = threading.Thread(target=marks, args=(idle,), name="marker")
        thread.start()
        thread.join()
        assert [user.name for user in funcgraph.users()] == ["two"]
        lines = [line for line in idle.trace().splitlines() if not line.startswith("#")]
        assert [line.split(": ", 1)[1] for line in lines] == [
            r"tracing_mark_write: first\n",
            "traced.marks: second and 2",
        ] * 2
        assert ["marker-" in line for line in lines] == [False, False, True, True]
        idle.buffer_size_kb = 64
        assert idle.trace().count("first") == 2
