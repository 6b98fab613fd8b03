"""The processes of `record -P`: reaching them all, having them join the recording, and leaving them."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import suppress

from funcgraph.attach.connecting import connect_all
from funcgraph.command_support.messages import CommandError, process_error_text
from funcgraph.command_support.plan_handover import PlanHandover
from funcgraph.command_support.processes import check_named, leave_out
from funcgraph.control.at_once import at_once
from funcgraph.control.client import Connection
from funcgraph.recorder.process import ProcessWatch
from funcgraph.recorder.recording import Recording
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.steering.processes import command_line, has_ended

__all__ = ["RunningProcess", "RunningProcesses", "reach_all"]

#: The ends of messages: no process, or one of them, is not recorded.
_NOTHING, _WITHOUT = "; nothing is recorded", "; it is not recorded"


class RunningProcess:
    """A process that can be asked to join a recording, once it has a connection: reach_all() gives it one.

    Args:
        pid: its id.

    Attributes:
        identity: who it was at the first look.
        command: its command line, for a person.
        connection: to its control socket.

    Raises:
        OSError: there is no such process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.identity = ProcessIdentity.of(pid)
        self.command = command_line(pid)
        self.watch = ProcessWatch(pid)
        self.connection: Connection | None = None

    def join(self, directory: str) -> None:
        """Have it record into a session. That it ends meanwhile is no error: it may have recorded some calls.

        Raises:
            OSError: it cannot, or it is no longer the process that was named; nothing has changed.
        """
        self.identity.check()
        try:
            self._call("record_start", directory=directory)
        except ConnectionError:
            if not self.watch.gone():
                raise

    def leave(self, directory: str) -> None:
        """Have it stop. Does nothing if it has ended, or has no socket any longer.

        Raises:
            OSError: it does not answer.
        """
        if not self.watch.gone():
            with suppress(ConnectionError):
                self._call("record_stop", directory=directory)

    def close(self) -> None:
        """Leave it as it was before, unless somebody else uses its socket by now. Raises nothing."""
        try:
            if self.connection is not None and not self.watch.gone():
                self._call("give_back")
        except (OSError, RuntimeError):
            pass  # it has ended, or does not answer: then it keeps an idle socket
        if self.connection is not None:
            self.connection.close()
        self.watch.close()
        self.identity.close()

    def _call(self, name: str, **arguments: str) -> None:
        assert self.connection is not None
        self.connection.call(name, **arguments)


def reach_all(
    pids: Sequence[int], meanwhile: Callable[[], float] | None = None
) -> Generator[tuple[int, RunningProcess | Exception], None, None]:
    """Yield each process with its connection, or why it cannot be reached: an OSError or AttachError.

    Who they are is noted of all before anything is asked of one.

    Args:
        pids: the processes.
        meanwhile: as of at_once().
    """
    looks = {pid: _first_look(pid) for pid in pids}
    found = [pid for pid, process in looks.items() if isinstance(process, RunningProcess)]
    connections = connect_all(found, borrows=True, meanwhile=meanwhile)
    try:
        for pid in pids:
            process = looks.pop(pid)
            if isinstance(process, RunningProcess):
                _, made = next(connections)
                if isinstance(made, Exception):
                    process.close()
                    yield pid, made
                    continue
                process.connection = made
            yield pid, process
    finally:
        connections.close()
        for left in looks.values():
            if isinstance(left, RunningProcess):
                left.close()


def _first_look(pid: int) -> RunningProcess | Exception:
    try:
        return RunningProcess(pid)
    except OSError as error:
        return error


class RunningProcesses:
    """All processes of one recording.

    Args:
        pids: their ids.
        named: those of them that a user named. The others were found: it goes on without those that end
            meanwhile, or that it cannot record for another reason.

    Raises:
        CommandError: one that was named cannot be reached, or none is left. All are as before then.
    """

    def __init__(self, pids: Sequence[int], named: Container[int]) -> None:
        self.all: list[RunningProcess] = []
        self._named = named
        self._session = ""
        self._plans: PlanHandover | None = None
        errors: dict[int, Exception] = {}
        try:
            for pid, process in reach_all(pids):
                if isinstance(process, RunningProcess):
                    self.all.append(process)
                else:
                    errors[pid] = process
                    check_named({pid: process}, self._named, _NOTHING)
            errors |= {one.pid: ProcessLookupError() for one in self.all if self._has_left(one.pid)}
            self._leave_out(errors)
        except BaseException:
            self.close()
            raise

    def _has_left(self, pid: int) -> bool:
        return pid not in self._named and has_ended(pid)

    def _leave_out(self, errors: Mapping[int, Exception]) -> None:
        """Go on without processes. Raises CommandError as leave_out()."""
        others = [process for process in self.all if process.pid not in errors]
        leave_out(errors, self._named, goes_on=bool(others), nothing=_NOTHING, without=_WITHOUT)
        for process in self.all:
            if process.pid in errors:
                process.close()
        self.all = others

    def join(self, recording: Recording, patterns: Sequence[str]) -> None:
        """Have all of them join the recording, at about the same time.

        Args:
            patterns: of functions, of all instances.

        Raises:
            CommandError: one that was named cannot, or all cannot. None has joined then.
        """
        self._session = recording.session.path
        self._plans = PlanHandover(recording.session, patterns)
        self._request(self.all, self._give_plans, recording.step)
        errors = self._request(self.all, lambda process: process.join(self._session), recording.step)
        try:
            self._leave_out(errors)
        except CommandError:
            self.leave()
            raise

    def add(self, pids: Sequence[int], recording: Recording) -> list[str]:
        """Have further processes join, all at once; return a line for each that cannot."""
        errors: dict[int, Exception] = {}
        reached = []
        for pid, process in reach_all(pids, recording.step):
            if isinstance(process, RunningProcess):
                reached.append(process)
                self.all.append(process)
            elif not self._has_left(pid):
                errors[pid] = process
        self._request(reached, self._give_plans, recording.step)
        errors |= self._request(reached, lambda one: one.join(self._session), recording.step)
        return _not_recorded({pid: errors[pid] for pid in pids if pid in errors})

    def _give_plans(self, process: RunningProcess) -> None:
        if self._plans is not None:
            self._plans.give(process.pid)

    def leave(self) -> list[str]:
        """Have all of them stop; return a line for each that does not answer. It stops at its next call."""
        errors = self._request(self.all, lambda process: process.leave(self._session), None)
        return [
            f"{process_error_text(pid, error)}; it stops recording at its next call"
            for pid, error in errors.items()
        ]

    @property
    def pids(self) -> list[int]:
        """Their ids."""
        return [process.pid for process in self.all]

    def gone(self) -> bool:
        """Return whether all of them have ended."""
        return all(process.watch.gone() for process in self.all)

    def close(self) -> None:
        """Leave all of them as they were before. Raises nothing."""
        self._request(self.all, RunningProcess.close, None)
        self.all.clear()

    @staticmethod
    def _request(
        processes: list[RunningProcess],
        request: Callable[[RunningProcess], None],
        meanwhile: Callable[[], float] | None,
    ) -> dict[int, Exception]:
        """Ask all processes at once; return the error of each that has one.

        Args:
            meanwhile: is called until all have answered, and returns the seconds to pause: a process that
                records already must not wait for us.
        """
        outcomes = at_once(processes, request, meanwhile=meanwhile)
        return {one.pid: error for one, error in outcomes if isinstance(error, Exception)}


def _not_recorded(errors: Mapping[int, Exception]) -> list[str]:
    return [process_error_text(pid, error) + _WITHOUT for pid, error in errors.items()]
