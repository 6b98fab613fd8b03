"""The self-test of the function graph: what it promises, checked on the machine and Python that it runs on.

    for result in selftest.run():
        print(result.title, "ok" if result.error is None else result.error)

It uses the API as any other user does, on functions of its own (program.py). CHECKS is the one table of what
is checked: the command, its manual page and the tests go by it. The kernel tests its tracers at its start in
the same way: run a known function, and demand that each user was told exactly what it asked for.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from funcgraph import _engine
from funcgraph.selftest import calls, ends, late_early, limits, reserved
from funcgraph.selftest.observer import FailedError

__all__ = ["CHECKS", "Result", "run"]

# What is checked, and the function that raises FailedError if it does not hold. In this order: what comes
# later stands on what comes before.
CHECKS: dict[str, Callable[[], None]] = {
    "one user": calls.one_user,
    "arguments and results": calls.arguments_and_results,
    "two users, different filters": calls.two_users,
    "filters changed while in use": calls.filters_in_use,
    "only some functions, or all that they call": calls.graph_filters,
    "calls in progress": calls.calls_in_progress,
    "data of each size, 1 to 256 bytes": reserved.each_size,
    "data of the calls further out": reserved.parent_data,
    "objects, held as long as the call": reserved.objects,
    "task variables": reserved.task_variables,
    "calls that end by an exception": ends.exceptions,
    "generators and coroutines across threads": ends.across_threads,
    "generators closed, thrown into, collected": ends.closed,
    "users that come late and leave early": late_early.in_the_middle,
    "unregister waits for callbacks": late_early.unregister_waits,
    "all slots, and no more": limits.all_slots,
    "slots used again": limits.slot_reuse,
    "full shadow stack": limits.overrun,
    "calls made by callbacks": limits.missed,
    "errors in callbacks": limits.errors,
}


@dataclass(frozen=True)
class Result:
    """What came of one check.

    Attributes:
        title: its key in CHECKS.
        error: what did not hold, in one line; None if all did.
        seconds: how long it took.
    """

    title: str
    error: str | None
    seconds: float


def run(begin: Callable[[str], None] = lambda title: None) -> Iterator[Result]:
    """Run all checks, one after the other.

    Args:
        begin: called with a check's title before it runs: who sees a crash knows of which check.

    Yields:
        each check's Result. A check that fails ends no other; the interpreter is as before when it has run.
    """
    for title, check in CHECKS.items():
        begin(title)
        start = time.perf_counter()
        error = _error_of(check)
        yield Result(title, error, time.perf_counter() - start)


def _error_of(check: Callable[[], None]) -> str | None:
    limit, hook = sys.getrecursionlimit(), sys.unraisablehook
    error = None
    try:
        check()
    except FailedError as failure:
        error = str(failure)
    except Exception as failure:  # the API raised what it must not: a failed check like any other
        error = f"{type(failure).__name__}: {failure}"
    finally:
        sys.setrecursionlimit(limit)
        sys.unraisablehook = hook
    gc.collect()  # no call that this check left suspended ends in the next one
    killed = _engine.status()["killed"]
    return error if killed is None else f"the kill switch was thrown: {killed}"
