"""The self-test of the function graph: checks its promises on this machine and this Python.

    for result in selftest.run():
        print(result.title, "ok" if result.error is None else result.error)

It uses the public API on functions of its own (program.py). CHECKS is the one table of checks: the command,
its manual page and the tests follow it. The kernel tests its tracers at boot in the same way: it runs a known
function and verifies that each user saw exactly the calls that it asked for.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from funcgraph import _engine
from funcgraph.selftest import calls, ends, late_early, limits, probes, recording, reserved, tracers
from funcgraph.selftest.observer import FailedError

__all__ = ["CHECKS", "Result", "run"]

# Title of a check -> its function, which raises FailedError if the promise does not hold. The order matters:
# later checks rely on what earlier ones have proven.
CHECKS: dict[str, Callable[[], None]] = {
    "one user": calls.one_user,
    "arguments and results": calls.arguments_and_results,
    "two users, different filters": calls.two_users,
    "filters changed while in use": calls.filters_in_use,
    "functions alone, or with their callees": calls.graph_filters,
    "calls in progress": calls.calls_in_progress,
    "data of each size, 1 to 256 bytes": reserved.each_size,
    "data of enclosing calls": reserved.parent_data,
    "objects live as long as their call": reserved.objects,
    "task variables": reserved.task_variables,
    "calls that end with an exception": ends.exceptions,
    "generators and coroutines across threads": ends.across_threads,
    "generators closed, thrown into, collected": ends.closed,
    "users that come late and leave early": late_early.in_the_middle,
    "unregister waits for callbacks": late_early.unregister_waits,
    "all slots in use": limits.all_slots,
    "slots reused": limits.slot_reuse,
    "full shadow stack": limits.overrun,
    "calls made by callbacks": limits.missed,
    "errors in callbacks": limits.errors,
    "fprobes": probes.fprobes,
    "kprobes": probes.kprobes,
    "kretprobes": probes.kretprobes,
    "kprobe_multi links": probes.kprobe_multi,
    "instances": tracers.instances,
    "tracer function_graph": tracers.function_graph,
    "tracer function": tracers.function,
    "tracer nop": tracers.nop,
    "function profiler": tracers.profiler,
    "tracer loopblock": tracers.loopblock,
    "tracer wakeup": tracers.wakeup,
    "tracer gilwait": tracers.gilwait,
    "a recording whose recorder is killed": recording.killed_recorder,
}


@dataclass(frozen=True)
class Result:
    """The result of one check.

    Attributes:
        title: the check's key in CHECKS.
        error: one line about the promise that did not hold; None if the check passed.
        seconds: how long the check took.
    """

    title: str
    error: str | None
    seconds: float


def run(begin: Callable[[str], None] = lambda title: None) -> Iterator[Result]:
    """Run all checks, one after the other.

    Args:
        begin: called with a check's title before the check runs, so that a crash can be attributed to it.

    Yields:
        each check's Result. A failed check does not stop the others. Each check restores the interpreter's
        settings.
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
    except Exception as failure:  # the API raised an exception that it must not raise: the check has failed
        error = f"{type(failure).__name__}: {failure}"
    finally:
        sys.setrecursionlimit(limit)
        sys.unraisablehook = hook
    gc.collect()  # end the calls that this check left suspended, before the next check begins
    killed = _engine.status()["killed"]
    return error if killed is None else f"the kill switch tripped: {killed}"
