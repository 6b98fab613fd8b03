"""funcgraph mount: tracefs of running processes as a folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Container

from funcgraph.attach.connecting import connected
from funcgraph.attach.errors import AttachError
from funcgraph.command_support.messages import CommandError, os_error_text
from funcgraph.command_support.processes import add_processes, check_named, chosen, leave_out
from funcgraph.mount.background import in_background
from funcgraph.mount.ending import when_all_ended
from funcgraph.mount.libfuse import MissingError
from funcgraph.mount.mountpoint import MountError, prepare
from funcgraph.mount.process import ProcessTree
from funcgraph.mount.processes import Processes
from funcgraph.mount.serving import OPTIONS, serve, stop
from funcgraph.steering.processes import named
from funcgraph.tracefs.interface import Tree

NAME = "mount"
HELP = "mount the tracefs of running processes at a folder"
DESCRIPTION = """\
Mount the tracefs of running processes at a folder, by FUSE (pip install 'funcgraph[mount]').

  funcgraph mount /mnt/t -P 4711    the files of process 4711: /mnt/t/current_tracer ...
  funcgraph mount /mnt/t -P gunicorn --children   a folder for each of them: /mnt/t/4711/ ...
  funcgraph mount /mnt/t            a folder for each process with a control socket: /mnt/t/4711/ ...

It goes to the background once the mount works. 'umount /mnt/t' or 'fusermount3 -u /mnt/t' ends it; so does
the end of all processes that -P names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("folder", metavar="DIR", help="an existing folder")
    add_processes(parser, "each process that has a control socket, as they come and go")
    parser.add_argument("-f", dest="foreground", action="store_true", help="stay in the foreground")
    parser.add_argument(
        "-o",
        dest="options",
        metavar="OPTION",
        action="append",
        choices=OPTIONS,
        default=[],
        help=f"an option of the mount: {', '.join(OPTIONS)}; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Mount, and serve the mount."""
    if args.children and not args.processes:
        raise CommandError("--children: of which processes? Give them with -P")
    pids = chosen(args) if args.processes else []
    folder = os.path.abspath(args.folder)

    def work(started: Callable[[], None]) -> None:
        _serve(args, pids, folder, started)

    try:
        if args.foreground:
            work(lambda: None)
        else:
            in_background(work, _message)
    except (MountError, MissingError) as error:
        raise CommandError(str(error)) from None
    return 0


def _serve(args: argparse.Namespace, pids: list[int], folder: str, started: Callable[[], None]) -> None:
    trees = _process_trees(pids, named(args.processes))
    prepare(folder)

    def begin() -> None:
        if trees:
            when_all_ended([tree.pid for tree in trees], stop)
        started()

    source = ",".join(str(tree.pid) for tree in trees) or "processes"
    serve(_tree_of(trees), folder, source.replace(",", "+"), args.options, begin)


def _tree_of(trees: list[ProcessTree]) -> Tree:
    """Return what to mount: the tree of one process, or a folder for each."""
    if len(trees) == 1:
        return trees[0]
    if not trees:
        from funcgraph.control.processes import running

        return Processes(running, ProcessTree)
    by_pid = {tree.pid: tree for tree in trees}

    def open_again(pid: int) -> ProcessTree:
        if pid not in by_pid:
            raise ProcessLookupError
        return ProcessTree(pid)

    return Processes(lambda: [tree.pid for tree in trees if not tree.has_ended()], open_again, by_pid)


def _process_trees(pids: list[int], named: Container[int]) -> list[ProcessTree]:
    """Return the trees of processes; those that were found, not named, are left out if they have none.

    One without a control socket is attached to.

    Raises:
        CommandError: one that was named cannot be attached to, or none is left.
    """
    trees: list[ProcessTree] = []
    errors: dict[int, Exception] = {}
    for pid in pids:
        try:
            trees.append(ProcessTree(pid, connected(pid, borrows=False)))
        except (OSError, AttachError) as error:
            errors[pid] = error
            check_named({pid: error}, named)
    leave_out(errors, named, goes_on=bool(trees), without="; it is not in the mount")
    return trees


def _message(error: Exception) -> str:
    return os_error_text(error) if isinstance(error, OSError) else str(error)
