"""funcgraph compare: two calls of one function side by side."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING

from funcgraph.answers.compare_calls import CallComparison, compare_calls, first_different_calls
from funcgraph.answers.compare_text import compare_json, compare_lines
from funcgraph.answers.named_call import find_calls
from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import (
    add_strict_argument,
    add_trace_argument,
    open_events,
    trace_errors,
    trace_path,
)
from funcgraph.tracedata.pager import text_width

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace

NAME = "compare"
HELP = "compare two calls of a function: where they first differ"
DESCRIPTION = """\
Put two calls of one function side by side, up to the first call, argument, result or exception that differs,
and say what differs after. The exit status is 1 if they differ.

  funcgraph compare shop.order:3 shop.order:4
  funcgraph compare --at shop.order old.fg new.fg     the first calls of shop.order that differ
  funcgraph compare --at shop.order:17 old.fg new.fg

A call is named FUNCTION:N, the N-th call of the function (-1: the last one), or THREAD@TIME, the innermost
call in progress then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("one", metavar="CALL", help="a call; with --at: a trace")
    parser.add_argument("other", metavar="CALL", help="another call of its function; with --at: a trace")
    add_trace_argument(parser)
    parser.add_argument(
        "--at", metavar="FUNCTION", help="compare the calls of FUNCTION in two traces, or FUNCTION:N of both"
    )
    parser.add_argument(
        "--task",
        dest="tasks",
        metavar="T",
        action="append",
        default=[],
        help="with --at FUNCTION: only in this thread; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    add_strict_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; return the exit status."""
    if args.tasks and not args.at:
        raise CommandError("--task: only with --at; THREAD@TIME names a call in a thread")
    if args.at and (args.input or args.file):
        raise CommandError("--at takes two traces, without -i and a third one")
    with ExitStack() as stack:
        paths = (args.one, args.other) if args.at else (trace_path(args),)
        traces = [
            stack.enter_context(open_events(argparse.Namespace(**{**vars(args), "input": path})))
            for path in paths
        ]
        with trace_errors(", ".join(map(str, paths))):
            found = _compared(args, traces)
        lines = compare_lines(found, paths, text_width() or 80)
        text = answer_text(args, lambda: None if found is None else compare_json(found), lines)
    write_answer(text)
    return int(found is not None and found.difference is not None)


def _compared(args: argparse.Namespace, traces: list[Trace]) -> CallComparison | None:
    a, b = traces[0], traces[-1]
    if not args.at:
        one, other = find_calls(a, [args.one, args.other])
        return compare_calls(a, one, b, other)
    calls = first_different_calls(a, b, args.at, args.tasks)
    return None if calls is None else compare_calls(a, calls[0], b, calls[1])
