"""Times calls of a function with an event on it; prints {"calls": N, "seconds": {"untraced": [...], ...}}.

Usage: event_calls.py CALLS ROUNDS [MODE]

Without MODE, all modes run in turn, ROUNDS times. The function takes two ints and an object. "record": an
event with the two ints goes into a buffer that nobody reads. "attribute": with one int, and one that is an
attribute of the object. "hist": counted by the value of an int. "refused": its filter refuses each.
"nothing": it fetches nothing. "fault": one of its ints cannot be fetched. "other": it is on another function.
"declared": the function calls an event of the program with the two ints, which is recorded; "unwanted": the
same while nobody wants it. "untraced" is also what other tools trace.
"""

import contextlib
import json
import sys
import time

MODES = (
    "untraced", "nothing", "record", "attribute", "hist", "refused", "fault", "other", "declared", "unwanted",
)  # fmt: skip


class Order:
    def __init__(self):
        self.count = 3


def place(number, count, order):
    return number


def other(number, count, order):
    return number


def declare():
    import funcgraph

    paid = funcgraph.trace_event("program", "paid", number=int, count=int)

    def pay(number, count, order):
        paid(number, count)
        return number

    return pay


def repeat(n, order, function):
    for _ in range(n):
        function(7, 3, order)


DEFINITIONS = {
    "nothing": "f:b/nothing __main__.place n=\\1:u8",
    "record": "f:b/record __main__.place number:s64 count:s64",
    "attribute": "f:b/attribute __main__.place number:s64 count=order.count:s64",
    "hist": "f:b/hist __main__.place number:s64",
    "refused": "f:b/refused __main__.place number:s64",
    "fault": "f:b/fault __main__.place number:s64 count=order.absent:s64",
    "other": "f:b/other __main__.other number:s64 count:s64",
}


@contextlib.contextmanager
def event(mode):
    if mode in ("untraced", "unwanted"):
        yield
        return
    import funcgraph

    if mode == "declared":
        with funcgraph.Instance("measured") as instance:
            instance.events["program/paid"].enable = True
            yield
        return
    made = funcgraph.dynamic_events.define(DEFINITIONS[mode])
    with funcgraph.Instance("measured") as instance:
        one = instance.events[f"{made.group}/{made.event}"]
        if mode == "hist":
            one.trigger = "hist:keys=number"
        else:
            if mode == "refused":
                one.filter = "number > 1000"
            one.enable = True
        yield
    funcgraph.dynamic_events.delete(f"-:b/{mode}")


def timed(calls, mode, order):
    function = declare() if mode in ("declared", "unwanted") else place
    with event(mode):
        repeat(1000, order, function)
        start = time.perf_counter()
        repeat(calls, order, function)
        return time.perf_counter() - start


def main(calls, rounds, modes):
    order = Order()
    seconds = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode in modes:
            seconds[mode].append(timed(calls, mode, order))
    print(json.dumps({"calls": calls, "seconds": seconds}))


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or MODES)
