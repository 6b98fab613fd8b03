"""The function profiler: its counts, its text output and its error messages."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph import FunctionProfile, ProfileRow
from funcgraph.instance.profile import stat_text

HERE = f"{__name__}.*"


def leaf(n: int) -> int:
    return sum(range(n))


def branch(n: int) -> int:
    return leaf(n) + leaf(2 * n)


def down(n: int) -> int:
    return down(n - 1) + 1 if n else 0


def fails() -> None:
    raise KeyError


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


async def sleeps(seconds: float) -> None:
    await asyncio.sleep(seconds)


def row_of(profile: FunctionProfile, function: Callable[..., object], tid: int | None = None) -> ProfileRow:
    name = f"{function.__module__}.{function.__qualname__}"
    [row] = [row for row in profile.rows(tid) if row.name == name]
    return row


def names(profile: FunctionProfile) -> set[str]:
    return {row.name.rpartition(".")[2] for row in profile.rows()}


# Output of Linux 7.2.
KERNEL_TEXT = """\
  Function                               Hit    Time            Avg             s^2
  --------                               ---    ----            ---             ---
  do_nanosleep                             5    15499.59 us     3099.918 us     1207.781 us 
  do_sys_openat2                          51    1194.324 us     23.418 us       374.506 us  
  ksys_mmap_pgoff                          7    366.598 us      52.371 us       1006.722 us 
  vfs_readlink                             1    50.315 us       50.315 us       0.000 us    
  vfs_write                                1    0.000 us        0.000 us        0.000 us    
"""  # noqa: W291


def test_text_is_the_kernels() -> None:
    rows = [
        ProfileRow("do_nanosleep", 5, 15_499_590, 1207.7810001, "", 0),
        ProfileRow("do_sys_openat2", 51, 1_194_324, 374.5060001, "", 0),
        ProfileRow("ksys_mmap_pgoff", 7, 366_598, 1006.7220001, "", 0),
        ProfileRow("vfs_readlink", 1, 50_315, 0.0, "", 0),
        ProfileRow("vfs_write", 1, 0, 0.0, "", 0),
    ]
    assert stat_text(rows) == KERNEL_TEXT
    assert stat_text([]) == "".join(KERNEL_TEXT.splitlines(keepends=True)[:2])


def test_a_long_name_is_never_cut() -> None:
    name = "package.module.Class.method_with_a_name"
    header, _, row = stat_text([ProfileRow(name, 3, 10**12, 0.0, "", 0)]).splitlines()
    assert row.split() == [name, "3", "1000000000", "us", "333333333", "us", "0.000", "us"]
    assert header.index("Hit") + 3 == row.index(" 3 ") + 2
    assert header.index("Time") == row.index("1000000000")


def test_hits_and_times() -> None:
    with FunctionProfile(filter=[HERE]) as profile:
        for _ in range(10):
            branch(100)
        down(9)
    assert not profile.enabled
    assert row_of(profile, leaf).hit == 20
    assert row_of(profile, branch).hit == 10
    assert row_of(profile, down).hit == 10
    assert row_of(profile, branch).time_ns > row_of(profile, leaf).time_ns > 0
    rows = profile.rows()
    assert rows == sorted(rows, key=lambda row: -row.time_ns)
    assert row_of(profile, leaf).line == leaf.__code__.co_firstlineno
    assert row_of(profile, leaf).file == __file__
    first, *_ = profile.trace_stat().splitlines()[2:]
    assert first.split()[:2] == [rows[0].name, str(rows[0].hit)]
    assert profile.nmissed == 0


def test_times_and_variance_are_those_that_a_user_is_told() -> None:
    reported: list[int] = []
    ops = funcgraph.FgraphOps(
        retfunc=lambda trace, ops, regs: reported.append(trace.rettime_ns - trace.calltime_ns),
        filter=[f"{__name__}.leaf"],
    )
    with FunctionProfile(filter=[f"{__name__}.leaf"]) as profile, funcgraph.registered(ops):
        for n in range(200):
            leaf(n * n)
    row = row_of(profile, leaf)
    assert row.hit == len(reported) == 200
    assert row.time_ns == pytest.approx(sum(reported), rel=1e-3, abs=300)
    mean = sum(reported) / len(reported)
    variance = sum((time - mean) ** 2 for time in reported) / (len(reported) - 1)
    assert row.s2 * 1e6 == pytest.approx(variance, rel=1e-2)


def test_without_graph_time_the_parts_are_the_whole() -> None:
    """Broken by leaving out one level of calls, or by counting one level twice."""

    def work() -> None:
        for n in range(300):
            branch(n)
            down(5)

    with FunctionProfile(filter=[HERE]) as whole, FunctionProfile(filter=[HERE], graph_time=False) as parts:
        work()
    assert sum(row.time_ns for row in parts.rows()) == pytest.approx(row_of(whole, work).time_ns, rel=1e-3)
    inside_ns = row_of(whole, branch).time_ns - row_of(whole, leaf).time_ns
    assert row_of(parts, branch).time_ns == pytest.approx(inside_ns, rel=1e-2, abs=300)
    assert row_of(parts, leaf).time_ns == pytest.approx(row_of(whole, leaf).time_ns, rel=1e-3)


def test_sleep_time() -> None:
    def work() -> None:
        asyncio.run(sleeps(0.05))
        time.sleep(0.05)

    with FunctionProfile(filter=[HERE]) as with_sleep:
        work()
    begin_ns = time.thread_time_ns()
    with FunctionProfile(filter=[HERE], sleep_time=False) as without:
        work()
    worked_ns = time.thread_time_ns() - begin_ns
    assert row_of(with_sleep, sleeps).hit == row_of(without, sleeps).hit == 1
    assert row_of(with_sleep, sleeps).time_ns > 45e6
    assert row_of(with_sleep, work).time_ns > 95e6
    assert 0 < row_of(without, sleeps).time_ns < row_of(without, work).time_ns <= 1.02 * worked_ns


def test_exceptions_and_generators_are_calls_like_others() -> None:
    with FunctionProfile(filter=[HERE]) as profile:
        for _ in range(5):
            with pytest.raises(KeyError):
                fails()
        assert list(numbers(7)) == list(range(7))
        next(numbers(2))  # the generator's deallocation closes it
    assert row_of(profile, fails).hit == 5
    assert row_of(profile, fails).time_ns > 0
    assert row_of(profile, numbers).hit == 2
    assert row_of(profile, numbers).time_ns > 0


def test_each_thread_counts_for_itself_and_all_add_up() -> None:
    turns, checked = threading.Barrier(3), threading.Barrier(3)
    seen: dict[int, int] = {}

    def run(calls: int) -> None:
        seen[threading.get_native_id()] = calls
        for _ in range(calls):
            leaf(1)
        turns.wait()
        checked.wait()

    profile = FunctionProfile(filter=[f"{__name__}.leaf"])
    with profile:
        threads = [threading.Thread(target=run, args=(calls,)) for calls in (100, 250)]
        for thread in threads:
            thread.start()
        turns.wait()
        leaf(1)
        assert sorted(profile.tids()) == sorted([*seen, threading.get_native_id()])
        for tid, calls in seen.items():
            assert row_of(profile, leaf, tid).hit == calls
        checked.wait()
        for thread in threads:
            thread.join()
        while len(profile.tids()) > 1:
            time.sleep(0.01)  # a thread's task is removed shortly after join() returns
        assert row_of(profile, leaf).hit == 351
        with pytest.raises(OSError, match="has ended") as caught:
            profile.rows(next(iter(seen)))
        assert caught.value.errno == errno.ESRCH
    assert row_of(profile, leaf, threading.get_native_id()).hit == 1


def test_read_while_threads_run() -> None:
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            branch(3)

    with FunctionProfile(filter=[HERE]) as profile:
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        hits = []
        for _ in range(50):
            rows = {row.name: row.hit for row in profile.rows()}
            hits.append(rows.get(f"{__name__}.leaf", 0))
            time.sleep(0.001)
        over.set()
        for thread in threads:
            thread.join()
    assert hits == sorted(hits)
    assert row_of(profile, leaf).hit == 2 * row_of(profile, branch).hit > 0


def test_a_start_begins_from_zero_and_a_stop_keeps() -> None:
    profile = FunctionProfile(filter=[HERE])
    assert profile.rows() == []
    profile.start()
    assert profile.enabled
    leaf(1)
    with pytest.raises(OSError, match="registered already") as caught:
        profile.start()
    assert caught.value.errno == errno.EBUSY
    profile.stop()
    leaf(1)
    assert row_of(profile, leaf).hit == 1
    with pytest.raises(OSError, match="not enabled") as caught:
        profile.stop()
    assert caught.value.errno == errno.EINVAL
    with profile:
        branch(1)
        profile.stop()
        leaf(1)
    assert row_of(profile, leaf).hit == 2


def test_filters_change_while_it_counts() -> None:
    with FunctionProfile(filter=[f"{__name__}.leaf"]) as profile:
        branch(1)
        profile.set_filter([f"{__name__}.branch"])
        branch(1)
        profile.set_notrace([f"{__name__}.leaf"])
        branch(1)
        with pytest.raises(ValueError, match="column 1"):
            profile.set_filter([""])
    assert profile.filter == (f"{__name__}.leaf", f"{__name__}.branch")
    assert profile.notrace == (f"{__name__}.leaf",)
    assert row_of(profile, leaf).hit == 4
    assert row_of(profile, branch).hit == 2


def test_graph_and_what_it_calls() -> None:
    with FunctionProfile(graph=[f"{__name__}.branch"], filter=[HERE]) as profile:
        leaf(1)
        branch(1)
        down(1)
    assert names(profile) == {"branch", "leaf"}
    assert row_of(profile, leaf).hit == 2


def test_thresh_leaves_out_what_is_short_on_average() -> None:
    with FunctionProfile(filter=[HERE], thresh_us=20_000) as profile:
        leaf(1)
        asyncio.run(sleeps(0.03))
    assert names(profile) == {"sleeps"}
    assert len(profile.trace_stat().splitlines()) == 3
    profile.thresh_us = 0
    assert names(profile) == {"sleeps", "leaf"}
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="thresh_us"):
            profile.thresh_us = wrong


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"filter": "one str"}, TypeError),
        ({"filter": ["a["]}, ValueError),
        ({"notrace": [1]}, TypeError),
        ({"thresh_us": -1}, ValueError),
        ({"sort": "hit"}, TypeError),
    ],
)
def test_mistakes(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        FunctionProfile(**arguments)  # type: ignore[arg-type]


def test_a_thread_id_that_is_none() -> None:
    profile = FunctionProfile()
    for wrong in (0, -3):
        with pytest.raises(ValueError, match="must be a native thread id"):
            profile.rows(wrong)


def test_rows_outlive_their_functions() -> None:
    space: dict[str, Callable[[], int]] = {}
    exec("def short_lived(): return 1", {"__name__": "made_up"}, space)
    with FunctionProfile(filter=["made_up.*"]) as profile:
        space.pop("short_lived")()
        gc.collect()
    assert [(row.name, row.hit) for row in profile.rows()] == [("made_up.short_lived", 1)]


def test_two_profiles_do_not_notice_each_other() -> None:
    with FunctionProfile(filter=[HERE]) as outer:
        branch(1)
        with FunctionProfile(filter=[f"{__name__}.leaf"], graph_time=False) as inner:
            branch(1)
        branch(1)
    assert row_of(outer, leaf).hit == 6
    assert row_of(outer, branch).hit == 3
    assert row_of(inner, leaf).hit == 2
    assert names(inner) == {"leaf"}


def test_a_profile_is_listed_among_the_users() -> None:
    with FunctionProfile(filter=[HERE]):
        [user] = [user for user in funcgraph.users() if user.name == "function_profile"]
    assert user.kind == "tracer"
    assert user.filter == (HERE,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_begins_from_zero(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, sys, funcgraph

        def leaf(): pass

        def both():
            leaf()
            if not os.fork():
                return
            os.wait()

        with funcgraph.FunctionProfile(filter=["__main__.*"]) as profile:
            leaf()
            both()
            leaf()
        print([(row.name, row.hit) for row in sorted(profile.rows())], flush=True)
        """
    )
    result = fg.plain(sys.executable, script)
    assert result.stderr == ""
    child, parent = result.stdout.splitlines()
    assert child == "[('__main__.leaf', 1)]"
    assert parent == "[('__main__.both', 1), ('__main__.leaf', 3)]"


def test_one_that_is_never_stopped_harms_nobody(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import atexit, funcgraph, threading, time

        def leaf(): pass

        def run():
            while True:
                leaf()

        profile = funcgraph.FunctionProfile()
        profile.start()
        threading.Thread(target=run, daemon=True).start()
        atexit.register(lambda: print(len(profile.rows()) > 0))
        """
    )
    result = fg.plain(sys.executable, script)
    assert result.returncode == 0
    assert result.stdout == "True\n"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="_interpreters")
def test_each_interpreter_has_its_own_and_it_ends_with_it(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import _interpreters, funcgraph

        inner = '''
        import funcgraph
        def leaf(): pass
        profile = funcgraph.FunctionProfile(filter=["__main__.*"])
        profile.start()
        leaf()
        print([(row.name, row.hit) for row in profile.rows()], flush=True)
        '''

        def outside(): pass

        with funcgraph.FunctionProfile(filter=["__main__.*"]) as profile:
            for _ in range(2):
                interpreter = _interpreters.create()
                assert _interpreters.exec(interpreter, inner.replace("\\n        ", "\\n")) is None
                _interpreters.destroy(interpreter)
            outside()
        print([(row.name, row.hit) for row in profile.rows()], funcgraph.users())
        """
    )
    result = fg.plain(sys.executable, script)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "[('__main__.leaf', 1)]",
        "[('__main__.leaf', 1)]",
        "[('__main__.outside', 1)] []",
    ]
