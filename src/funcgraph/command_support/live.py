"""What the commands that watch running processes have in common: when they end, and lines as they come."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.processes import Processes
from funcgraph.control.answer_limit import AnswerLimit
from funcgraph.recorder.until_signal import UntilSignal
from funcgraph.steering.folder import InstanceFolder, Process
from funcgraph.steering.pipe import TRACE_PIPE, Pipe
from funcgraph.steering.reset import reset

__all__ = ["End", "follow", "run_command", "temporary"]

POLL_S = 0.02  # between two looks whether a process has lines


class End:
    """When to stop watching: at the end of COMMAND, or if there is none at Ctrl-C, SIGTERM or SIGHUP.

    Args:
        command: the words of COMMAND, which is started now; empty: none.

    Raises:
        CommandError: it cannot be started.
    """

    def __init__(self, command: Sequence[str] = ()) -> None:
        self._child = _start(command) if command else None
        self._signal = UntilSignal()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, at most so long; return whether it has come."""
        if self._signal.wait(seconds):
            return True
        return self._child is not None and self._child.poll() is not None


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    from funcgraph.recorder.child import NotStartedError, resolve

    try:
        path, words = resolve(list(command))
        return subprocess.Popen(words, executable=path)
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None


def run_command(command: Sequence[str]) -> None:
    """Run COMMAND to its end, if there is one."""
    if command:
        _start(command).wait()


@contextmanager
def temporary(processes: Processes, name: str) -> Iterator[dict[Process, InstanceFolder]]:
    """Make an instance of this name in each process, and remove it in the end, whatever happened.

    One that is there already is used, and reset in the end.
    """
    used: dict[Process, InstanceFolder] = {}
    present: set[Process] = set()

    def make(process: Process) -> None:
        folder = process.instance(name)
        if folder.exists():
            present.add(process)
        else:
            folder.make()
        used[process] = folder

    def leave(process: Process) -> None:
        if process not in used:
            return
        if process in present:
            reset(used[process])
        else:
            used[process].remove()

    try:
        processes.each(make)
        yield used
    finally:
        refused = processes.refused
        processes.each(leave)
        processes.quietly(refused, leave)  # why has been said


def follow(
    processes: Processes,
    folder_of: Callable[[Process], InstanceFolder],
    end: Callable[[float], bool],
    *,
    file: str = TRACE_PIPE,
    stop: bool = True,
) -> None:
    """Print the lines of an instance of each process as they come, until `end` says so.

    Args:
        file: the pipe, as Pipe has it.
        stop: then the instances stop recording, and what they still have is printed.
    """
    pipes: dict[Process, Pipe] = {}

    def open_pipe(process: Process) -> None:
        pipes[process] = Pipe(folder_of(process), file)

    try:
        processes.each(open_pipe)
        while not end(0 if _print_lines(processes, pipes) else POLL_S):
            if all(pipes[process].has_ended for process in processes.living):
                break
        if stop:
            processes.each(lambda process: folder_of(process).write("tracing_on", "0"))
            _drain(processes, pipes)
    finally:
        processes.each(lambda process: pipes[process].close(), pipes.__contains__)


def _drain(processes: Processes, pipes: dict[Process, Pipe]) -> None:
    """Print what the processes still have. One that says that it has more and more is dropped."""
    limits = {process: AnswerLimit("what it still has") for process in processes.living}
    texts: dict[int, str] = {}

    def take(process: Process) -> None:
        limits[process].take(len(texts.get(process.pid, "")))

    while texts := _print_lines(processes, pipes, is_reported=False):
        processes.each(take)


def _print_lines(
    processes: Processes, pipes: dict[Process, Pipe], is_reported: bool = True
) -> dict[int, str]:
    """Print what has come from each process; return the texts of those from which something has.

    Args:
        is_reported: only of processes that reported lines; False: of all.
    """

    def has_some(process: Process) -> bool:
        pipe = pipes[process]
        return not pipe.has_ended and not (is_reported and pipe.is_quiet())

    def read(process: Process) -> str:
        pipe = pipes[process]
        text = pipe.lines() if not is_reported or pipe.has_news() else ""
        processes.output.text(process.pid, text)
        return text

    texts = {process.pid: text for process, text in processes.each(read, has_some).items() if text}
    processes.output.flush()
    return texts
