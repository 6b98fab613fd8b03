"""Tells a signal sent to the whole process group from one sent to the recorder alone.

Ctrl-C, a shell's `kill %1` and killpg() signal the whole group, the traced program included. `kill PID`
with the recorder's id signals the recorder alone, which must forward the signal. A signal does not say how
it was sent. So a small process in the same group, the witness, reports each signal that it gets.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection

__all__ = ["GroupWitness"]


class GroupWitness:
    """A child process that reports the signals it gets.

    Args:
        signals: the signals to report; this process must block them, and the witness inherits the mask.
    """

    def __init__(self, signals: Collection[signal.Signals]) -> None:
        self._signals = signals
        self._reports, write_end = os.pipe()
        recorder = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._watch(write_end, recorder)
            finally:
                os._exit(0)
        os.close(write_end)

    def _watch(self, write_end: int, recorder: int) -> None:
        # Close all inherited descriptors: another process may wait for the end of a pipe.
        os.dup2(write_end, 3)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.closerange(4, max(64, max(map(int, os.listdir("/proc/self/fd"))) + 1))
        # Wake up each second to check whether the recorder was killed. Not sigtimedwait: see child.py.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
        while os.getppid() == recorder:
            number = signal.sigwaitinfo([*self._signals, signal.SIGALRM]).si_signo
            if number != signal.SIGALRM:
                os.write(3, bytes([number]))

    def saw(self, signum: int, within_s: float = 0.1) -> bool:
        """Return whether the witness got `signum` too, at about the same time.

        Args:
            signum: the signal that this process just got.
            within_s: how long to wait for the witness, in seconds. The kernel signals the members of a
                group within microseconds, but the witness may have to wait for a processor.
        """
        deadline = time.monotonic() + within_s
        while select.select([self._reports], [], [], max(0.0, deadline - time.monotonic()))[0]:
            report = os.read(self._reports, 1)
            if not report:
                return False
            if report[0] == signum:
                return True
        return False

    def close(self) -> None:
        """End the witness."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._reports)
