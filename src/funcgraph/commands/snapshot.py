"""`funcgraph snapshot`: take, print, empty or free the snapshots of running processes."""

from __future__ import annotations

import argparse

from funcgraph.command_support.processes import Processes, add_processes, lane_file, named_folders
from funcgraph.steering.folder import Process

NAME = "snapshot"
HELP = "take, print, empty or free the snapshots of running processes"
DESCRIPTION = """\
Print the snapshot of the top instance, or with -s take it: what the buffer holds is kept, and tracing goes on
into another buffer."""

_FILE = "snapshot"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add = parser.add_argument
    add("-r", dest="empty", action="store_true", help="empty the snapshot")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-s", dest="take", action="store_true", help="take a snapshot")
    which.add_argument("-f", dest="free", action="store_true", help="free the snapshot's memory")
    add("-c", dest="lane", metavar="N", type=int, help="only lane N, as per_cpu/cpuN")
    add("-B", dest="instance", metavar="NAME", default="", help="of this instance")


def run(args: argparse.Namespace) -> int:
    """Print or change the snapshot of each process."""
    # As trace-cmd: empty it, free it, take it.
    texts = [text for is_given, text in ((args.empty, "2"), (args.free, "0"), (args.take, "1")) if is_given]

    def act(process: Process) -> None:
        (folder,) = named_folders(process, [args.instance])
        file = lane_file(folder, _FILE, args.lane)
        for text in texts:
            folder.write(file, text)
        if not texts:
            processes.output.text(process.pid, folder.read(file))

    with Processes(args) as processes:
        processes.each(act)
        return processes.status
