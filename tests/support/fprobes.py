"""An fprobe that records its handlers' calls, for the tests of fprobes."""

from __future__ import annotations

import sys
from typing import Any

import funcgraph


class Notes:
    """An fprobe that appends (handler, function) to a list for each handler call. Several may share it."""

    def __init__(self, label: str = "", into: list[Any] | None = None, **settings: Any) -> None:
        self.label = label
        self.calls: list[Any] = [] if into is None else into
        self.answer: object = None
        self.fp = funcgraph.Fprobe(self._entry, self._exit, name=label, **settings)

    def _entry(self, fp: Any, entry_ip: Any, ret_ip: Any, regs: Any, data: Any) -> object:
        assert fp is self.fp
        self.calls.append((f"{self.label}>", entry_ip.qualname))
        return self.answer

    def _exit(self, fp: Any, entry_ip: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        self.calls.append((f"<{self.label}", entry_ip.qualname))

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.fp.registered:
            funcgraph.unregister_fprobe(self.fp)


def here() -> int:
    """Return the caller's line."""
    return sys._getframe(1).f_lineno
