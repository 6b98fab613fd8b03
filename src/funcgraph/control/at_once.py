"""Asking many processes at the same time: one that does not answer keeps none of the others waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
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
    """Do something with all items at the same time: with 256, and then with the next ones.

    Args:
        items: the items.
        action: is called with each, in a thread of its own if there is more than one item.
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
    for begin in range(0, len(items), _MOST_AT_ONCE):
        batch = items[begin : begin + _MOST_AT_ONCE]
        tasks = [_Task(action, item) for item in batch]
        for task in tasks:
            task.start(is_alone=len(items) == 1 and meanwhile is None)
        try:
            for task in tasks:
                while not task.done.wait(None if meanwhile is None else meanwhile()):
                    pass
                assert task.outcome is not None
                yield task.item, task.outcome[0]
        finally:
            end_s = time.monotonic() + _GRACE_S
            for task in tasks:
                if not task.done.wait(max(end_s - time.monotonic(), 0)):
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

    def start(self, *, is_alone: bool) -> None:
        """Begin in a thread; alone, or if there can be no further thread, do it now."""
        if is_alone:
            self._run()
            return
        # A daemon, as an interrupt must not wait for a process that does not answer.
        thread = threading.Thread(target=self._run, name="funcgraph-ask", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the limit of this user's threads
            self._run()

    def _run(self) -> None:
        try:
            self.outcome = (self._action(self.item),)
        except BaseException as error:
            self.outcome = (error,)
        finally:
            self.done.set()
