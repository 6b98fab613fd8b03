"""What the tests of the tree share: functions that are traced, threads that trace at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tracefs_shell import Shell

import funcgraph

HERE = __name__


def leaf() -> int:
    return 1


def outer() -> int:
    return leaf() + leaf()


def meet(barrier: threading.Barrier) -> int:
    barrier.wait()
    return leaf()


def together(count: int) -> None:
    """Run calls in threads that trace at the same time: each has a lane of its own."""
    barrier = threading.Barrier(count)
    threads = [threading.Thread(target=meet, args=(barrier,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def traced(shell: Shell, folder: str = "") -> None:
    """Trace the functions of this file."""
    shell.echo(f"{HERE}.leaf {HERE}.outer {HERE}.meet\n", f"{folder}set_ftrace_filter")
    shell.echo("function_graph\n", f"{folder}current_tracer")


def refused(number: int, call: Callable[..., object], *args: object) -> None:
    with pytest.raises(OSError) as caught:
        call(*args)
    assert caught.value.errno == number, caught.value


def end() -> None:
    """Remove what a test has made."""
    for instance in list(funcgraph.instances().values()):
        instance.__exit__(None, None, None)
    funcgraph.dynamic_events.clear()
    funcgraph.dynamic_events.log.clear()
    assert funcgraph.users() == []
