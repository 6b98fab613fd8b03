"""funcgraph convert: write a .fg trace as a trace.dat."""

from __future__ import annotations

import argparse
import os

from funcgraph.commands import CommandError, os_error_text, say
from funcgraph.commands._settings import add_setting, refusal
from funcgraph.commands._trace import add_strict_argument, open_file
from funcgraph.session.check import DAT_SETTINGS, OptionError, check_dat_format
from funcgraph.session.dat_format import DatFormat
from funcgraph.session.output import check_output
from funcgraph.settings.table import BY_NAME

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
    add_strict_argument(parser)
    for name in DAT_SETTINGS:
        add_setting(parser, BY_NAME[name])
    parser.set_defaults(**{name: BY_NAME[name].default for name in DAT_SETTINGS})


def run(args: argparse.Namespace) -> int:
    """Convert one trace; return the exit status."""
    try:
        check_dat_format(vars(args))
    except OptionError as error:
        raise refusal(error) from None
    output = check_output(args.output or f"{os.path.splitext(args.source)[0]}.dat")
    if os.path.exists(output) and os.path.samefile(args.source, output):
        raise CommandError(f"{args.source}: is the output too")
    open_file(args.source, args)
    try:
        damaged_at = DatFormat.of(vars(args)).convert(args.source, output)
    except ValueError as error:
        raise CommandError(f"{args.source}: {error}") from None
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    if damaged_at is None:
        return 0
    say(f"{args.source}: damaged at byte {damaged_at}: the events there count as lost")
    return 1
