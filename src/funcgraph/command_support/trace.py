"""What the commands that read a trace have in common."""

from __future__ import annotations

import argparse
import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from funcgraph.command_support.messages import CommandError, os_error_text, print_message, refusal_of
from funcgraph.command_support.parser import Common
from funcgraph.command_support.progress_bar import ProgressBar
from funcgraph.session.output import DEFAULT_OUTPUT
from funcgraph.tracedata.description import SelectionError, TraceError
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.trace_file import TraceFile

if TYPE_CHECKING:
    from funcgraph.tracedata.flaw import Flaw
    from funcgraph.tracedata.opened import Trace

_Opened = TypeVar("_Opened")


@contextmanager
def trace_errors(path: object) -> Iterator[None]:
    """Turn an error of a trace, or of a selection of it, into the command's error, with the file."""
    try:
        yield
    except TraceError as error:
        advice = f"a program, not a trace: 'funcgraph record {shlex.quote(str(path))}' makes one of it"
        raise CommandError(f"{path}: {advice if _is_program(path) else error}") from None
    except SelectionError as error:
        raise refusal_of(error, f"{path}: ") from None


def _is_program(path: object) -> bool:
    """Return whether a file is a Python program, or another one that begins with #!."""
    try:
        if not os.path.isfile(str(path)):  # opening a FIFO waits
            return False
        with open(str(path), "rb") as file:
            return str(path).endswith((".py", ".pyw")) or file.read(2) == b"#!"
    except OSError:
        return False


def add_trace_argument(
    parser: argparse.ArgumentParser, *, several: bool = False, metavar: str = "FILE"
) -> None:
    """Add the argument for `open_trace`: after -i, as trace-cmd has it, or alone.

    Args:
        several: for `open_files`: alone there may be several.
        metavar: what the help calls it.
    """
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "-i",
        "--input",
        metavar=metavar,
        help=Common("the trace (default: trace.fg, or trace.dat if only that is there)"),
    )
    if several:
        help_text = "the trace, without -i; or all files of a recording that was rotated, as one"
        group.add_argument("files", metavar=metavar, nargs="*", default=[], help=help_text)
    else:
        group.add_argument("file", metavar=metavar, nargs="?", help="the trace, without -i")


def trace_path(args: argparse.Namespace) -> str:
    """Return the path of the trace that the arguments of add_trace_argument() name."""
    path: str | None = args.input or args.file
    return path or default_trace()


def reading_bar(path: object, *, streams: bool = False) -> ProgressBar:
    """Return the bar for reading a trace.

    Args:
        streams: while the trace is read its text goes to standard output. If that is no file, what stands at
            its end may be the same terminal: it gets no bar.
    """
    return ProgressBar(f"reading {path}", visible=not streams or _output_is_file())


def after_bar(pieces: Iterator[bytes], bar: ProgressBar) -> Iterator[bytes]:
    """Return pieces of text for standard output, of which the first is made by now.

    Up to that one the bar is there: a selection may have to read the whole trace before. It stays for the
    rest if standard output is a file. Else what stands at its end may be the same terminal.
    """
    first = next(pieces, b"")
    if not _output_is_file():
        bar.stop()
    return chain((first,), pieces)


def _output_is_file() -> bool:
    try:
        mode = os.fstat(1).st_mode
        return stat.S_ISREG(mode) or os.path.samestat(os.fstat(1), os.stat(os.devnull))
    except OSError:
        return False


@contextmanager
def open_files(args: argparse.Namespace) -> Iterator[TraceFile]:
    """Open the trace, or those of one recording as one. Raises CommandError as open_file()."""
    paths = args.files or [args.input or default_trace()]
    with ExitStack() as stack:
        bar = stack.enter_context(reading_bar(", ".join(paths)))
        traces = [open_file(path, args, bar) for path in paths]
        if len(traces) == 1:
            yield traces[0]
            return
        from funcgraph.tracedata.rotated import joined  # other commands do without it

        stack.enter_context(trace_errors(", ".join(paths)))
        try:
            yield stack.enter_context(joined(traces, bar))
        except OSError as error:
            raise CommandError(os_error_text(error)) from None


def open_file(path: str, args: argparse.Namespace, bar: ProgressBar | None = None) -> TraceFile:
    """Open one of several traces; a bar shows how far it is read. Raises CommandError with the file and the
    reason."""
    trace = open_as(lambda name: TraceFile(name, progress=bar), path)
    check_whole(trace, args)
    return trace


def open_as(open: Callable[[str], _Opened], path: str) -> _Opened:
    """Open one of several traces with a function or class. Raises CommandError as open_file()."""
    with trace_errors(path):
        try:
            return open(path)
        except OSError as error:
            raise CommandError(os_error_text(error)) from None


def check_whole(trace: TraceFile | Trace, args: argparse.Namespace) -> None:
    """Tell what a trace lacks as a whole. Raises CommandError instead, with --strict."""
    check_flaw(trace.path, trace.flaw, args)


def check_flaw(path: object, flaw: Flaw | None, args: argparse.Namespace) -> None:
    """The same, of a trace that was opened otherwise."""
    if flaw is not None and args.strict:
        raise CommandError(f"{path}: {flaw.text}")
    if flaw is not None and not flaw.is_usual:
        print_message(f"{path}: {flaw.text}")


def add_strict_argument(parser: argparse._ActionsContainer) -> None:
    """Add the option for `check_whole`."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail if the trace is not whole: cut off, not complete, or made of damaged files",
    )


@contextmanager
def open_events(args: argparse.Namespace, bar: ProgressBar | None = None) -> Iterator[Trace]:
    """Open the trace as `funcgraph.open` does. Raises CommandError with the file and the reason.

    Args:
        bar: shows how far it is read; None: one that is erased when the trace is closed.
    """
    from funcgraph.tracedata.opened import Trace  # other commands do without it

    path = trace_path(args)
    with bar or reading_bar(path) as shown, open_as(lambda name: Trace(name, progress=shown), path) as trace:
        check_whole(trace, args)
        yield trace


def default_trace() -> str:
    """Return the name of the trace that is read if none is given."""
    return (
        "trace.dat" if os.path.exists("trace.dat") and not os.path.exists(DEFAULT_OUTPUT) else DEFAULT_OUTPUT
    )


def add_part_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the flags that pick tasks and instances, for `selection_of`."""
    parser.add_argument(
        "--task",
        dest="tasks",
        metavar="T",
        action="append",
        default=[],
        help=Common("only this task: a thread id, or a thread's name (* and ? match); may be repeated"),
    )
    parser.add_argument(
        "-B",
        dest="buffers",
        metavar="NAME",
        action="append",
        default=[],
        help="only the buffer of this instance ('' is the top one); may be repeated",
    )


def add_selection_arguments(
    parser: argparse.ArgumentParser, *, events: bool = True, callers: bool = True
) -> None:
    """Add all flags of a selection, for `selection_of`. `events`: also -F. `callers`: also --callers N."""
    add_strict_argument(parser)
    add_part_arguments(parser)
    group = parser.add_argument_group("selection: calls and events that meet all of these")
    for flag, dest, help_text in (
        (
            "-l",
            "functions",
            "only calls of functions that match, as of 'funcgraph record -l'; may be repeated",
        ),
        ("-g", "graph", "only functions that match and all that they call; may be repeated"),
    ):
        group.add_argument(
            flag, dest=dest, metavar="PATTERN", action="append", default=[], help=Common(help_text)
        )
    add_time_arguments(group)
    group.add_argument("--max-depth", metavar="N", type=int, help="only the first N levels of calls")
    group.add_argument(
        "--longer",
        dest="longer_us",
        metavar="USEC",
        type=float,
        help=Common("only calls that ran for at least USEC microseconds"),
    )
    group.add_argument(
        "--where",
        metavar="FILTER",
        help=Common(
            "only calls whose values meet an event filter, as 'amount > 3 && raised': arguments by their "
            "names, ret, exc, attributes of these (cart.user), raised, duration and own (microseconds)"
        ),
    )
    if callers:
        group.add_argument(
            "--callers", metavar="N", type=_number, default=0, help="with --where: also N calls around each"
        )
    group.add_argument("--below", action="store_true", help="with --where: also all that these calls call")
    if not events:
        return
    group.add_argument(
        "-F",
        dest="events",
        metavar="EVENT",
        action="append",
        default=[],
        help="only these events, and calls only if an option above chooses calls: NAME or "
        "'NAME: FILTER', as 'paid: amount > 3'; may be repeated",
    )


def add_time_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the flags of a time, for `selection_of`."""
    parser.add_argument(
        "--from",
        dest="begin",
        metavar="TIME",
        help=Common(
            "from this time on: seconds as the report prints them; +N: after the first event; -N: before the "
            "last (--from=-N)"
        ),
    )
    parser.add_argument("--to", dest="end", metavar="TIME", help=Common("up to this time, likewise"))


def add_imports_argument(parser: argparse.ArgumentParser, *, default: str) -> None:
    """Add the flag for `fold_imports`. `default`: what imports are without it."""
    parser.add_argument(
        "--imports",
        action="store_true",
        help=f"show the calls in imports; else {default}, unless -l or -g chooses functions",
    )


def add_count_argument(parser: argparse.ArgumentParser, *, lines: str) -> None:
    """Add -n. `lines`: what it counts."""
    parser.add_argument(
        "-n", dest="count", metavar="N", type=_count, help=Common(f"print only the first N {lines}")
    )


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number, got '{text}'")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number, at least 1, got '{text}'")
    return int(text)


def first_lines(pieces: Iterator[bytes], count: int | None) -> Iterator[bytes]:
    """Yield pieces of whole lines, up to so many lines (None: all). Lines at the top that begin with '#' are
    a header, and do not count."""
    is_header = True
    for piece in pieces:
        if count is None:
            yield piece
            continue
        lines = piece.splitlines(keepends=True)
        header = 0
        while is_header and header < len(lines) and lines[header].startswith(b"#"):
            header += 1
        is_header = is_header and header == len(lines)
        shown = lines[: header + count]
        count -= len(shown) - header
        yield b"".join(shown)
        if not count:
            return


def selection_of(args: argparse.Namespace) -> Selection:
    """Return what the flags of `add_selection_arguments`, or of `add_part_arguments`, select."""
    names = (field.name for field in fields(Selection))
    given = {name: getattr(args, name) for name in names if hasattr(args, name)}
    for name in ("max_depth", "longer_us"):
        value = given.get(name)
        if value is not None and not 0 < value < float("inf"):
            flag = "--max-depth" if name == "max_depth" else "--longer"
            raise CommandError(f"{flag} {value:g}: must be more than 0")
    return Selection(**given)
