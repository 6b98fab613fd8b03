"""`funcgraph clear`: empty the buffers of running processes."""

from __future__ import annotations

import argparse

from funcgraph.command_support.processes import Processes, add_instance_names, add_processes, named_folders
from funcgraph.steering.folder import Process

NAME = "clear"
HELP = "empty the buffers of running processes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add_instance_names(parser, "clear this instance, not the top one")
    parser.add_argument("-a", "--all", action="store_true", help="clear all instances, the top one too")


def run(args: argparse.Namespace) -> int:
    """Empty the buffer of each instance."""

    def clear(process: Process) -> None:
        names = ["", *process.instances()] if args.all else args.instances or [""]
        for folder in named_folders(process, names):
            folder.write("trace", "")

    with Processes(args) as processes:
        processes.each(clear)
        return processes.status
