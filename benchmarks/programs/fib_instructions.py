"""Runs fib(N) once, traced as MODE says: for counting instructions, never for timing.

Usage: fib_instructions.py MODE N
"""

import contextlib
import sys

import native_fprobes

import funcgraph


def fib(n, two=2):
    return n if n < two else fib(n - 1, two) + fib(n - two, two)


def on_entry(trace, ops, regs):
    return True


def on_return(trace, ops, regs):
    return None


@contextlib.contextmanager
def native_fprobe():
    native_fprobes.add(fib)
    yield
    native_fprobes.clear()


def instance(tracer):
    return funcgraph.Instance("counted", tracer=tracer, filter=["__main__.fib"])


MODES = {
    "untraced": contextlib.nullcontext,  # also the program that is recorded from outside
    "function_graph": lambda: instance("function_graph"),
    "function": lambda: instance("function"),
    "C fprobe": native_fprobe,
    "Python pair": lambda: funcgraph.registered(
        funcgraph.FgraphOps(on_entry, on_return, filter=["__main__.fib"], name="pair")
    ),
    "profiler": lambda: funcgraph.FunctionProfile(filter=["__main__.fib"]),
}


def main(mode, n):
    with MODES[mode]():
        fib(10)  # CPython specialises it, and a tracer creates its records
        fib(n)


main(sys.argv[1], int(sys.argv[2]))
