"""The processes and the instances of a command: the flags -P, -B, -a and -t, and what is said of a process
that ended."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

from funcgraph.attach.connecting import connect_all
from funcgraph.attach.errors import AttachError
from funcgraph.command_support.messages import (
    CommandError,
    print_message,
    process_error_lines,
    process_error_text,
)
from funcgraph.command_support.parser import Common, Option
from funcgraph.command_support.settings import check_instance
from funcgraph.control.answer_limit import CommandLimit, Share
from funcgraph.control.at_once import at_once
from funcgraph.steering.children import descendants
from funcgraph.steering.folder import InstanceFolder, Process
from funcgraph.steering.output import Output
from funcgraph.steering.processes import NoProcessError, ended_text, find, has_ended, named, owner

__all__ = [
    "ALL_USERS",
    "Processes",
    "add_instance_names",
    "add_instances",
    "add_processes",
    "check_named",
    "chosen",
    "folders",
    "lane_file",
    "leave_out",
    "named_folders",
]


ALL_USERS = "all processes that can be steered already"
_Result = TypeVar("_Result")
#: What a process can be the cause of. Any other error is a fault of ours.
_REASONS = (OSError, ValueError, CommandError)
_OWN = "those of this user's processes that can be steered already"


def add_processes(parser: argparse.ArgumentParser, without: str = _OWN) -> None:
    """Add -P and --children, for `chosen`.

    Args:
        without: what a command without -P is for. By default also --all-users is added: root must not change
            other users' processes unless told so. ALL_USERS is for commands that change nothing.
    """
    parser.add_argument(
        "-P",
        dest="processes",
        metavar="PID",
        action="append",
        default=[],
        help=Common(
            "the process: its id, ids with commas, or an expression that its command line matches (as pgrep "
            f"-f); may be repeated (default: {without})"
        ),
    )
    parser.add_argument(
        "--children", action="store_true", help="also the Python processes that descend from these now"
    )
    if without is _OWN:
        parser.add_argument(
            "--all-users", action="store_true", help="without -P: also other users' processes, for root"
        )


def chosen(args: argparse.Namespace) -> list[int]:
    """Return the processes that -P and --children name, each once; without -P, all that have a socket.

    Raises:
        CommandError: there is no such process.
    """
    is_own = not args.processes and not getattr(args, "all_users", True)
    try:
        pids = find(args.processes, _own if is_own else _running)
    except NoProcessError as error:
        raise CommandError(str(error)) from None
    return [*pids, *descendants(pids)] if args.children else pids


def add_instance_names(parser: argparse.ArgumentParser, help: str) -> None:
    """Add -B alone, for `named_folders`."""

    def add_name(parser: argparse.ArgumentParser, namespace: argparse.Namespace, name: str) -> None:
        check_instance(parser, name)
        namespace.instances = [*namespace.instances, name]

    parser.add_argument(
        "-B",
        dest="instances",
        metavar="NAME",
        action=Option,
        take=add_name,
        default=[],
        help=f"{help}; may be repeated",
    )


def add_instances(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add -B, -a and -t, for `folders`."""
    add_instance_names(parser, f"{verb} this instance, and the top one only with -t")
    add = parser.add_argument
    add("-a", dest="all_instances", action="store_true", help=f"{verb} all instances but the top one")
    add("-t", dest="top", action="store_true", help=f"{verb} the top instance; needed only with -B or -a")


def folders(process: Process, args: argparse.Namespace) -> list[InstanceFolder]:
    """Return the instances of a process that -B, -a and -t name; none of them: the top one.

    Raises:
        CommandError: the process has no instance of that name.
    """
    names = [""] if args.top or not (args.instances or args.all_instances) else []
    names += args.instances
    if args.all_instances:
        names += process.instances()
    return named_folders(process, names)


def named_folders(process: Process, names: Sequence[str]) -> list[InstanceFolder]:
    """Return instances of a process by name, each once; "": the top one.

    Raises:
        CommandError: the process has no instance of that name.
    """
    there = process.instances() if any(names) else []
    for name in filter(None, names):
        if name not in there:
            raise CommandError(f"-B {name}: no such instance: there is {', '.join(there) or 'none'}")
    return [process.instance(name) for name in dict.fromkeys(names)]


def lane_file(folder: InstanceFolder, file: str, lane: int | None) -> str:
    """Return the path in an instance of a file, or of the file of one lane.

    Raises:
        CommandError: there is no such lane.
    """
    if lane is None:
        return file
    lanes = sorted(int(name.removeprefix("cpu")) for name in folder.names("per_cpu"))
    if lane not in lanes:
        raise CommandError(f"-c {lane}: no such lane: there is {', '.join(map(str, lanes))}")
    return f"per_cpu/cpu{lane}/{file}"


class Processes:
    """The processes of one command, which are asked at the same time. What one of them cannot do is one line,
    and the others go on.

        with Processes(args) as processes:
            processes.each(lambda process: ...)
            return processes.status

    Args:
        args: the options of add_processes().
            Their COMMAND, if they have one, can be run.
        leave_nothing: detach in the end from processes that were attached for this.

    Attributes:
        count: how many processes were asked for: those that were found and have ended do not count.
        output: where their texts are printed.

    Raises:
        CommandError: there is no such process, or no such COMMAND.
    """

    def __init__(self, args: argparse.Namespace, *, leave_nothing: bool = False) -> None:
        self._leave_nothing = leave_nothing
        _check_command(getattr(args, "command", ()))
        pids = chosen(args)
        self.count = len(pids)
        self._named = named(args.processes)
        self._failed: set[int] = set()
        self._living: list[Process] = []
        self._refused: list[Process] = []
        self._lines: defaultdict[int, list[str]] = defaultdict(list)
        self._limit = CommandLimit()
        round = self._limit.round(len(pids))
        is_late = False
        for pid, process in _connect(pids, borrows=leave_nothing):
            is_late |= isinstance(process, TimeoutError)
            if isinstance(process, Process):
                self._living.append(process)
            elif self._has_left(pid):
                self.count -= 1
            else:
                self.fail(pid, process)
        if is_late:
            self._limit.lose(round.waited_s())
        left = len(pids) - self.count
        if left:
            print_message(ended_text(left))
        self.output = Output(pids)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        everyone = [*self._living, *self._refused]
        self.quietly(everyone, lambda process: process.close(give_back=self._leave_nothing))

    @property
    def living(self) -> list[Process]:
        """Those that can be asked something: connected, and not dropped."""
        return list(self._living)

    def each(
        self, action: Callable[[Process], _Result], among: Callable[[Process], bool] = lambda process: True
    ) -> dict[Process, _Result]:
        """Do something with each, at the same time. All together have the time limit of one answer.

        One that fails is no longer `living`, and a line says why. One that has refused something can still be
        left as it was; one that does not answer cannot. Texts are printed in the order of the processes.

        Args:
            action: what to do. It runs in several threads; what it prints, it prints with output.text() and
                message().
            among: which of the living ones.

        Returns:
            The result of each in which it was done, in their order.
        """
        chosen = list(filter(among, self._living))
        done: dict[Process, _Result] = {}
        self.output.hold(process.pid for process in chosen)
        try:
            for process, share, result in self._ask(chosen, action):
                self._print(process, share)
                if isinstance(result, _REASONS):
                    self._drop(process, result)
                elif isinstance(result, BaseException):
                    raise result
                else:
                    done[process] = result
        finally:
            self.output.hold(())
        return done

    def quietly(self, processes: Sequence[Process], action: Callable[[Process], object]) -> None:
        """Do something with connected processes at the same time, and say nothing of what one cannot do."""
        for _, _, result in self._ask(processes, action):
            if isinstance(result, BaseException) and not isinstance(result, _REASONS):
                raise result

    def message(self, process: Process, line: str) -> None:
        """Say something about a process on standard error when it is its turn."""
        self._lines[process.pid].append(line)

    def _ask(
        self, processes: Sequence[Process], action: Callable[[Process], _Result]
    ) -> Iterator[tuple[Process, Share, _Result | BaseException]]:
        """Do something with processes at the same time; yield each with what it had and its result.

        One alone keeps nobody waiting: each of its answers has a limit of its own.
        """
        round = self._limit.round(len(processes))
        shares = {process: round.share() for process in processes}
        if len(processes) > 1:
            for process in processes:
                process.tree.limit(shares[process])
        is_late = False
        try:
            # After an interrupt, what does not answer is left, so that its thread ends.
            for process, result in at_once(processes, action, abandon=Process.close):
                is_late |= isinstance(result, TimeoutError)
                yield process, shares[process], result
        finally:
            for process in processes:
                process.tree.limit(None)
            if is_late:
                self._limit.lose(round.waited_s())

    def _print(self, process: Process, share: Share) -> None:
        for line in self._lines.pop(process.pid, ()):
            print_message(line)
        self.output.release(process.pid)
        share.release()

    def _drop(self, process: Process, error: Exception) -> None:
        self.fail(process.pid, error)
        self._living.remove(process)
        if isinstance(error, (ConnectionError, TimeoutError)):
            process.close()
        else:
            self._refused.append(process)

    def _has_left(self, pid: int) -> bool:
        """Return whether a process has ended that nobody named: then it counts as never found."""
        return pid not in self._named and has_ended(pid)

    def fail(self, pid: int, error: Exception) -> None:
        """Say why a process could not do what it was asked."""
        if self._has_left(pid):
            self.count -= 1
        else:
            self._failed.add(pid)
        lines = [f"process {pid}: has ended"] if has_ended(pid) else process_error_lines(pid, error)
        for line in lines:
            print_message(line)

    @property
    def refused(self) -> list[Process]:
        """Those that are connected, and have refused something."""
        return list(self._refused)

    @property
    def status(self) -> int:
        """The exit status: 0: all did what was asked; 1: some did; 2: none."""
        if not self._failed:
            return 0 if self.count else 2
        return 1 if len(self._failed) < self.count else 2


def _check_command(command: object) -> None:
    """Refuse a COMMAND that there is not, before any process is asked for anything."""
    if not isinstance(command, list) or not command:  # `hist` has another option of that name
        return
    from funcgraph.recorder.child import NotStartedError, resolve

    try:
        resolve(command)
    except NotStartedError as error:
        raise CommandError(str(error), error.status) from None


def _running() -> list[int]:
    from funcgraph.control import processes

    return processes.running()


def _own() -> list[int]:
    return [pid for pid in _running() if owner(pid) == os.geteuid()]


def _connect(pids: Sequence[int], *, borrows: bool) -> Iterator[tuple[int, Process | Exception]]:
    """Yield each process, connected, or why it is not."""
    for pid, made in connect_all(pids, borrows=borrows):
        if isinstance(made, AttachError):
            yield pid, CommandError(made.reason)
        else:
            yield pid, made if isinstance(made, Exception) else Process(pid, made)


def check_named(errors: Mapping[int, Exception], named: Container[int], nothing: str = "") -> None:
    """Check that no process that a user named has failed.

    Args:
        errors: processes, with why they cannot be reached.
        named: those that a user named.
        nothing: the end of the message.

    Raises:
        CommandError: one has.
    """
    for pid, error in errors.items():
        if pid in named:
            raise CommandError(process_error_text(pid, error) + nothing)


def leave_out(
    errors: Mapping[int, Exception],
    named: Container[int],
    *,
    goes_on: bool,
    nothing: str = "",
    without: str,
) -> None:
    """Say which processes a command goes on without: found ones alone. Those that have ended are counted.

    Args:
        errors, named, nothing: as of check_named().
        goes_on: whether any process is left.
        without: the end of the line about each.

    Raises:
        CommandError: one was named, or none is left.
    """
    check_named(errors, named, nothing)
    lines = [process_error_text(pid, error) for pid, error in errors.items() if not has_ended(pid)]
    ended = ended_text(len(errors) - len(lines))
    if errors and not goes_on:
        raise CommandError((lines[0] if lines else ended) + nothing)
    for line in lines:
        print_message(line + without)
    if len(lines) < len(errors):
        print_message(ended)
