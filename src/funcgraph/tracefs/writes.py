"""What a write() to a file does: one command, words, lines, a text; and what O_TRUNC does to it.

The kernel empties a list when the file is opened with O_TRUNC. Here the first write replaces the list: no
call is traced in between that neither list has. A close without a write empties it.
"""

from __future__ import annotations

import os
from errno import EINVAL

from funcgraph.instance.control_files.control_file import WriteKind
from funcgraph.instance.control_files.tree_files import TreeFiles

__all__ = ["Write", "write_of"]

_PAGE = 4096  # as many bytes has a command in the kernel, and a text of trace_marker
_WORDS_BYTES = 1 << 16  # as many bytes of words are taken at once


class Write:
    """Writes to a file that takes one command at a time.

    Args:
        files: the instance's.
        name: the file's.
        flags: of os.open().
    """

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        self._files = files
        self._name = name
        self._appends = bool(flags & os.O_APPEND)
        self._truncates = bool(flags & os.O_TRUNC)

    def write(self, data: bytes) -> int:
        """Carry out one write(); return how many bytes were taken."""
        if len(data) >= _PAGE:
            raise self._refused(f"must have less than {_PAGE} bytes")
        self._put(self._decoded(data))
        return len(data)

    def end(self) -> None:
        """Carry out what waited for the end."""

    def _put(self, text: str) -> None:
        self._files.write(self._name, text, True)

    def _decoded(self, data: bytes) -> str:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._refused(f"must be UTF-8, byte {error.start} is not") from None
        if "\0" in text:
            raise self._refused("must have no NUL")
        return text

    def _refused(self, reason: str) -> OSError:
        return OSError(EINVAL, f"invalid write to {self._name}: {reason}", self._name)


class _List(Write):
    """A file whose list the first write after O_TRUNC replaces, and every other extends."""

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        super().__init__(files, name, flags)
        self._is_old = self._truncates  # the list has what O_TRUNC is to take away
        self._was_refused = False

    def _put(self, text: str) -> None:
        self._was_refused = True  # if the next line raises
        self._files.write(self._name, text, not self._is_old)
        self._was_refused = self._is_old = False

    def end(self) -> None:
        """Empty the list if it was to be truncated, and nothing was written."""
        if self._is_old and not self._was_refused:
            self._put("")


class _Words(_List):
    """A list of words. One that a write ends with may go on in the next write, as in the kernel."""

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        super().__init__(files, name, flags)
        self._last = b""

    def write(self, data: bytes) -> int:
        """Carry out one write() as far as it has whole words; return how many bytes were taken."""
        self._files.access(self._name)  # raises if the instance is closed
        data = data[:_WORDS_BYTES]
        held, self._last = self._last + data, b""
        whole = _end_of_words(held)
        if len(held) - whole >= _PAGE:
            raise self._refused(f"a word must have less than {_PAGE} bytes")
        self._check_begun(held[whole:])
        text = self._decoded(held[:whole])
        if text.strip() or (text and self._is_old):  # `echo > FILE` empties it
            self._put(text)
        self._last = held[whole:]
        return len(data)

    def _check_begun(self, word: bytes) -> None:
        """Raise what _decoded() would raise for a word, but for a character that it ends in the middle of."""
        self._decoded(_without_begun(word))

    def end(self) -> None:
        """Carry out the last word, and empty the list if it was to be truncated and nothing was written."""
        last, self._last = self._last, b""
        if last:
            self._put(self._decoded(last))
        super().end()


def _end_of_words(data: bytes) -> int:
    """Return where the last word begins that nothing follows; the end if there is none."""
    if not data or data[-1:].isspace():
        return len(data)
    return len(data) - len(data.split()[-1])


class _Lines(Write):
    """Definitions of events, one a line. O_TRUNC takes away all at open(), which tells of EBUSY."""

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        super().__init__(files, name, flags)
        if self._truncates:
            files.write(name, "", False)

    def write(self, data: bytes) -> int:
        """Carry out each line; return how many bytes were taken."""
        if any(len(line) >= _PAGE for line in data.split(b"\n")):
            raise self._refused(f"a line must have less than {_PAGE} bytes")
        self._put(self._decoded(data))
        return len(data)


class _Emptied(Write):
    """A file that O_TRUNC empties when it is opened, and any write that neither follows it nor appends."""

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        super().__init__(files, name, flags)
        if self._truncates:
            files.write(name, "", False)

    def write(self, data: bytes) -> int:
        """Empty the file, whatever the text."""
        self._files.write(self._name, "", self._truncates or self._appends)
        return len(data)


class _Text(Write):
    """A file that takes a text of any kind: trace_marker. What is too long is taken in parts."""

    def write(self, data: bytes) -> int:
        """Take as much as a page of the text; return how many bytes those are."""
        data = data[:_PAGE]
        if len(data) == _PAGE:
            data = _without_begun(data)
        self._put(self._decoded(data))
        return len(data)


def _without_begun(data: bytes) -> bytes:
    """Return UTF-8 without the character that it ends in the middle of, if it does."""
    for size in range(1, min(4, len(data) + 1)):
        if data[-size] >= 0xC0:  # the first byte of several
            whole = 2 + (data[-size] >= 0xE0) + (data[-size] >= 0xF0)
            return data[:-size] if size < whole else data
    return data


class _Raw(Write):
    """A file that takes bytes of any kind: trace_marker_raw. One write is one record."""

    def _decoded(self, data: bytes) -> str:
        return data.decode("latin-1")


class _AtEnd(Write):
    """A file whose effect comes when it is closed: free_buffer."""

    def write(self, data: bytes) -> int:
        """Take any text."""
        return len(data)

    def end(self) -> None:
        """Do it."""
        self._put("")


def write_of(files: TreeFiles, name: str, flags: int) -> Write:
    """Return how writes to a file go on. `flags` is 0 if it is open for reading alone.

    Raises:
        OSError: O_TRUNC is refused: EBUSY.
    """
    is_written = flags and "w" in files.access(name)
    return _KINDS[files.writes(name)](files, name, flags) if is_written else Write(files, name, 0)


_KINDS: dict[WriteKind, type[Write]] = {
    "command": Write,
    "list": _List,
    "words": _Words,
    "lines": _Lines,
    "empty": _Emptied,
    "text": _Text,
    "bytes": _Raw,
    "close": _AtEnd,
}
