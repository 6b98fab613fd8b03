"""funcgraph compare: two calls of one function side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from funcgraph.answers.compare_calls import CallComparison, compare_calls, first_different_calls
from funcgraph.answers.named_call import find_call
from funcgraph.answers.why_text import call_json
from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import add_strict_argument, default_trace, open_events, trace_errors
from funcgraph.names import printable, shortened
from funcgraph.tracedata.pager import text_width
from funcgraph.tracedata.summary import duration_text

if TYPE_CHECKING:
    from funcgraph.diff.first_difference import FirstDifference
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

_COUNTS = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("one", metavar="CALL", help="a call; with --at: a trace")
    parser.add_argument("other", metavar="CALL", help="another call of its function; with --at: a trace")
    parser.add_argument(
        "-i",
        "--input",
        metavar="FILE",
        help="the trace (default: trace.fg, or trace.dat if only that is there)",
    )
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
    parser.set_defaults(file=None)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; return the exit status."""
    if args.tasks and not args.at:
        raise CommandError("--task: only with --at; THREAD@TIME names a call in a thread")
    if args.at and args.input:
        raise CommandError("-i: not with --at, which takes two traces")
    with ExitStack() as stack:
        paths = (args.one, args.other) if args.at else (args.input or default_trace(),)
        traces = [
            stack.enter_context(open_events(argparse.Namespace(**{**vars(args), "input": path})))
            for path in paths
        ]
        with trace_errors(", ".join(map(str, paths))):
            found = _compared(args, traces)
        lines = _lines(found, paths, text_width() or 80)
        text = answer_text(args, lambda: None if found is None else _json(found), lines)
    write_answer(text)
    return int(found is not None and found.difference is not None)


def _compared(args: argparse.Namespace, traces: list[Trace]) -> CallComparison | None:
    a, b = traces[0], traces[-1]
    if not args.at:
        return compare_calls(a, find_call(a, args.one), b, find_call(b, args.other))
    calls = first_different_calls(a, b, args.at, args.tasks)
    return None if calls is None else compare_calls(a, calls[0], b, calls[1])


# ---- text

_WHAT = {"call": "another call", "arguments": "other arguments", "result": "another result"}


def _lines(found: CallComparison | None, paths: tuple[str, ...], width: int) -> Iterator[str]:
    if found is None:
        yield "all its calls are the same in both"
        return
    for mark, call, path in (("-", found.a, paths[0]), ("+", found.b, paths[-1])):
        took = duration_text(call.end_ns - call.begin_ns)
        where = f" of {printable(path)}" if len(paths) > 1 else ""
        thread = f"{printable(call.task.name)}-{call.task.tid}"
        yield f"{mark} {printable(str(call))}{where} took {took} in {thread}"
    yield from _difference_lines(found, width)
    for row in found.counts[:_COUNTS]:
        yield f"  {row.a:>9,} : {row.b:<9,} calls of {shortened(printable(row.function), width - 34)}"
    if len(found.counts) > _COUNTS:
        yield f"  {len(found.counts) - _COUNTS} more functions are called more often by one"
    for mark, call, path in (("-", found.a, paths[0]), ("+", found.b, paths[-1])):
        begin, end = call.times()
        yield f"{mark} funcgraph report -i {path} --task {call.task.tid} --from {begin} --to {end}"


def _difference_lines(found: CallComparison, width: int) -> Iterator[str]:
    if found.difference is not None and found.difference.what != "call":
        yield from _place_lines(found, found.difference, width)
    if found.parting is None:
        yield "both make the same calls"
        return
    yield from _place_lines(found, found.parting, width)
    half = (width - 6) // 2
    yield "what follows:"
    for place in range(1, max(len(found.after_a), len(found.after_b))):
        left, right = (_following(side, place, half) for side in (found.after_a, found.after_b))
        yield f"- {left:<{half}}  + {right}".rstrip()


def _place_lines(found: CallComparison, difference: FirstDifference, width: int) -> Iterator[str]:
    yield f"the first {difference.calls:,} calls are the same, then {_WHAT[difference.what]}:"
    for depth, name in enumerate(difference.path):
        yield f"  {'  ' * depth}{printable(name)}() {{"[:width]
    for mark, side, call in (("-", difference.a, found.a), ("+", difference.b, found.b)):
        if side is None:
            yield f"{mark} {'  ' * len(difference.path)}no further call"
            continue
        depth, name, time_ns = side
        text = f"{printable(name)}()" if difference.what == "call" else printable(name)
        yield f"{mark} {'  ' * depth}{text}, after {duration_text(max(time_ns - call.begin_ns, 0))}"


def _following(calls: tuple[tuple[int, str], ...], place: int, width: int) -> str:
    if place >= len(calls):
        return ""
    depth, name = calls[place]
    indent = "  " * min(depth, 6)
    return f"{indent}{shortened(printable(name), width - len(indent))}"


# ---- JSON


def _json(found: CallComparison) -> dict[str, Any]:
    return {
        "a": call_json(found.a),
        "b": call_json(found.b),
        "difference": _place_json(found.difference),
        "parting": _place_json(found.parting),
        "after_a": [list(one) for one in found.after_a],
        "after_b": [list(one) for one in found.after_b],
        "counts": [row._asdict() for row in found.counts],
    }


def _place_json(place: FirstDifference | None) -> dict[str, Any] | None:
    return None if place is None else {name: getattr(place, name) for name in place.__slots__}
