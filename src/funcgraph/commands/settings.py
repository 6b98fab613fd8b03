"""`funcgraph settings`: what of running processes differs from the defaults."""

from __future__ import annotations

import argparse

from funcgraph.command_support.processes import ALL_USERS, Processes, add_instances, add_processes, folders
from funcgraph.steering.folder import Process
from funcgraph.steering.stat import stat

NAME = "settings"
HELP = "show what running processes trace: what is not a default"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser, ALL_USERS)
    add_instances(parser, "show")
    parser.add_argument("-o", dest="options", action="store_true", help="show all trace options, too")


def run(args: argparse.Namespace) -> int:
    """Print the status of each instance."""

    def show(process: Process) -> None:
        texts = [stat(folder, options=args.options) for folder in folders(process, args)]
        processes.output.text(process.pid, "---------------\n".join(texts))

    with Processes(args) as processes:
        processes.each(show)
        return processes.status
