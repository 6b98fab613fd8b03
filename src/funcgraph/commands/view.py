"""funcgraph view: look at traces in a browser."""

from __future__ import annotations

import argparse
import os
import shutil
import threading
import webbrowser
from importlib.util import find_spec
from typing import TYPE_CHECKING

from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.parser import Common
from funcgraph.command_support.trace import (
    add_part_arguments,
    add_strict_argument,
    add_time_arguments,
    check_flaw,
    default_trace,
    open_as,
    reading_bar,
    selection_of,
    trace_errors,
)
from funcgraph.output_file import whole_file
from funcgraph.recorder.progress import bytes_text
from funcgraph.session.output import check_output
from funcgraph.steering.output import print_line

if TYPE_CHECKING:
    from funcgraph.view.served import Served

NAME = "view"
HELP = "look at traces in a browser: time line, flame graph, calls"
DESCRIPTION = """\
Look at traces in a browser (pip install 'funcgraph[view]'): every thread on one time line, from the whole
recording down to one call, with its arguments and its result.

It prints the page's address and opens it. Whoever has the address can see the trace; only this machine can
reach it. From another machine: 'ssh -L PORT:127.0.0.1:PORT HOST', with --port PORT. Ctrl-C ends it.

-P records a running process and shows it live. --export writes a page that needs no server."""

_EXTRA = ("starlette", "uvicorn")
_MISSING = "view needs starlette and uvicorn: pip install 'funcgraph[view]'"
_MAX_PORT = 65535
_OF_PROCESSES = {"--args": "args", "--retval": "retval", "--size": "size", "-o": "output"}
_SIZE = "16M"
_OF_EXPORT = {
    "--task": "tasks",
    "-B": "buffers",
    "-l": "functions",
    "--from": "begin",
    "--to": "end",
    "--source": "source",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files",
        metavar="TRACE",
        nargs="*",
        help=Common("the traces (default: trace.fg, or trace.dat if only that is there)"),
    )
    parser.add_argument(
        "--diff",
        action="store_true",
        help=Common("of two traces: also how the second differs from the first"),
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help=Common("listen at this port (default: any that is free)"),
    )
    parser.add_argument("--no-browser", action="store_true", help=Common("only print the address"))
    parser.add_argument("--once", action="store_true", help=Common("end when the last page is closed"))
    add_strict_argument(parser)
    group = parser.add_argument_group("a running process")
    group.add_argument(
        "-P",
        dest="processes",
        metavar="PID",
        action="append",
        default=[],
        help=Common("record this process and show it live, as 'funcgraph record -P' does; may be repeated"),
    )
    for flag, text in (("--args", "arguments"), ("--retval", "return values")):
        group.add_argument(flag, action="store_true", help=f"with -P: record the {text} of calls")
    group.add_argument(
        "--size",
        metavar="SIZE",
        help=f"with -P: keep so much, and as much again, of the latest events on disk ({_SIZE})",
    )
    group.add_argument("-o", dest="output", metavar="FILE", help="with -P: keep what is there at the end")
    group = parser.add_argument_group("a page that needs no server")
    group.add_argument(
        "--export",
        metavar="FILE.html",
        help=Common("write one page with the trace in it, which any browser opens from the file, and end"),
    )
    add_part_arguments(group)
    group.add_argument(
        "-l",
        dest="functions",
        metavar="PATTERN",
        action="append",
        default=[],
        help=Common(
            "only calls of functions that match, as of 'funcgraph record -l', also with -P; may be repeated"
        ),
    )
    add_time_arguments(group)
    group.add_argument(
        "--source", action="store_true", help="with the source of the functions, which is not in the trace"
    )


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; with --once until the last page is closed."""
    if args.export is not None:
        return _export(args)
    _refuse_options(args)
    if not all(map(find_spec, _EXTRA)):
        raise CommandError(_MISSING)
    if args.processes:
        return _view_live(args)
    served = [_open(number, path, args) for number, path in enumerate(args.files or [default_trace()])]
    if args.diff:
        _compare(*served)
    _serve(args, served)
    return 0


def _compare(base: Served, trace: Served) -> None:
    """Have a trace compared with another."""
    if base.has_times != trace.has_times:
        clocks = " and ".join(repr(one.trace.clock) for one in (base, trace))
        raise CommandError(f"--diff: one of the clocks counts no time: got {clocks}")
    trace.base = base


def _view_live(args: argparse.Namespace) -> int:
    """Record processes, and show what they do until Ctrl-C; with --once until the last page is closed."""
    from funcgraph.command_support.live_recording import live_recording  # a trace needs none of it
    from funcgraph.view.live_files import LiveFiles
    from funcgraph.view.served import Served

    output = None
    try:
        output = check_output(args.output) if args.output else None
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    options = [word for pattern in args.functions for word in ("-l", pattern)]
    options += [flag for flag, given in (("--args", args.args), ("--retval", args.retval)) if given]
    with live_recording(args.processes, options, args.size or _SIZE) as recording:
        files = LiveFiles(recording.output)
        _serve(args, [Served(0, f"process {', '.join(args.processes)}", None, files)], at_once=False)
        recording.end()
        if output is not None:
            with files.open() as file, whole_file(output) as out:
                shutil.copyfileobj(file, out)
            print_message(f"{args.output}: {bytes_text(os.stat(output).st_size)}")
    return 0


def _serve(args: argparse.Namespace, served: list[Served], *, at_once: bool = True) -> None:
    """Print the address of a page of traces, and serve it."""
    for one in served:
        one.start()  # while the server is imported

    from funcgraph.view.access import new_token  # only now: see above
    from funcgraph.view.server import listen, serve

    try:
        listener = listen(args.port)
    except OSError as error:
        raise CommandError(f"--port {args.port}: {os_error_text(error)}") from None
    page = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    token = new_token()
    ticket = new_token() if not args.no_browser and _has_display() else None

    def begin() -> None:
        print_line(f"{page}?token={token}")
        if ticket is not None:
            threading.Thread(target=_open_browser, args=(f"{page}?ticket={ticket}",), daemon=True).start()

    serve(listener, served, token, ticket, once=args.once, begin=begin, at_once=at_once)


def _refuse_options(args: argparse.Namespace) -> None:
    """The page of a server has all of a trace."""
    for flag, dest in _OF_EXPORT.items():
        if getattr(args, dest) and not (flag == "-l" and args.processes):
            raise CommandError(f"{flag}: only with --export")
    for flag, dest in _OF_PROCESSES.items():
        if getattr(args, dest) and not args.processes:
            raise CommandError(f"{flag}: only with -P")
    if args.diff and (args.processes or len(args.files) != 2):
        raise CommandError(f"--diff: needs two traces, got {len(args.files)}")
    if args.processes and args.files:
        raise CommandError(f"a trace or -P, not both: got {args.files[0]!r}")


def _export(args: argparse.Namespace) -> int:
    """Write a page that needs no server."""
    from funcgraph.view.export_page import export_page  # a server does without it
    from funcgraph.view.request_error import RequestError

    if args.diff:
        raise CommandError("--diff: not with --export, which is of one trace")
    if len(args.files) > 1:
        raise CommandError(f"--export: one trace at a time, got {' and '.join(map(repr, args.files))}")
    path = args.files[0] if args.files else default_trace()
    try:
        output = check_output(args.export)
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(path, output):
            raise CommandError(f"{path}: is the output too")
        with trace_errors(path):
            served = _open(0, path, args)
            with reading_bar(path) as bar:
                text, remarks = export_page(served, selection_of(args), has_source=args.source, progress=bar)
        with whole_file(output) as out:
            out.write(text.encode())
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    except RequestError as error:
        raise CommandError(f"{path}: {error.message}") from None
    for remark in remarks:
        print_message(f"{args.export}: {remark}")
    print_message(f"{args.export}: {bytes_text(os.stat(output).st_size)}")
    return 0


def _open(number: int, path: str, args: argparse.Namespace) -> Served:
    from funcgraph.view.served import Served

    served = open_as(lambda name: Served(number, name), path)
    check_flaw(path, served.trace.flaw, args)
    return served


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(address: str) -> None:
    if not webbrowser.open(address):
        print_message("found no browser to open: go to the address above")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to {_MAX_PORT}, got '{text}'")
    return int(text)
