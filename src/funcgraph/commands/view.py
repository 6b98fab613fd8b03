"""funcgraph view: look at traces in a browser."""

from __future__ import annotations

import argparse
import os
import threading
import webbrowser
from importlib.util import find_spec
from typing import TYPE_CHECKING

from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.trace import add_strict_argument, check_flaw, default_trace, trace_errors
from funcgraph.steering.output import print_line

if TYPE_CHECKING:
    from funcgraph.view.served import Served

NAME = "view"
HELP = "look at traces in a browser: time line, flame graph, calls"
DESCRIPTION = """\
Look at traces in a browser (pip install 'funcgraph[view]'): every thread on one time line, from the whole
recording down to one call, with its arguments and its result.

It prints the page's address and opens it. Whoever has the address can see the trace; only this machine can
reach it. From another machine: 'ssh -L PORT:127.0.0.1:PORT HOST', with --port PORT. Ctrl-C ends it."""

_EXTRA = ("starlette", "uvicorn")
_MISSING = "view needs starlette and uvicorn: pip install 'funcgraph[view]'"
_MAX_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files",
        metavar="TRACE",
        nargs="*",
        help="the traces (default: trace.fg, or trace.dat if only that is there)",
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="listen at this port (default: any that is free)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--once", action="store_true", help="end when the last page is closed")
    add_strict_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; with --once until the last page is closed."""
    if not all(map(find_spec, _EXTRA)):
        raise CommandError(_MISSING)
    from funcgraph.view.access import new_token  # only now: see above
    from funcgraph.view.server import listen, serve

    served = [_open(number, path, args) for number, path in enumerate(args.files or [default_trace()])]
    try:
        listener = listen(args.port)
    except OSError as error:
        raise CommandError(f"--port {args.port}: {os_error_text(error)}") from None
    page = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    token = new_token()
    ticket = new_token() if not args.no_browser and _has_display() else None

    def begin() -> None:
        for one in served:
            one.start()
        print_line(f"{page}?token={token}")
        if ticket is not None:
            threading.Thread(target=_open_browser, args=(f"{page}?ticket={ticket}",), daemon=True).start()

    serve(listener, served, token, ticket, once=args.once, begin=begin)
    return 0


def _open(number: int, path: str, args: argparse.Namespace) -> Served:
    from funcgraph.view.served import Served

    with trace_errors(path):
        try:
            served = Served(number, path)
        except OSError as error:
            raise CommandError(os_error_text(error)) from None
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
