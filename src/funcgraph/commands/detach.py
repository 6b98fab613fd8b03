"""`funcgraph detach`: end funcgraph in running processes."""

from __future__ import annotations

import argparse

from funcgraph.command_support.messages import CommandError, print_message, process_error_text
from funcgraph.command_support.processes import add_processes, chosen
from funcgraph.control.at_once import at_once
from funcgraph.control.client import NotServedError, connect
from funcgraph.steering.output import print_line
from funcgraph.steering.processes import ended_text, has_ended, named

NAME = "detach"
HELP = "end funcgraph in running processes: no hooks, threads, files"
DESCRIPTION = """\
End funcgraph in running processes: hooks, instances, threads, descriptors, files and mappings are gone. Only
the loaded module stays. It can be attached again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("pids", metavar="PID", nargs="*", type=int, help="a process, as -P PID")
    add_processes(parser, "none")


def run(args: argparse.Namespace) -> int:
    """Detach from each; the exit status is 2 if one could not be detached from."""
    args.processes += map(str, args.pids)
    if not args.processes:
        raise CommandError("from which processes? Give their ids, or -P")
    ids = named(args.processes)
    status = left = 0
    for pid, error in at_once(chosen(args), _detach):
        if error is None:
            print_line(f"process {pid}: detached")
        elif isinstance(error, NotServedError):
            print_line(f"process {pid}: is not attached")
        elif not isinstance(error, OSError):
            raise error
        elif pid not in ids and has_ended(pid):
            left += 1
        else:
            print_message(process_error_text(pid, error))
            status = 2
    if left:
        print_message(ended_text(left))
    return status


def _detach(pid: int) -> None:
    with connect(pid) as process:
        process.call("detach")
