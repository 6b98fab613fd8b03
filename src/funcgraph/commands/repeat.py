"""funcgraph repeat: calls that were made more than once or for nothing, exceptions that were swallowed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
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
from funcgraph.tracedata.recorded_options import missing

if TYPE_CHECKING:
    from funcgraph.answers.repeat import Repeats
    from funcgraph.tracedata.opened import Trace

NAME = "repeat"
HELP = "find what was done twice: N+1 queries, results to cache"
DESCRIPTION = """\
Print what a program did more than once, that with the most time first:

  - the same call below one call; statements of SQL also by their shape,
    with `?` for literals (N+1 queries)
  - the same arguments, and always the same result: what a cache would save
  - exceptions that one function raised and another handled, again and again
  - functions whose results all callers discard

  funcgraph record --args --retval app.py
  funcgraph repeat"""

_COUNT = 4
_LEAST = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_trace_argument(parser)
    parser.add_argument(
        "--least",
        metavar="N",
        type=int,
        default=_LEAST,
        help="so many calls below one call, exceptions, or discarded results are a repetition "
        f"(default: {_LEAST})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    parser.add_argument(
        "--imports",
        action="store_true",
        help="also what the import machinery does; else an import is one call",
    )
    add_count_argument(parser, lines=f"of each sort (default: {_COUNT})")
    add_selection_arguments(parser, events=False)


def run(args: argparse.Namespace) -> int:
    """Print the repetitions; return the exit status."""
    from funcgraph.answers.repeat import repeat
    from funcgraph.answers.repeat_text import repeat_json

    if args.least < 2:
        raise CommandError(f"--least {args.least}: must be at least 2")
    with open_events(args) as trace, trace_errors(trace.path):
        found = repeat(trace, least=args.least, select=selection_of(args), imports=args.imports)
        text = answer_text(args, lambda: repeat_json(found), _lines(args, trace, found))
    write_answer(text)
    return 0


def _lines(args: argparse.Namespace, trace: Trace, found: Repeats) -> Iterator[str]:
    from funcgraph.answers.facts import limits
    from funcgraph.answers.repeat_text import repeat_lines

    yield from repeat_lines(trace.path, found, least=args.least, count=args.count or _COUNT)
    notes = [line for line in (missing(trace.meta, ("args", "retval")), *limits(trace, found.counts)) if line]
    if found.forgotten:
        notes.append(f"{found.forgotten:,} calls that were met once were forgotten to bound the memory")
    if notes:
        yield ""
        yield from notes
