"""`funcgraph stat`: what of running processes differs from the defaults."""

from __future__ import annotations

import argparse

from funcgraph.commands._processes import Processes, add_processes, named_folders
from funcgraph.steering.folder import Process
from funcgraph.steering.stat import stat

NAME = "stat"
HELP = "show what running processes trace: all that differs from the defaults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    parser.add_argument(
        "-B",
        dest="instances",
        metavar="NAME",
        action="append",
        default=[],
        help="show this instance, and the top one only with -t; may be repeated",
    )
    parser.add_argument("-t", dest="top", action="store_true", help="with -B: show the top instance, too")
    parser.add_argument("-o", dest="options", action="store_true", help="show all trace options, too")


def run(args: argparse.Namespace) -> int:
    """Print the status of each instance."""

    def show(process: Process) -> None:
        names = [""] if args.top or not args.instances else []
        texts = [
            stat(folder, options=args.options) for folder in named_folders(process, [*names, *args.instances])
        ]
        processes.output.text(process.pid, "---------------\n".join(texts))

    with Processes(args) as processes:
        processes.each(show)
        return processes.status
