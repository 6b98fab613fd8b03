"""Asking many processes at the same time: one that does not answer keeps none of the others waiting."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["at_once"]

_MOST_AT_ONCE = 256  # threads
_GRACE_S = 1.0
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def at_once(
    items: Sequence[_Item],
    action: Callable[[_Item], _Result],
    *,
    meanwhile: Callable[[], float] | None = None,
    abandon: Callable[[_Item], object] = lambda item: None,
) -> Generator[tuple[_Item, _Result | BaseException], None, None]:
    """Do something with all items at the same time: with 256, and as each is done, with the next one.

    Args:
        items: the items.
        action: is called with each, in a thread if there is more than one item.
        meanwhile: is called again and again while an item is waited for, and returns the seconds to pause.
        abandon: is called with each item that is not done a second after the caller has lost interest, as
            after an interrupt.

    Yields:
        Each item in the order given, with the result or the exception, as soon as it and those before it are
        done.

    Example:
        >>> list(at_once([1, 2], str))
        [(1, '1'), (2, '2')]
    """
    tasks = [_Task(action, item) for item in items]
    waiting = deque(tasks)
    has_threads = (len(tasks) > 1 or meanwhile is not None) and _start_threads(waiting)
    try:
        for task in tasks:
            if not has_threads:
                waiting.popleft().run()
            while not task.done.wait(None if meanwhile is None else meanwhile()):
                pass
            assert task.outcome is not None
            yield task.item, task.outcome[0]
    finally:
        never = _empty(waiting)
        end_s = time.monotonic() + _GRACE_S
        for task in tasks:
            if task not in never and not task.done.wait(max(end_s - time.monotonic(), 0)):
                abandon(task.item)


class _Task(Generic[_Item, _Result]):
    """What is done with one item.

    Attributes:
        item: the item.
        done: is set at the end.
        outcome: the result or the exception then.
    """

    def __init__(self, action: Callable[[_Item], _Result], item: _Item) -> None:
        self._action = action
        self.item = item
        self.done = threading.Event()
        self.outcome: tuple[_Result | BaseException] | None = None

    def run(self) -> None:
        """Do it. Raises nothing."""
        try:
            self.outcome = (self._action(self.item),)
        except BaseException as error:
            self.outcome = (error,)
        finally:
            self.done.set()


def _start_threads(waiting: deque[_Task[_Item, _Result]]) -> bool:
    """Start threads that do what is waiting; return False if there can be no further thread."""
    for number in range(min(len(waiting), _MOST_AT_ONCE)):
        # A daemon, as an interrupt must not wait for a process that does not answer.
        thread = threading.Thread(target=_run_all, args=(waiting,), name="funcgraph-ask", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the limit of this user's threads
            return number > 0
    return True


def _run_all(waiting: deque[_Task[_Item, _Result]]) -> None:
    with suppress(IndexError):
        while True:
            waiting.popleft().run()


def _empty(waiting: deque[_Task[_Item, _Result]]) -> set[_Task[_Item, _Result]]:
    """Take all away that no thread has begun, and return it."""
    taken = set()
    with suppress(IndexError):
        while True:
            taken.add(waiting.pop())
    return taken
