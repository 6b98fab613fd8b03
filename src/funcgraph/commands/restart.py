"""`funcgraph restart`: have running processes write into their buffers again."""

from __future__ import annotations

import argparse

from funcgraph.command_support.processes import Processes, add_instances, add_processes, folders
from funcgraph.steering.folder import Process

NAME = "restart"
HELP = "have running processes write into their buffers again"
DESCRIPTION = """\
Write 1 to tracing_on: undo 'funcgraph stop'."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add_instances(parser, "restart")


def run(args: argparse.Namespace) -> int:
    """Write tracing_on of each instance."""

    def restart(process: Process) -> None:
        for folder in folders(process, args):
            folder.write("tracing_on", "1")

    with Processes(args) as processes:
        processes.each(restart)
        return processes.status
