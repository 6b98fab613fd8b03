"""`funcgraph record -P`: record processes that already run, for as long as a command runs or until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import funcgraph
from funcgraph.command_support.messages import CommandError, print_message
from funcgraph.command_support.recording import Ending, close, environment, follow, give_up, prepare
from funcgraph.command_support.running import RunningProcesses
from funcgraph.control.processes import running
from funcgraph.recorder.child import Child, NotStartedError, occupy_standard_descriptors, resolve
from funcgraph.recorder.descriptor_limit import raise_descriptor_limit
from funcgraph.recorder.progress import ProgressLine
from funcgraph.recorder.reach import Reach, ReachError
from funcgraph.recorder.recording import Recording
from funcgraph.recorder.until_signal import UntilSignal
from funcgraph.session.options import describe
from funcgraph.session.output import check_output
from funcgraph.steering.children import descendants
from funcgraph.steering.processes import NoProcessError, ancestors, command_line, find, is_python, named

__all__ = ["run"]

_SHOWN = 100  # characters of a command line
_REFUSED = {
    "or_untraced": "--or-untraced: not with -P: the processes run already",
    "isolated": "--isolated: not with -P: the processes run already",
}


class _UntilGone:
    """The end of a recording, or of all that it could record.

    Args:
        ending: what ends the recording.

    Attributes:
        are_gone: no process records any longer: they have ended, or were detached.
    """

    def __init__(self, ending: Ending, recording: Recording, processes: RunningProcesses) -> None:
        self._ending = ending
        self._recording = recording
        self._processes = processes
        self.are_gone = False

    @property
    def received(self) -> list[int]:
        return self._ending.received

    def wait(self, pause_s: float) -> bool:
        have_begun = self._recording.attached >= len(self._processes.all)
        self.are_gone = not self._recording.running() and (have_begun or self._processes.gone())
        return self.are_gone or self._ending.wait(pause_s)


def run(args: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Record the processes of -P; return 0, or 2 if nothing was recorded."""
    _check(args, settings)
    command = _resolved(args.command)
    occupy_standard_descriptors()
    output = check_output(args.output)
    raise_descriptor_limit()
    with _until_left(RunningProcesses(_pids(args), named(args.processes))) as processes:
        recording = _prepared(processes, settings, output, args)
        ending = _begin(processes, recording, settings, args, command)
        progress = ProgressLine(not args.quiet)
        try:
            good = _record(ending, processes, recording, output, settings, args, progress)
        except Exception as error:  # whatever fails here: the processes go on
            progress.close()
            give_up(recording, error)
            good = False
    if isinstance(ending, Child):
        ending.wait_for_end()
    return 0 if good else 2


def _check(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    for name, reason in _REFUSED.items():
        if getattr(args, name):
            raise CommandError(reason)
    if args.children and not settings["follow_fork"]:
        raise CommandError("--no-follow: not with --children")
    settings["follow_fork"] = args.children
    settings["control"] = False  # they have sockets; what they start needs none afterwards


def _resolved(command: list[str]) -> tuple[str, list[str]] | None:
    try:
        return resolve(command) if command else None
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None


def _pids(args: argparse.Namespace) -> list[int]:
    try:
        pids = find(args.processes, running)
    except NoProcessError as error:
        listing = _listing()
        end = "; there are:" if listing else "; there is none at all"
        raise CommandError(f"{error}{end}", below=listing) from None
    return [*pids, *descendants(pids)] if args.children else pids


def _listing() -> list[str]:
    """Return a line for each Python process that there is."""
    own = ancestors(os.getpid())
    pids = [pid for pid in sorted(map(int, filter(str.isdecimal, os.listdir("/proc")))) if pid not in own]
    return [f"  {pid}  {command_line(pid)[:_SHOWN]}" for pid in pids if is_python(pid)]


def _prepared(
    processes: RunningProcesses, settings: dict[str, Any], output: str, args: argparse.Namespace
) -> Recording:
    """Make the session where all processes find it.

    Raises:
        CommandError: there is no such place.
    """
    try:
        reach = Reach.of_all([process.identity for process in processes.all])
    except ReachError as error:
        raise CommandError(str(error)) from None
    return prepare(settings, output, _words(args), reach)


def _words(args: argparse.Namespace) -> list[str]:
    """Return what is recorded, as a person typed it."""
    words = [word for value in args.processes for word in ("-P", value)]
    return [
        *words,
        *(["--children"] if args.children else []),
        *(["--", *args.command] if args.command else []),
    ]


@contextmanager
def _until_left(processes: RunningProcesses) -> Iterator[RunningProcesses]:
    try:
        yield processes
    finally:
        processes.close()


def _begin(
    processes: RunningProcesses,
    recording: Recording,
    settings: dict[str, Any],
    args: argparse.Namespace,
    command: tuple[str, list[str]] | None,
) -> Ending:
    """Have all processes join, then start the command; return what ends the recording. If one of these fails,
    all is as before."""
    own = (signal.SIGUSR2,) if recording.limits.ring else ()
    # A signal that comes while the processes join ends the recording when they have.
    until_signal = UntilSignal(own) if command is None else None
    try:
        processes.join(recording, _patterns(settings))
        if args.children:
            # Those that were started while their parents had not joined yet.
            for line in processes.add(_newcomers(processes), recording):
                print_message(line)
        if command is None:
            assert until_signal is not None
            return until_signal
        return Child(*command, environment(), own)
    except BaseException as error:
        processes.leave()
        recording.discard()
        recording.session.remove()
        if isinstance(error, NotStartedError):
            raise CommandError(str(error), error.status) from None
        raise


def _patterns(settings: dict[str, Any]) -> list[str]:
    instances = settings["instances"]
    patterns = [pattern for instance in instances for pattern in instance["filter"]]
    if events := [event for instance in instances for event in instance["events"]]:
        from funcgraph.events.recording_events import native_patterns  # only now: it imports much

        patterns += native_patterns(events)
    return patterns


def _newcomers(processes: RunningProcesses) -> list[int]:
    return [pid for pid in descendants(processes.pids) if pid not in processes.pids]


def _record(
    ending: Ending,
    processes: RunningProcesses,
    recording: Recording,
    output: str,
    settings: dict[str, Any],
    args: argparse.Namespace,
    progress: ProgressLine,
) -> bool:
    """Record until the end, and make the trace; return whether it is complete."""
    until = _UntilGone(ending, recording, processes)
    commands = {str(process.pid): process.command for process in processes.all}
    lines: list[str] = []
    try:
        reached, _ = follow(until, recording, progress, 0.0, lambda: lines.extend(processes.leave()))
    except BaseException:
        processes.leave()
        raise
    if reached is not None:
        print_message(f"{reached}: the recording ends")
    elif until.are_gone and isinstance(ending, Child):
        print_message("no process records any longer: the recording ends")
    meta = {"funcgraph": funcgraph.__version__, **describe(settings), "command": _words(args)}
    meta["processes"] = commands
    progress.show(f"writing {output}")
    more_lines, good = close(recording, output, settings, meta, [], quiet=args.quiet)
    progress.close()
    for line in (*lines, *more_lines):
        print_message(line)
    return good
