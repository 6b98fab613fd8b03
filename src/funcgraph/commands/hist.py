"""`funcgraph hist`: show histograms of events of running processes, or set them up."""

from __future__ import annotations

import argparse

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.processes import Processes, add_processes, named_folders
from funcgraph.steering import hist
from funcgraph.steering.folder import Process

NAME = "hist"
HELP = "show histograms of events of running processes, or set them up"
DESCRIPTION = """\
Without EVENT: print all histograms. With EVENT: print its histograms. With TRIGGER: give it that histogram,
as 'keys=amount:sort=hitcount'; the hits from now on are counted.

    funcgraph hist -P 4711 py:raise 'keys=type'
    funcgraph hist -P 4711 py:raise"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    parser.add_argument("-B", dest="instance", metavar="NAME", default="", help="of this instance")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-r",
        dest="remove",
        action="store_true",
        help="remove the histogram TRIGGER of EVENT, or all of EVENT",
    )
    for name in hist.COMMANDS:
        which.add_argument(
            f"--{name}",
            dest="command",
            action="store_const",
            const=name,
            help={"clear": "empty"}.get(name, name) + " the histograms of EVENT",
        )
    parser.add_argument("event", metavar="EVENT", nargs="?", help="GROUP:EVENT, or an event's name")
    parser.add_argument("trigger", metavar="TRIGGER", nargs="?", help="a histogram: keys, values and more")


def run(args: argparse.Namespace) -> int:
    """Show or change the histograms of each process."""
    if args.event is None and (args.remove or args.command):
        raise CommandError("hist: which event? give EVENT (see 'funcgraph hist --help')")
    if args.command and args.trigger:
        raise CommandError(f"hist: --{args.command} is for all histograms of EVENT: give no TRIGGER")
    with Processes(args) as processes:
        processes.each(lambda process: _act(processes, process, args))
        return processes.status


def _act(processes: Processes, process: Process, args: argparse.Namespace) -> None:
    (folder,) = named_folders(process, [args.instance])
    event = None if args.event is None else hist.event_of(folder, args.event)
    if event is not None and args.command:
        hist.command(folder, event, args.command)
    elif event is not None and args.remove:
        hist.remove(folder, event, args.trigger)
    elif event is not None and args.trigger:
        hist.set_up(folder, event, args.trigger)
    else:
        processes.output.text(process.pid, hist.text_of(folder, event))
