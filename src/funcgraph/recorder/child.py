"""The traced command: finding it, starting it as a shell would, forwarding its signals, its exit status."""

from __future__ import annotations

import errno
import math
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NoReturn

from funcgraph.recorder.witness import GroupWitness
from funcgraph.rights.identity import pidfd_or_none

__all__ = ["Child", "NotStartedError", "become", "die_like", "occupy_standard_descriptors", "resolve"]

# Forwarded to the command when they are sent to the recorder alone.
FORWARDED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
BLOCKED = frozenset((*FORWARDED, signal.SIGCHLD))

# A command that stays stopped this long while we run was stopped alone: Ctrl-Z would have stopped us too.
STOPPED_ALONE_S = 0.1

# A command that still runs so long after the second SIGTERM is left alone.
STUBBORN_S = 2.0

# How late a signal may be forwarded once nothing is recorded any longer.
UNTRACED_PAUSE_S = 0.05


class NotStartedError(Exception):
    """The command cannot be executed.

    Args:
        message: one line.
        status: a shell's exit status for it: 127 for not found, 126 for not executable.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def _looks_like_python(path: str) -> bool:
    """Return whether a file without execute permission is a Python program: source, archive or folder."""
    if os.path.isdir(path):
        return os.path.isfile(f"{path}/__main__.py")
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    if text.startswith(b"PK\x03\x04") or path.endswith((".pyc", ".pyz")):
        return True
    if text.startswith(b"#!"):
        return b"python" in text.partition(b"\n")[0]
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def resolve(command: Sequence[str]) -> tuple[str, list[str]]:
    """Return the file to execute for `command` and the program's argument vector.

    A script (FILE.py, or Python source that is not executable), `-m MODULE` and `-c CODE` run with the
    Python that runs this code. Any other command is looked up as a shell does.

    Raises:
        NotStartedError: the file does not exist, or cannot be executed.
    """
    first = command[0]
    python = [sys.executable, *command]
    if first in ("-m", "-c"):
        if len(command) == 1:
            raise NotStartedError(
                f"{first}: a {'module' if first == '-m' else 'piece of code'} must follow", 2
            )
        return sys.executable, python
    there = os.path.exists(first)
    if first.endswith(".py") and there:
        return sys.executable, python
    found = shutil.which(first)
    if found is not None:
        return found, list(command)
    if there and _looks_like_python(first):
        return sys.executable, python
    if os.sep not in first:
        raise NotStartedError(f"{first}: command not found", 127)
    if not there:
        raise NotStartedError(f"{first}: no such file", 127)
    raise NotStartedError(
        f"{first}: {'is a directory' if os.path.isdir(first) else 'permission denied'}", 126
    )


def occupy_standard_descriptors() -> None:
    """Open /dev/null for each standard stream that our parent process has closed.

    Otherwise a file that we open later gets the number of a standard stream. The command still sees the
    stream closed: these descriptors are closed by exec.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


class Child:
    """The command as our child, in our process group and on our terminal.

    The terminal signals the command directly, so the recorder ignores those signals. Once a Child has been
    made, the signals in BLOCKED stay blocked in this process, and wait() takes them.

    Args:
        path: the file to execute.
        argv: its arguments, argv[0] included.
        environment: its environment.
        own: signals that are for the recorder: those sent to it alone are not forwarded.
        before_exec: called in the command's process, before it is executed.

    Attributes:
        received: the signals of `own` that were received.
        is_left: it ignores SIGTERM, so nobody waits for its end.

    Raises:
        NotStartedError: it cannot be executed.
        OSError: there is no process for it; the signals are as before.
    """

    def __init__(
        self,
        path: str,
        argv: list[str],
        environment: Mapping[str, str],
        own: Collection[signal.Signals] = (),
        before_exec: Callable[[], object] = lambda: None,
    ) -> None:
        self._own = own
        self.received: list[int] = []
        self.status: int | None = None  # exit status, or the negative signal number; None while it runs
        self._stopped_since: float | None = None
        self.is_left = False
        self._terminations = 0
        self._leave_at = math.inf
        inherited = {number: signal.getsignal(number) for number in BLOCKED}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        # We inherit SIGCHLD from our parent. If it is ignored, the kernel discards the child's exit status.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        witness = None
        try:
            self._witness = witness = GroupWitness(FORWARDED)
            error_read, error_write = os.pipe()
            self.pid = os.fork()
        except OSError as error:  # a limit of processes or descriptors
            if witness is not None:
                witness.close()
            signal.signal(signal.SIGCHLD, inherited[signal.SIGCHLD] or signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            reason = f"no process can be started beside the recorder: {error.strerror}"
            raise OSError(error.errno, reason) from None
        if self.pid == 0:
            try:
                os.close(error_read)
                before_exec()
                _become(path, argv, environment, inherited, mask)
            except OSError as error:
                os.write(error_write, str(error.errno).encode())
            finally:
                os._exit(127)
        os.close(error_write)
        self._pidfd = pidfd_or_none(self.pid)
        with os.fdopen(error_read, "rb") as pipe:  # closed by a successful exec
            failure = pipe.read()
        if failure:
            os.waitpid(self.pid, 0)
            self._witness.close()
            raise _not_started(argv[0], int(failure))

    def wait(self, pause_s: float) -> bool:
        """Wait until the command ends, at most `pause_s` seconds; return whether it has ended, or is left.

        Signals that were sent to the recorder alone are forwarded.
        """
        self._pause(pause_s)
        # Only with a timeout of 0. If a stop interrupts CPython's sigtimedwait just before its timeout
        # ends, it returns its uninitialized result.
        while (info := signal.sigtimedwait(BLOCKED, 0)) is not None:
            if info.si_signo != signal.SIGCHLD and not self._poll():
                self._forward(info.si_signo, info.si_pid)
        self.is_left = not self._poll() and time.monotonic() > self._leave_at
        if self.status is not None or self.is_left:
            self._witness.close()
            return True
        self._mirror_stop()
        return False

    def _pause(self, pause_s: float) -> None:
        """Sleep at most so long, and not beyond the command's end."""
        if self._pidfd is None:
            time.sleep(pause_s)
        else:
            select.select([self._pidfd], [], [], pause_s)

    def wait_for_end(self) -> None:
        """Wait until the command ends or is left, as wait() does."""
        while self.status is None and not self.is_left:
            self.wait(UNTRACED_PAUSE_S)

    def _forward(self, number: int, sender: int) -> None:
        if number in self._own and not self._witness.saw(number):
            self.received.append(number)
            return
        # A signal that the command sent to its parent is not for the command.
        if sender != self.pid and not self._witness.saw(number) and not self._poll():
            os.kill(self.pid, number)
            self._terminations += number == signal.SIGTERM
            if number == signal.SIGTERM and self._terminations == 2:
                self._leave_at = time.monotonic() + STUBBORN_S

    def _poll(self) -> bool:
        while self.status is None:
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
            if result is None:
                return False
            if result.si_code == os.CLD_EXITED:
                self.status = result.si_status
            elif result.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
                self.status = -result.si_status
            elif result.si_code in (os.CLD_STOPPED, os.CLD_TRAPPED):
                self._stopped_since = time.monotonic()
            else:
                self._stopped_since = None
        return True

    def _mirror_stop(self) -> None:
        """Stop when the command was stopped alone, so that an interactive shell notices; continue with it.

        Only as the terminal's foreground job: otherwise nobody may continue us.
        """
        if self._stopped_since is None or time.monotonic() - self._stopped_since < STOPPED_ALONE_S:
            return
        self._stopped_since = None
        try:
            terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            return
        try:
            foreground = os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
        if foreground and not self._poll():
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(self.pid, signal.SIGCONT)


def _become(
    path: str,
    argv: list[str],
    environment: Mapping[str, str],
    inherited: Mapping[signal.Signals, object],
    mask: set[signal.Signals] | set[int],
) -> NoReturn:
    """Restore the signal state that a shell would have given the command, then execute it.

    Signals that were ignored stay ignored (nohup, background jobs). Python ignores SIGPIPE and SIGXFSZ at
    its start and does not keep their previous state, so they get the default, as in subprocess.
    """
    for number, handler in inherited.items():
        signal.signal(number, signal.SIG_IGN if handler is signal.SIG_IGN else signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        os.execve(path, argv, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        # A script without a #! line: a shell runs it itself.
        os.execve("/bin/sh", ["sh", path, *argv[1:]], environment)


def become(path: str, argv: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Execute the command in place of this process.

    Args:
        path: the file to execute.
        argv: its arguments, argv[0] included.
        environment: its environment.

    Raises:
        NotStartedError: it cannot be executed.
    """
    # Python itself has changed no other signals so far, except SIGINT's handler, which exec resets.
    try:
        _become(path, argv, environment, {}, signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    except OSError as error:
        raise _not_started(argv[0], error.errno or 0) from None


def _not_started(name: str, number: int) -> NotStartedError:
    return NotStartedError(f"{name}: {os.strerror(number).lower()}", 127 if number == errno.ENOENT else 126)


def die_like(status: int) -> int:
    """End as the command ended: return its exit status, or die by the signal that it died of.

    Args:
        status: an exit status, or the negative number of a signal.
    """
    if status >= 0:
        return status
    number = -status
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file is enough: the command's
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    return 128 + number
