"""Waiting until a person ends a recording that has no command: Ctrl-C, SIGTERM, SIGHUP."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection
from types import FrameType

__all__ = ["UntilSignal"]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class UntilSignal:
    """Waits until this process gets one of ENDING. What is ignored (nohup, `&` in a script) stays ignored.

    Args:
        own: signals that do not end the recording and are for the recorder.

    Attributes:
        received: the signals of `own` that were received.
    """

    def __init__(self, own: Collection[signal.Signals] = ()) -> None:
        self.received: list[int] = []
        self._ended = False
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._end)
        for number in own:
            signal.signal(number, self._receive)

    def wait(self, pause_s: float) -> bool:
        """Wait until a signal ends the recording, at most `pause_s` seconds; return whether one has."""
        if not self._ended:
            time.sleep(pause_s)
        return self._ended

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ended = True

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
