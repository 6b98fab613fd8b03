"""funcgraph why: what a call, or a function's slow calls, spent their time on."""

from __future__ import annotations

import argparse

from funcgraph.answers.why import why
from funcgraph.answers.why_text import why_json, why_lines
from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.trace import (
    add_part_arguments,
    add_strict_argument,
    add_trace_argument,
    open_events,
    trace_errors,
)
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.pager import text_width

NAME = "why"
HELP = "tell what a function's slow calls spent their time on"
DESCRIPTION = """\
Tell what a call, or a function's slow calls, spent their time on: the slowest tenth beside the fifth in the
middle, or one call. All parts add up to the time from a call's begin to its end, to the nanosecond: its own
code, what it called, native functions, locks, sleeps, I/O, waits for the GIL, awaits, time in which it was
ready, garbage collection, imports, the tracer. What is not known is 'unknown'.

  funcgraph record --why app.py
  funcgraph why shop.checkout
  funcgraph why shop.checkout --slowest
  funcgraph why shop.checkout:3
  funcgraph why MainThread@12.345678

A call is named FUNCTION:N, the N-th call of the function (-1: the last one), or THREAD@TIME, the innermost
call in progress then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("function", metavar="FUNCTION", help="the function, a pattern for it, or a call")
    add_trace_argument(parser)
    parser.add_argument("--nth", metavar="N", type=_number, help="only the N-th call; -1: the last one")
    parser.add_argument("--slowest", action="store_true", help="only the slowest call")
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    add_part_arguments(parser)
    add_strict_argument(parser)


def _number(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a number from 1 on, or from -1 on backwards, got '{text}'")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print the answer; return the exit status."""
    with open_events(args) as trace, trace_errors(trace.path):
        answer = why(
            trace,
            args.function,
            nth=args.nth,
            slowest=args.slowest,
            tasks=args.tasks,
            buffers=args.buffers,
        )
        lines = why_lines(answer, str(trace.path), text_width() or 80, links_on())
        text = answer_text(args, lambda: why_json(answer), lines)
    write_answer(text)
    return 0
