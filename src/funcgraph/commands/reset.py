"""`funcgraph reset`: make running processes as they were before tracing."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from funcgraph.command_support.processes import Processes, add_processes, named_folders
from funcgraph.command_support.settings import check_instance
from funcgraph.steering import reset as steering
from funcgraph.steering.folder import Process

NAME = "reset"
HELP = "make running processes as they were before tracing"
DESCRIPTION = """\
Reset the top instance: no tracer, no event, no filter, no function profiler, the default options, clock and
buffer size, an empty buffer. Other instances stay as they are: -B and -a reset them, -d deletes them.

The order of the options matters, as with trace-cmd: -b and -d are for the -B, -a or -t before them."""


@dataclass
class _Part:
    """What is to be reset.

    Attributes:
        name: the instance; "": the top one; None: all but the top one.
        buffer_kb: its size afterwards; None: the default.
        is_deleted: it goes.
    """

    name: str | None = ""
    buffer_kb: int | None = None
    is_deleted: bool = False


class _InOrder(argparse.Action):
    """-B, -a, -t: another part; -b, -d: of the part before."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        parts = list(namespace.parts)
        if option_string in ("-b", "-d") and not parts:
            parts.append(_Part())
        if option_string == "-b":
            if values < 1:
                parser.error(f"argument -b: invalid size {values}: must be 1 or more, in KiB")
            parts[-1].buffer_kb = values
        elif option_string == "-d":
            if parts[-1].name == "":
                parser.error("argument -d: the top instance cannot be deleted: must come after -B or -a")
            parts[-1].is_deleted = True
        else:
            if option_string == "-B":
                check_instance(parser, values)
            parts.append(_Part({"-B": values, "-a": None, "-t": ""}[str(option_string)]))
        namespace.parts = parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    for flag, metavar, text in (
        ("-B", "NAME", "reset this instance, and the top one only with -t; may be repeated"),
        ("-a", "", "reset all instances but the top one"),
        ("-t", "", "reset the top instance; needed only with -B or -a"),
        ("-b", "KB", "the size of the buffer afterwards"),
        ("-d", "", "delete the instances of the -B or -a before"),
    ):
        keywords: dict[str, Any] = {"metavar": metavar} if metavar else {"nargs": 0}
        if flag == "-b":
            keywords["type"] = int
        parser.add_argument(flag, dest="parts", action=_InOrder, help=text, **keywords)
    parser.add_argument(
        "-k",
        dest="kept_kinds",
        metavar="KIND",
        action="append",
        default=[],
        choices=tuple(steering.DYNAMIC_EVENTS),
        help=f"keep dynamic events of this kind: {', '.join(steering.DYNAMIC_EVENTS)}; may be repeated",
    )
    parser.set_defaults(parts=())


def run(args: argparse.Namespace) -> int:
    """Reset each process."""
    parts = args.parts or [_Part()]

    def reset(process: Process) -> None:
        deleted = []
        for part in parts:
            names = process.instances() if part.name is None else [part.name]
            for folder in named_folders(process, names):
                steering.reset(folder, part.buffer_kb)
                deleted += [folder] * part.is_deleted
        steering.reset_dynamic_events(process, args.kept_kinds)
        for folder in deleted:
            folder.remove()
        process.instance().write("error_log", "")

    with Processes(args) as processes:
        processes.each(reset)
        return processes.status
