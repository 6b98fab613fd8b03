"""funcgraph expect: check a trace against an expected sequence of calls."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgraph.answers.expectation import Expectation, ExpectationError, parse_expectation
from funcgraph.answers.expectation_text import difference_json, difference_lines, title_of
from funcgraph.answers.named_call import find_call
from funcgraph.answers.trace_check import ThreadDifference, check_trace
from funcgraph.answers.written_expectation import write_call, write_expectation
from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.trace import (
    add_part_arguments,
    add_strict_argument,
    add_time_arguments,
    add_trace_argument,
    open_events,
    trace_errors,
)
from funcgraph.names import printable
from funcgraph.output_file import whole_file
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.selected_time import exact_time

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace

_STANDARD = "-"  # for the name of a file
NAME = "expect"
HELP = "check a trace against an expected sequence of calls"
DESCRIPTION = """\
Check that a trace's calls are those that a file expects: order, number, nesting, values. The exit status is 1
if they are not, and where they first differ is printed.

  funcgraph expect calls.txt trace.fg --write -l 'shop.*'     make the file
  funcgraph expect calls.txt trace.fg                         check another trace

A line of the file is a call, what is indented below it, it calls:

  functions: shop.*
  shop.main()
    shop.load(path='*.json', ...) = dict(3)
    shop.price x1..30
    ...
    shop.save() ! OSError"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "expectation", metavar="FILE", help="the expectation; -: standard input, with --write output"
    )
    add_trace_argument(parser, metavar="TRACE")
    parser.add_argument("--write", action="store_true", help="write FILE from the trace")
    parser.add_argument(
        "-l",
        dest="functions",
        metavar="PATTERN",
        action="append",
        default=[],
        help="with --write: only calls of functions that match; may be repeated (default: all; of a part "
        "those of its calls)",
    )
    parser.add_argument("--max-depth", metavar="N", type=int, help="with --write: only the first N levels")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_part_arguments(parser)
    add_strict_argument(parser)
    group = parser.add_argument_group("with --write, a part of the trace: other calls are '...'")
    group.add_argument(
        "--call", metavar="CALL", help="only this call and what it calls: FUNCTION:N, or THREAD@TIME"
    )
    add_time_arguments(group)


def run(args: argparse.Namespace) -> int:
    """Check, or write; return the exit status."""
    if args.max_depth is not None and args.max_depth < 1:
        raise CommandError(f"--max-depth {args.max_depth}: must be at least 1")
    if not args.write and (args.functions or args.max_depth):
        raise CommandError("-l and --max-depth: only with --write; 'functions:' in FILE chooses functions")
    for flag, value in (("--call", args.call), ("--from", args.begin), ("--to", args.end)):
        if value is not None and not args.write:
            raise CommandError(f"{flag}: only with --write")
    if args.call and (args.begin or args.end or args.tasks):
        raise CommandError("--call: not with --from, --to or --task, which are of many calls")
    expectation = None if args.write else _read(args.expectation)
    with open_events(args) as trace, trace_errors(trace.path):
        if expectation is None:
            _write(args, trace)
            return 0
        found = check_trace(expectation, trace, args.tasks, args.buffers)
        text = answer_text(args, lambda: _json(found), _lines(args.expectation, trace, found))
    write_answer(text)
    return int(found is not None)


def _read(path: str) -> Expectation:
    try:
        with open(sys.stdin.fileno() if path == _STANDARD else path, "rb") as file:
            return parse_expectation(file.read().decode("utf-8"))
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    except (UnicodeDecodeError, ExpectationError) as error:
        raise CommandError(f"{_name_of(path)}: {printable(str(error))}") from None


def _write(args: argparse.Namespace, trace: Trace) -> None:
    try:
        text = _text(args, trace)
    except ExpectationError as error:
        raise CommandError(f"{error}: choose functions with -l, or --max-depth") from None
    if args.expectation == _STANDARD:
        write_answer(text)
        return
    try:
        with whole_file(args.expectation) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    print_message(f"{args.expectation}: {len(text.splitlines()) - 1:,} lines")


def _text(args: argparse.Namespace, trace: Trace) -> str:
    if args.call:
        call = find_call(trace, args.call, args.buffers)
        return write_call(trace, call, args.functions, args.max_depth)
    part = {"begin": args.begin, "end": args.end}
    return write_expectation(trace, args.functions, args.tasks, args.buffers, args.max_depth, **part)


# ---- what is printed


def _name_of(path: str) -> str:
    return "standard input" if path == _STANDARD else printable(path)


def _lines(path: str, trace: Trace, found: ThreadDifference | None) -> Iterator[str]:
    name = _name_of(path)
    if found is None:
        yield f"the calls are those of {name}"
        return
    task, difference = found
    yield f"{name}: {title_of(difference)} in {printable(task.name)}-{task.tid}"
    yield from difference_lines(difference, "" if path == _STANDARD else path, links_on())
    begin = exact_time(trace.clock, difference.time_ns)
    shown = f"funcgraph report -i {trace.path} --task {task.tid} --from {begin}"
    yield f"from there on: {shown} -n 20"


def _json(found: ThreadDifference | None) -> dict[str, Any]:
    return {"difference": None if found is None else difference_json(found)}
