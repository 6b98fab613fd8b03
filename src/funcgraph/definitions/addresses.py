"""The addresses of functions, in pages of trace_pipe_raw and wherever else the kernel prints some.

A Python function has none in memory: they are numbers.
"""

from __future__ import annotations

from itertools import count

__all__ = ["FIRST", "SYMBOLS", "Symbols"]

FIRST, _STEP = 0x10000000, 16  # FG_FUNC_ADDRESS_BASE, ..._STEP


class Symbols:
    """The addresses of functions: one for each name, as long as the process runs."""

    def __init__(self) -> None:
        self._addresses: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._new = count(FIRST, _STEP)

    def address(self, name: str) -> int:
        """Return a function's address, which it gets when it is first asked for."""
        name = name.replace(" ", "_")  # names in the kernel's lists of symbols have no blanks
        found = self._addresses.get(name)
        if found is None:
            found = self._addresses.setdefault(name, next(self._new))
            self._names[found] = name
        return found

    def resolve(self, text: str) -> str:
        """Return the name of the function whose address a text is; the text if it is none."""
        try:
            return self.name(int(text, 16)) if text[:2] in ("0x", "0X") else text
        except ValueError:
            return text

    def name(self, address: int) -> str:
        """Return the function that has an address; "": none."""
        return self._names.get(address, "")


SYMBOLS = Symbols()
