"""Recording one test after the other, each into the same bounded ring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from funcgraph.instance.whole_trace import whole_trace, written_bytes
from funcgraph.testing.instances import open_instance

if TYPE_CHECKING:
    from funcgraph.instance.instance import Instance
    from funcgraph.testing.choice import Choice

_BUFFER_KB = 4096


class ItemRecorder:
    """Records a test at a time.

    Args:
        redact: as `--redact` of `funcgraph record`.
    """

    def __init__(self, redact: str) -> None:
        self._redact = redact
        self._lasting: Instance | None = None
        self._choice: Choice | None = None  # of the lasting instance
        self._current: Instance | None = None
        self._pid = os.getpid()

    def open(self, choice: Choice) -> None:
        """Make the instance for all tests of which this is recorded.

        Raises:
            OSError, RuntimeError: as of Instance.
        """
        self._lasting, self._choice = self._instance(choice), choice
        self._lasting.tracing_on = False

    def begin(self, choice: Choice) -> None:
        """Begin a test; what was recorded of the one before is gone."""
        self.end()
        if choice != self._choice or self._lasting is None:
            self._current = self._instance(choice)
            return
        self._current = self._lasting
        if os.getpid() != self._pid:  # --forked: in a child, an instance records once its tracer is set again
            self._pid = os.getpid()
            tracer, self._lasting.current_tracer = self._lasting.current_tracer, "nop"
            self._lasting.current_tracer = tracer
        self._lasting.clear()
        self._lasting.tracing_on = True

    def pause(self) -> None:
        """Record nothing until `resume`."""
        if self._current is not None:
            self._current.tracing_on = False

    def resume(self) -> None:
        """Go on with the test."""
        if self._current is not None:
            self._current.tracing_on = True

    def trace(self) -> bytes:
        """Return what there is of the test: the bytes of a .fg; b"": none has begun."""
        return whole_trace(self._current, snapshot=False) if self._current is not None else b""

    def size(self) -> int:
        """Return how many bytes of records the test has written; the ring may have fewer."""
        return written_bytes(self._current) if self._current is not None else 0

    def end(self) -> None:
        """End the test."""
        current, self._current = self._current, None
        if current is not None and current is not self._lasting:
            current.close()
        elif current is not None:
            current.tracing_on = False

    def close(self) -> None:
        """End all."""
        self.end()
        if self._lasting is not None:
            self._lasting.close()
        self._lasting = None

    def _instance(self, choice: Choice) -> Instance:
        return open_instance("tests", choice.functions, choice.args, _BUFFER_KB, self._redact)
