"""Tracing that starts while other threads call: each call that is begun in the trace ends in it.

Broken by hand: without the GIL, calls were recorded before their functions had return hooks (calls that had
returned long ago stayed around all later ones).
"""

from __future__ import annotations

import re
import threading

from funcgraph import Instance

_THREADS, _STARTS, _CALLS = 3, 20, 200


def inner(n: int) -> int:
    return n + 1


def outer(n: int) -> int:
    return inner(n)


def test_no_call_stays_open_that_has_returned() -> None:
    ends = threading.Event()
    counts = [0] * _THREADS

    def call(number: int) -> None:
        while not ends.is_set():
            outer(number)
            counts[number] += 1

    def wait_for_calls() -> None:
        least = [count + _CALLS for count in counts]
        while any(count < wanted for count, wanted in zip(counts, least, strict=True)):
            threading.Event().wait(0.001)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    try:
        traces = []
        for _ in range(_STARTS):
            # The first one has functions known, and their entries hooked where these cannot be disabled.
            with (
                Instance("before", tracer="function", filter=["no.such.function"]) as before,
                Instance("starts", tracer="function_graph", filter=["no.such.function"]) as instance,
            ):
                before.tracing_on = True
                wait_for_calls()
                instance.tracing_on = True
                instance.files["set_ftrace_filter"] = f"{__name__}.*er"
                wait_for_calls()
                instance.tracing_on = False
                traces.append(instance.trace())
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    depths = {len(match[1]) for trace in traces for match in re.finditer(r"\|( +)\S+\.outer\(\) \{", trace)}
    assert depths == {2}
