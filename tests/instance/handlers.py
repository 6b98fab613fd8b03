"""Signal handlers and the functions that they interrupt, for the tests of signals."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

from traced import leaf


def handler(signum: int, frame: FrameType | None) -> None:
    leaf(signum)


def quiet(signum: int, frame: FrameType | None) -> None:
    pass


def raising(signum: int, frame: FrameType | None) -> None:
    raise LookupError


def raising_another(signum: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGUSR2)
    leaf(2)


def any_arguments(*passed: Any, **named: Any) -> None:
    leaf(len(passed))


class Handlers:
    def method(self, signum: int, frame: FrameType | None) -> None:
        leaf(signum)

    @classmethod
    def of_class(cls, signum: int, frame: FrameType | None) -> None:
        leaf(signum)

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        leaf(signum)


def with_more(more: str, signum: int, frame: FrameType | None, *, named: int = 0) -> None:
    leaf(signum)


def send() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    leaf(0)


def numbers() -> Iterator[int]:
    yield 1
    os.kill(os.getpid(), signal.SIGUSR1)
    leaf(1)
    yield 2


def by_hand(number: int, frame: FrameType | None) -> None:
    quiet(number, frame)


any_lambda = lambda *passed: leaf(passed[0])  # noqa: E731
