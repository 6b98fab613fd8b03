"""Callers that were called before anything traced are named like all others.

They have no function record, as no hook has seen them: whoever reads a stack makes it.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import funcgraph

_SOURCE = """
def inner(wanted):
    if wanted == "raise":
        raise KeyError(wanted)
    return wanted

def serve(wanted):
    try:
        inner(wanted)
    except KeyError:
        pass

def red(requests, answers):
    while (wanted := requests.get()) is not None:
        serve(wanted)
        answers.put(wanted)

def blue(requests, answers):
    while (wanted := requests.get()) is not None:
        serve(wanted)
        answers.put(wanted)

def suspended():
    while (wanted := (yield)) is not None:
        serve(wanted)
"""


@pytest.fixture
def shop() -> Iterator[ModuleType]:
    """Return a module whose functions no hook has ever seen."""
    module = ModuleType("shop")
    exec(compile(_SOURCE, "shop.py", "exec"), module.__dict__)
    yield module
    for instance in funcgraph.instances().values():
        instance.close()
    funcgraph.dynamic_events.clear()


class Worker:
    """A thread in which a function waits: it was called before this returns."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=function, args=(self._requests, self._answers))
        self._thread.start()
        self.command("begin")

    def command(self, expected: str) -> None:
        """Have the function call `serve`, and wait for that."""
        self._requests.put(expected)
        self._answers.get()

    def end(self) -> None:
        self._requests.put(None)
        self._thread.join()


@pytest.fixture
def workers(shop: ModuleType) -> Iterator[list[Worker]]:
    both = [Worker(shop.red), Worker(shop.blue)]
    yield both
    for worker in both:
        worker.end()


def stacks(text: str) -> list[list[str]]:
    """Return the functions of each stack in a trace, the innermost first."""
    found = re.findall(r"<stack trace>\n((?:.* => .*\n)+)", text)
    return [re.findall(r"=> (\S+)", stack) for stack in found]


def test_a_stack_trace_has_callers_of_all_threads(shop: ModuleType, workers: list[Worker]) -> None:
    with funcgraph.Instance(
        "one", tracer="function", filter=["shop.inner"], options="func_stack_trace"
    ) as one:
        for worker in workers:
            worker.command("sun")
        for stack, colour in zip(stacks(one.trace()), ("red", "blue"), strict=True):
            assert stack[:3] == ["shop.inner", "shop.serve", f"shop.{colour}"]
            assert stack[3:] == [
                "threading.Thread.run",
                "threading.Thread._bootstrap_inner",
                "threading.Thread._bootstrap",
            ]


def test_the_function_tracer_names_them(shop: ModuleType, workers: list[Worker]) -> None:
    with funcgraph.Instance("one", tracer="function", filter=["shop.serve"]) as one:
        for worker in workers:
            worker.command("sun")
        assert re.findall(r"shop.serve <-(\S+)", one.trace()) == ["shop.red", "shop.blue"]


def test_the_graph_tracer_names_them(shop: ModuleType, workers: list[Worker]) -> None:
    with funcgraph.Instance(
        "one", tracer="function_graph", filter=["shop.serve"], options="funcgraph-retaddr"
    ) as one:
        for worker in workers:
            worker.command("sun")
        assert re.findall(r"<-(\S+):\d+ ", one.trace()) == ["shop.red", "shop.blue"]


@pytest.mark.parametrize("function", ["serve", "inner"])
@pytest.mark.parametrize("expected", ["sun", "raise"])
def test_the_return_of_a_probe_names_them(
    shop: ModuleType, workers: list[Worker], function: str, expected: str
) -> None:
    """However the call ends."""
    funcgraph.dynamic_events.define(f"f:shop/end shop.{function}%return")
    with funcgraph.Instance("one") as one:
        one.events["shop/end"].enable = True
        for worker in workers:
            worker.command(expected)
        callers = ["shop.serve"] * 2 if function == "inner" else ["shop.red", "shop.blue"]
        assert re.findall(r"end: \((\S+) <- shop\.", one.trace()) == callers


def test_a_histogram_keeps_callers_apart(shop: ModuleType, workers: list[Worker]) -> None:
    funcgraph.dynamic_events.define("p:shop/inner shop.inner")
    with funcgraph.Instance("one") as one:
        event = one.events["shop/inner"]
        event.trigger = "hist:keys=common_stacktrace"
        for worker in workers * 2:
            worker.command("sun")
        rows = re.findall(r"\{ common_stacktrace:\n((?:.*\n)*?)\} hitcount: +2", event.hist)
        assert len(rows) == 2, event.hist
        for colour in ("red", "blue"):
            assert sum(f"shop.{colour}\n" in row for row in rows) == 1, event.hist
        assert "function#" not in event.hist


def test_the_stack_of_an_event_has_them(shop: ModuleType, workers: list[Worker]) -> None:
    funcgraph.dynamic_events.define("f:shop/inner shop.inner")
    with funcgraph.Instance("one", options="stacktrace") as one:
        one.events["shop/inner"].enable = True
        for worker in workers:
            worker.command("sun")
        found = stacks(one.trace())
        assert [stack[2] for stack in found] == ["shop.red", "shop.blue"]


def test_a_generator_that_is_resumed_is_named(shop: ModuleType) -> None:
    """It is on no thread's stack when tracing begins."""
    generator = shop.suspended()
    next(generator)
    with funcgraph.Instance(
        "one", tracer="function", filter=["shop.inner"], options="func_stack_trace"
    ) as one:
        generator.send("sun")
        assert stacks(one.trace())[0][:3] == ["shop.inner", "shop.serve", "shop.suspended"]


def test_a_caller_that_is_met_so_is_traced_from_its_next_call_on(
    shop: ModuleType, workers: list[Worker]
) -> None:
    with funcgraph.Instance("one", tracer="function", filter=["shop.*"], options="func_stack_trace") as one:
        workers[0].command("sun")
        again = Worker(shop.red)
        again.end()
        assert "shop.red <-threading.Thread.run" in one.trace()
        assert one.trace().count("shop.red <-") == 1
