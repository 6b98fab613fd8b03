"""Serves its control socket; has 10,000 functions, and calls each as often as a line of its input says."""

import sys
import types

import funcgraph

many = types.ModuleType("many")
exec("\n".join(f"def f{number}(): pass" for number in range(10_000)), many.__dict__)
functions = [value for value in vars(many).values() if callable(value)]
funcgraph.serve()
print("serves", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        for function in functions:
            function()
    print("done", flush=True)
