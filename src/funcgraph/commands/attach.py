"""`funcgraph attach`: start funcgraph in running processes."""

from __future__ import annotations

import argparse
from functools import partial

from funcgraph.attach.errors import AttachError
from funcgraph.attach.group import AttachGroup
from funcgraph.attach.serving import attach
from funcgraph.command_support.messages import print_message, process_error_text
from funcgraph.control.at_once import at_once
from funcgraph.steering.output import print_line

NAME = "attach"
HELP = "start funcgraph in running processes, so that they can be traced"
DESCRIPTION = """\
Start funcgraph in running processes of CPython 3.11 or later that need not have heard of it. Afterwards they
can be steered: commands with -P PID do the same by themselves. Nothing is traced by this alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("pids", metavar="PID", nargs="+", type=int, help="a process")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=10.0,
        help="how long to try with each process (default: %(default)g)",
    )
    parser.add_argument(
        "--ignore-seccomp",
        action="store_true",
        help="attach also to processes with a seccomp filter, which may kill them",
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"invalid time '{text}': must be a number of seconds more than 0")
    return seconds


def run(args: argparse.Namespace) -> int:
    """Attach to all at the same time; the exit status is 2 if one could not be attached to."""
    status = 0
    with AttachGroup() as group:
        pids = list(dict.fromkeys(args.pids))
        attach_one = partial(_attach, args, group)
        for pid, outcome in at_once(pids, attach_one, abandon=lambda pid: group.cancel()):
            if isinstance(outcome, (AttachError, OSError)):
                print_message(process_error_text(pid, outcome))
                status = 2
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                print_line(f"process {pid}: {'attached' if outcome else 'was attached already'}")
    return status


def _attach(args: argparse.Namespace, group: AttachGroup, pid: int) -> bool:
    with group.turn(pid):
        return attach(pid, args.timeout, ignores_seccomp=args.ignore_seccomp, within=group.deadline)
