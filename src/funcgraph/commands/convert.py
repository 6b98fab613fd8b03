"""funcgraph convert: write a .fg trace as a trace.dat."""

from __future__ import annotations

import argparse
import os

from funcgraph import _tracedata
from funcgraph.commands import CommandError, os_error_text, say
from funcgraph.session.output import check_output
from funcgraph.tracedata.codecs import provide

NAME = "convert"
HELP = "write a trace as a trace.dat, for trace-cmd and KernelShark"
DESCRIPTION = """\
Write a trace that funcgraph recorded as a trace.dat file, which trace-cmd and KernelShark read too. The
trace may be one that is still being recorded (FILE.part), or was cut off."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", metavar="A.fg", help="the trace")
    parser.add_argument(
        "output", metavar="B.dat", nargs="?", help="the trace.dat (default: the trace's name with .dat)"
    )
    parser.add_argument(
        "--file-version",
        metavar="N",
        type=int,
        choices=(6, 7),
        default=7,
        help="of the trace.dat: 7 (compressed, the default) or 6",
    )
    parser.add_argument(
        "--compression",
        metavar="C",
        choices=("zstd", "zlib", "none"),
        help="of version 7: zstd (the default, if this system has it), zlib or none",
    )


def run(args: argparse.Namespace) -> int:
    """Convert one trace; return the exit status."""
    if args.file_version == 6 and args.compression not in (None, "none"):
        raise CommandError(f"--compression {args.compression}: version 6 has no compression")
    output = check_output(args.output or f"{os.path.splitext(args.source)[0]}.dat")
    if os.path.exists(output) and os.path.samefile(args.source, output):
        raise CommandError(f"{args.source}: is the output too")
    provide()
    try:
        damaged_at = _tracedata.convert(
            args.source, output, version=args.file_version, compression=args.compression
        )
    except ValueError as error:
        raise CommandError(f"{args.source}: {error}") from None
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    if damaged_at is None:
        return 0
    say(f"{args.source}: damaged at byte {damaged_at}: the events there count as lost")
    return 1
