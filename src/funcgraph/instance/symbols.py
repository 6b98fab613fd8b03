"""The addresses of functions in pages of trace_pipe_raw. A function has none in memory: they are numbers."""

from __future__ import annotations

__all__ = ["FIRST", "SYMBOLS", "Symbols"]

FIRST, _STEP = 0x10000000, 16  # FG_WIRE_FUNC_BASE, FG_WIRE_FUNC_STEP of wire.h


class Symbols:
    """The addresses of functions in pages: one for each name, as long as the process runs."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Return a function's address, which it gets when it is first asked for."""
        return self._addresses.setdefault(name, FIRST + _STEP * len(self._addresses))


SYMBOLS = Symbols()
