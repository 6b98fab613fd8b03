"""Times instances inside the program; prints one line of JSON.

Usage: instances.py calls N ROUNDS COUNT...   {"calls": C, "seconds": {"COUNT": [...], ...}}: fib(N), with
                                              COUNT instances that trace it
       instances.py filter FUNCTIONS ROUNDS   {"seconds": {"all to one": [...], "one to all": [...]}}
"""

import json
import sys
import time
import types

from fib_calls import calls_of

import funcgraph


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def time_calls(n, rounds, *counts):
    seconds = {count: [] for count in counts}
    for _ in range(int(rounds)):
        for count in counts:
            instances = [
                funcgraph.Instance(f"i{i}", tracer="function_graph", filter=["__main__.fib"])
                for i in range(int(count))
            ]
            fib(int(n))
            # The minimum of several runs: disturbances only add time.
            seconds[count].append(min(timed(fib, int(n)) for _ in range(100)))
            for instance in instances:
                instance.close()
    return {"calls": calls_of(int(n)), "seconds": seconds}


def time_filter(n, rounds):
    module = types.ModuleType("shop")
    exec("".join(f"def f{i}(): pass\n" for i in range(int(n))), module.__dict__)
    functions = [module.__dict__[f"f{i}"] for i in range(int(n))]

    def call_all():
        for function in functions:
            function()

    def set_filter(pattern):
        instance.set_ftrace_filter = [pattern]

    seconds = {"all to one": [], "one to all": []}
    with funcgraph.Instance("shop", tracer="function_graph", filter=["shop.*"]) as instance:
        call_all()
        for _ in range(int(rounds)):
            for step, pattern in (("all to one", "shop.f5"), ("one to all", "shop.*")):
                seconds[step].append(timed(set_filter, pattern))
                call_all()
    return {"seconds": seconds}


def main(what, *words):
    print(json.dumps({"calls": time_calls, "filter": time_filter}[what](*words)))


main(*sys.argv[1:])
