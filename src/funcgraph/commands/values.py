"""funcgraph values: the calls of a function, grouped by their arguments, results and exceptions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import (
    add_count_argument,
    add_selection_arguments,
    add_trace_argument,
    open_events,
    selection_of,
    trace_errors,
)
from funcgraph.names import did_you_mean
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.pager import text_width
from funcgraph.tracedata.recorded_options import missing

if TYPE_CHECKING:
    from funcgraph.answers.values import FunctionValues
    from funcgraph.tracedata.opened import Trace

NAME = "values"
HELP = "group a function's calls by their values: which one is slow"
DESCRIPTION = """\
Group the calls of a function by the value of each argument, of the result and of the exception, and say which
of these separates slow calls from fast ones, and calls that raise from those that return.

  funcgraph record --args --retval app.py
  funcgraph values shop.price

Numbers and lengths that have too many values are grouped by their size. Of an object the type counts; with
`record --values 1` its attributes do, each also alone: `cart.user`.

--last prints the last call of each function that matches instead: `funcgraph values --last 'shop.*'`."""

_COUNT = 8
_FILE_WIDTH = 120  # where the output is no terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.usage = "funcgraph values [OPTIONS] FUNCTION [[-i] FILE]"
    parser.add_argument("function", metavar="FUNCTION", help="its name, or a pattern as of 'record -l'")
    add_trace_argument(parser)
    parser.add_argument(
        "--by", metavar="NAME", help="list the values of this argument, attribute, `result` or `exception`"
    )
    parser.add_argument(
        "--last",
        action="store_true",
        help="print each function's last call alone, with its arguments and result",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    add_count_argument(parser, lines=f"values (default: {_COUNT})")
    add_selection_arguments(parser, events=False)


def run(args: argparse.Namespace) -> int:
    """Print the groups, or the last calls; return the exit status."""
    if args.last:
        return _print_last(args)
    from funcgraph.answers.values import values
    from funcgraph.answers.values_text import values_json

    with open_events(args) as trace, trace_errors(trace.path):
        found = values(trace, args.function, select=selection_of(args))
        _check(args, trace, found)
        text = answer_text(
            args, lambda: {"functions": [values_json(one) for one in found]}, _lines(args, trace, found)
        )
    write_answer(text)
    return 0


def _print_last(args: argparse.Namespace) -> int:
    from funcgraph.answers.last_calls import last_call_json, last_calls, last_calls_lines

    if args.by is not None:
        raise CommandError("--by: not with --last, which groups nothing")
    with open_events(args) as trace, trace_errors(trace.path):
        found = last_calls(trace, args.function, select=selection_of(args))
        _check_called(args, trace, found)
        lack = missing(trace.meta, ("args", "retval"))
    lines = [*islice(last_calls_lines(found, links_on()), args.count), *filter(None, [lack])]
    write_answer(answer_text(args, lambda: {"functions": [last_call_json(call) for call in found]}, lines))
    return 0


def _check_called(args: argparse.Namespace, trace: Trace, found: Sequence[object]) -> None:
    if not found:
        raise CommandError(f"{trace.path}: no call of '{args.function}' in this part of the trace")


def _check(args: argparse.Namespace, trace: Trace, found: Sequence[FunctionValues]) -> None:
    _check_called(args, trace, found)
    if args.by is not None and found[0].field(args.by) is None:
        known = ", ".join(field.name for field in found[0].fields) or "nothing of it is recorded"
        hint = did_you_mean(args.by, [field.name for field in found[0].fields])
        raise CommandError(
            f"--by '{args.by}': not a recorded value of the function; there are: {known}{hint}"
        )


def _lines(args: argparse.Namespace, trace: Trace, found: Sequence[FunctionValues]) -> Iterator[str]:
    from funcgraph.answers.facts import Counts, limits, place_of
    from funcgraph.answers.values_text import WIDTH, values_lines
    from funcgraph.names import printable

    first, *others = found
    width = max(text_width() or _FILE_WIDTH, WIDTH)
    yield from values_lines(
        trace.path, first, by=args.by, count=args.count or _COUNT, width=width, links=links_on()
    )
    if lack := missing(trace.meta, ("args", "retval")):
        yield lack
    yield from limits(trace, Counts(first.all.calls, first.open, 0))
    if others:
        name = first.function.name
        more = ", ".join(
            printable(one.function.name) + (place_of(one.function) if one.function.name == name else "")
            for one in others[:3]
        )
        match = "function matches" if len(others) == 1 else "functions match"
        yield f"{len(others):,} more {match}: {more}{', ...' if len(others) > 3 else ''}"
