"""An exception raised by a callback is reported and counted, and its user is disabled; the program is not
affected.

Broken by hand: call() left the exception set (a SystemError in the program); fg_callback_begin did not save
the program's own exception; disable() did nothing; enable() did not attach the functions again.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

FILTER = [f"{__name__}.work"]


class BadError(Exception):
    pass


def work(n: int = 0) -> int:
    if n < 0:
        raise LookupError(n)
    return n


def bad(trace: Any, ops: Any, regs: Any) -> bool:
    raise BadError(trace.func.qualname)


def good(trace: Any, ops: Any, regs: Any) -> bool:
    return True


class Undecided:
    def __bool__(self) -> bool:
        raise BadError("neither")


@pytest.mark.parametrize("callbacks", [(bad, None), (bad, good), (good, bad), (None, bad)])
def test_reported_counted_disabled(callbacks, no_users_left):
    ops = funcgraph.FgraphOps(*callbacks, filter=FILTER, name="culprit")
    assert (ops.errors, ops.last_error, ops.enabled) == (0, None, True)
    with funcgraph.registered(ops):
        assert [work(i) for i in range(5)] == [0, 1, 2, 3, 4]
        assert (ops.errors, ops.enabled, ops.registered) == (1, False, True)
        assert ops.filter == tuple(FILTER) and ops.notrace == ()
        (user,) = funcgraph.users()
        assert (user.name, user.errors, user.filter, user.notrace) == ("culprit", 1, tuple(FILTER), ())
    (report,) = no_users_left
    assert report.exc_value is ops.last_error
    assert isinstance(ops.last_error, BadError)
    assert report.object is bad
    assert traceback.extract_tb(ops.last_error.__traceback__)[-1].name == "bad"


def test_enabled_again_at_each_registration(no_users_left):
    ops = funcgraph.FgraphOps(bad, filter=FILTER)
    for errors in (1, 2, 3):
        with funcgraph.registered(ops):
            assert ops.enabled
            work()
            work()
            assert not ops.enabled
        assert ops.errors == errors
    assert len(no_users_left) == 3


def test_filters_set_while_disabled_count_from_the_next_registration(no_users_left):
    seen: list[str] = []

    def entry(trace, ops, regs):
        seen.append(trace.func.qualname)
        raise BadError

    ops = funcgraph.FgraphOps(entry, filter=FILTER)
    with funcgraph.registered(ops):
        work()
        ops.set_filter([f"{__name__}.other"], reset=True)
        assert ops.filter == (f"{__name__}.other",)
        other()
    with funcgraph.registered(ops):
        work()
        other()
    assert seen == ["work", "other"]


def other() -> None:
    pass


def test_keep_on_error(no_users_left):
    ops = funcgraph.FgraphOps(bad, bad, filter=FILTER, keep_on_error=True)
    with funcgraph.registered(ops):
        for _ in range(5):
            work()
        assert ops.enabled
    assert ops.errors == 5  # an entry callback that raises requests no return
    assert len(no_users_left) == 5


def test_an_answer_that_is_neither_true_nor_false(no_users_left):
    ops = funcgraph.FgraphOps(lambda trace, ops, regs: Undecided(), filter=FILTER)
    with funcgraph.registered(ops):
        work()
    assert ops.errors == 1
    assert isinstance(no_users_left[0].exc_value, BadError)


def test_what_was_kept_by_the_traceback_is_over(no_users_left):
    def entry(trace, ops, regs):
        data = ops.reserve_data(8)
        assert data
        raise BadError

    ops = funcgraph.FgraphOps(entry, filter=FILTER)
    with funcgraph.registered(ops):
        work()
    frame = ops.last_error.__traceback__.tb_frame
    assert frame.f_locals["trace"].func.qualname == "work"
    with pytest.raises(RuntimeError):
        frame.f_locals["regs"].arguments()
    with pytest.raises(ValueError):
        frame.f_locals["data"][0]


@pytest.mark.parametrize("callback", [bad, good])
def test_the_programs_exceptions_stay_as_they_are(callback, no_users_left):
    def catches() -> tuple[BaseException, object, list[str]]:
        try:
            raise KeyError("outer")
        except KeyError as outer:
            try:
                work(-1)
            except LookupError as error:
                assert sys.exc_info()[1] is error
                names = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
                assert error.__context__ is outer
                return error, error.__cause__, names
        raise AssertionError

    with funcgraph.registered(
        funcgraph.FgraphOps(callback, callback, filter=[f"{__name__}.*"], keep_on_error=True)
    ):
        error, cause, names = catches()
        assert sys.exc_info() == (None, None, None)
    assert error.args == (-1,) and cause is None and names == ["catches", "work"]


def test_an_error_of_one_user_is_none_of_the_others(no_users_left):
    seen: list[int] = []
    before = funcgraph.FgraphOps(
        lambda *reported: seen.append(1) is None, lambda *reported: seen.append(2), filter=FILTER
    )
    culprit = funcgraph.FgraphOps(bad, filter=FILTER)
    after = funcgraph.FgraphOps(
        lambda *reported: seen.append(3) is None, lambda *reported: seen.append(4), filter=FILTER
    )
    with funcgraph.registered(before, culprit, after):
        work()
        work()
    assert seen == [1, 3, 4, 2] * 2
    assert (before.errors, culprit.errors, after.errors) == (0, 1, 0)


def test_without_memory_for_a_callback_the_program_goes_on(no_users_left):
    """Each allocation made for the callback fails in turn."""
    testcapi = pytest.importorskip("_testcapi")
    ops = funcgraph.FgraphOps(good, good, filter=FILTER, keep_on_error=True)
    with funcgraph.registered(ops):
        for first in range(1, 12):
            testcapi.set_nomemory(first, first + 1)
            try:
                result = work(3)
            except MemoryError:
                result = 3  # the program's own allocation
            finally:
                testcapi.remove_mem_hooks()
            assert result == 3
    assert work(1) == 1
