"""Times registering users for N functions that have all been called. Prints {"seconds": {"STEP": [...], ...},
"first": {...}, "second": {...}}: the seconds of each step, and of calling all functions twice after it.

Usage: register.py N ROUNDS users|floor

`floor` only sets the events of as many code objects through sys.monitoring: CPython's part.
"""

import json
import sys
import time
import types
from collections import defaultdict

# As long as an average function of the standard library, because CPython looks through all of its code.
SOURCE = """
def f{i}(values, limit=10):
    total, seen = 0, []
    for value in values:
        if value > limit:
            seen.append(value)
        elif value < 0:
            raise ValueError(f"negative: {{value}}")
        total += value * 2
    if seen and total > len(seen):
        return total - max(seen)
    return total, seen, values
"""
MODULE = "shop.orders.generated"


def make_functions(n):
    module = types.ModuleType(MODULE)
    exec("".join(SOURCE.format(i=i) for i in range(n)), module.__dict__)
    return [module.__dict__[f"f{i}"] for i in range(n)]


class Stopwatch:
    """Records the seconds of each step, and of the next two calls of all functions."""

    def __init__(self, functions):
        self.functions = functions
        self.seconds, self.first, self.second = defaultdict(list), defaultdict(list), defaultdict(list)

    def call_all(self):
        start = time.perf_counter()
        for function in self.functions:
            function(())
        return time.perf_counter() - start

    def step(self, name, function, *arguments):
        start = time.perf_counter()
        function(*arguments)
        self.seconds[name].append(time.perf_counter() - start)
        self.first[name].append(self.call_all())
        self.second[name].append(self.call_all())


def time_users(watch, n, rounds):
    from funcgraph import FgraphOps, register_ftrace_graph, unregister_ftrace_graph

    one = f"{MODULE}.f{n // 2}"
    found = FgraphOps(filter=["nothing.*"], name="finds the functions")
    register_ftrace_graph(found)
    watch.call_all()
    watch.call_all()
    for _ in range(rounds):
        every = FgraphOps(filter=["shop.*"], name="all")
        watch.step("register: all", register_ftrace_graph, every)
        second = FgraphOps(filter=["shop.*"], name="all as well")
        watch.step("register: all, second user", register_ftrace_graph, second)
        watch.step("unregister: all, second user", unregister_ftrace_graph, second)
        watch.step("set_filter: all to one", every.set_filter, [one], True)
        watch.step("set_filter: one to all", every.set_filter, ["shop.*"], True)
        watch.step("unregister: all", unregister_ftrace_graph, every)
        single = FgraphOps(filter=[one], name="one")
        watch.step("register: one", register_ftrace_graph, single)
        watch.step("unregister: one", unregister_ftrace_graph, single)
        listed = FgraphOps(filter=[f"{MODULE}.f{i}" for i in range(n)], name="all by name")
        watch.step("register: all by name", register_ftrace_graph, listed)
        watch.step("unregister: all by name", unregister_ftrace_graph, listed)
    unregister_ftrace_graph(found)


def time_floor(watch, n, rounds):
    monitoring = sys.monitoring
    events = monitoring.events
    every = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
    codes = [function.__code__ for function in watch.functions]
    tool = monitoring.PROFILER_ID
    monitoring.use_tool_id(tool, "floor")

    def set_all(event_set):
        set_local_events = monitoring.set_local_events
        for code in codes:
            set_local_events(tool, code, event_set)

    for _ in range(rounds):
        watch.step("on", set_all, every)
        watch.step("off", set_all, 0)


def main(n, rounds, what):
    functions = make_functions(int(n))
    watch = Stopwatch(functions)
    for _ in range(10):
        watch.call_all()  # until CPython has specialised them
    {"users": time_users, "floor": time_floor}[what](watch, int(n), int(rounds))
    print(json.dumps({"seconds": watch.seconds, "first": watch.first, "second": watch.second}))


main(*sys.argv[1:])
