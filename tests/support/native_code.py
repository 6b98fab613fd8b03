"""The code of an object in a running process, compared with the object's file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Self


class NativeCode:
    """An object's text in a process.

    Args:
        pid: the process.
        path: of the object, as the process has mapped it.
    """

    def __init__(self, pid: int, path: Path) -> None:
        self._pid = pid
        self._path = os.path.realpath(path)

    @classmethod
    def of_name(cls, pid: int, name: str) -> Self:
        """Return that of an object of this file name."""
        maps = Path(f"/proc/{pid}/maps").read_text()
        found = re.search(rf"(/\S*/{re.escape(name)})$", maps, re.MULTILINE)
        assert found, name
        return cls(pid, Path(found[1]))

    def mappings(self) -> list[str]:
        """Return the mappings of the object: addresses and protections."""
        lines = Path(f"/proc/{self._pid}/maps").read_text().splitlines()
        assert not [line for line in lines if re.match(r"\S+ .wx", line)], "writable code"
        return [line for line in lines if line.endswith(f" {self._path}")]

    def is_as_in_its_file(self) -> bool:
        """Return whether each byte that can be executed is that of the file."""
        executable = [line.split() for line in self.mappings() if line.split()[1][2] == "x"]
        assert executable
        with open(f"/proc/{self._pid}/mem", "rb", 0) as memory, open(self._path, "rb") as file:
            for addresses, _, offset, *_ in executable:
                begin, end = (int(word, 16) for word in addresses.split("-"))
                memory.seek(begin)
                file.seek(int(offset, 16))
                text = file.read(end - begin)
                if memory.read(end - begin)[: len(text)] != text:
                    return False
        return True
