"""Going on in the background once a mount works, as other FUSE file systems do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from funcgraph.mount.mountpoint import MountError

__all__ = ["in_background"]

_WORKS = b"\0"


def in_background(work: Callable[[Callable[[], None]], None], describe: Callable[[Exception], str]) -> None:
    """Run work(started) in a process of its own; return when it has called started().

    That process has a session of its own, "/" as its folder, and no terminal. There must be no other thread.

    Args:
        work: what to do; it calls its argument once it works.
        describe: the message about an error of `work`.

    Raises:
        MountError: `work` failed before it worked: describe() of its error.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        _run(work, describe, writing)
    os.close(writing)
    with open(reading, "rb") as answers:
        answer = answers.read()
    if answer != _WORKS:
        raise MountError(answer.decode(errors="replace") or "the process in the background has died")


def _run(
    work: Callable[[Callable[[], None]], None], describe: Callable[[Exception], str], answers: int
) -> None:
    """The new process: never returns."""
    open_answers: list[int] = [answers]
    status = 1
    try:
        os.setsid()
        os.chdir("/")
        work(lambda: _detach(open_answers))
        status = 0
    except Exception as error:
        if open_answers:
            os.write(answers, describe(error).encode())
    finally:
        os._exit(status)


def _detach(answers: list[int]) -> None:
    """Tell the parent that it works, and let go of the streams that it gave."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    if null > 2:
        os.close(null)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    number = answers.pop()
    os.write(number, _WORKS)
    os.close(number)
