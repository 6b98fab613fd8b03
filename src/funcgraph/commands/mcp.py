"""funcgraph mcp: answer a language model's questions about traces."""

from __future__ import annotations

import argparse
import asyncio
from importlib.util import find_spec

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import default_trace, open_file

NAME = "mcp"
HELP = "answer a language model's questions about traces"
DESCRIPTION = """\
Serve the Model Context Protocol at standard input and output (pip install 'funcgraph[mcp]'): a client, such
as an editor with a language model, asks for summaries, calls, values, repetitions, exceptions, and why a call
was slow. It can read the traces named here and no others, and record the processes of -P and no others."""

_MISSING = "mcp needs the protocol's Python SDK: pip install 'funcgraph[mcp]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files", metavar="TRACE", nargs="*", help="the traces (default: trace.fg, without -P)"
    )
    parser.add_argument(
        "-P",
        dest="pids",
        metavar="PID",
        type=_pid,
        action="append",
        default=[],
        help="a process that may be recorded; may be repeated",
    )
    parser.set_defaults(strict=False)


def run(args: argparse.Namespace) -> int:
    """Serve until the client ends."""
    if not find_spec("mcp"):
        raise CommandError(_MISSING)
    from funcgraph.mcp.served import Served
    from funcgraph.mcp.server import serve  # only now: it takes a second

    paths = args.files or ([] if args.pids else [default_trace()])
    for path in paths:
        open_file(path, args)  # what cannot be read is refused before a client asks
    try:
        served = Served(paths, args.pids)
    except ProcessLookupError as error:
        raise CommandError(str(error)) from None
    asyncio.run(serve(served))
    return 0


def _pid(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a process id, got '{text}'")
    return int(text)
