"""Links from names to lines of source: terminals' own (OSC 8), where the terminal knows them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import IO

from funcgraph.tracedata.description import Function
from funcgraph.tracedata.pager import pager_command

__all__ = ["NO_LINKS", "Links", "link_format", "links_on"]

#: As `ls --hyperlink` has it. These terminals would take a line in it for a part of the file's name.
_FILE = "file://{host}{path}"
#: For those that open an editor at the line.
_LINE = _FILE + "#{line}"
_PLACE = re.compile(r"(?P<file>[^\s:'\"]+):(?: line )?(?P<line>\d+)")
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_BEGIN, _END = "\x1b]8;;", "\x1b\\"
_LEAST_VTE = 5001  # 0.50.0 ends with a fault at a link
_LEAST_LESS = 590  # the oldest that was tried: it passes them with -R
_LEAST_TMUX = (3, 4)
#: TERM_PROGRAM -> the form of links.
_PROGRAMS = {
    "iTerm.app": _FILE, "WezTerm": _FILE, "vscode": _LINE, "ghostty": _FILE, "Hyper": _FILE, "rio": _FILE,
    "zed": _FILE,
}  # fmt: skip
_TERMS = {"xterm-kitty": _LINE, "xterm-ghostty": _FILE, "alacritty": _FILE, "foot": _FILE}
#: Variables that only terminals with links set.
_VARIABLES = {
    "KITTY_WINDOW_ID": _LINE, "WEZTERM_PANE": _FILE, "WT_SESSION": _FILE, "KONSOLE_VERSION": _FILE,
    "DOMTERM": _FILE,
}  # fmt: skip


class Links:
    """Makes links. What is linked may be hostile: no byte of a path can end the escape sequence.

    Args:
        form: the address, with `{host}`, `{path}` and `{line}`; None: texts stay as they are.
    """

    def __init__(self, form: str | None) -> None:
        self._form = form
        self._host = os.uname().nodename if form else ""

    def _address(self, file: str) -> str | None:
        """Return the address of a file, with "\0" where the line stands; None: it has none."""
        if self._form is None or not (file.startswith("/") or os.path.isfile(file)):
            return None
        values = {"host": _quoted(self._host), "path": _quoted(os.path.abspath(file)), "line": "\0"}
        return re.sub(r"\{(host|path|line)\}", lambda match: values[match[1]], self._form)

    def place(self, text: str, file: str, line: int) -> str:
        """Return a text, which is printed already as it shall be seen, as a link to a line of a file."""
        form = self._address(file)
        if form is None:
            return text
        address = form.replace("\0", str(line))
        return f"{_BEGIN}{address}{_END}{text}{_BEGIN}{_END}"

    def of_report(self, functions: Iterable[Function]) -> tuple[tuple[bytes, int] | None, ...] | None:
        """Return what Reader.report() takes to make the same links; None: it makes none."""
        if self._form is None:
            return None
        addresses: dict[str, bytes | None] = {}
        found: list[tuple[bytes, int] | None] = []
        for function in functions:
            file = "" if function.size_bytes else function.file
            if file not in addresses:
                text = self._address(file)
                addresses[file] = None if text is None else text.encode("ascii")
            address = addresses[file]
            found.append(None if address is None else (address, function.line))
        return tuple(found)

    def function(self, text: str, function: Function | None) -> str:
        """Return a text as a link to the line on which a function begins, if that is known."""
        if function is None or not function.file or function.size_bytes:
            return text
        return self.place(text, function.file, function.line)

    def message(self, text: str) -> str:
        """Return a printable line with a link at its first place, if that names a file which is there.

        A place is `FILE:LINE` or `FILE: line LINE`.
        """
        match = _PLACE.search(text) if self._form else None
        if match is None or not os.path.isfile(match["file"]):
            return text
        linked = self.place(match[0], match["file"], int(match["line"]))
        return text[: match.start()] + linked + text[match.end() :]


NO_LINKS = Links(None)


def links_on(stream: IO[str] | None = None, *, pager: bool = False) -> Links:
    """Return the links for a stream: none where nothing shows them.

    `FUNCGRAPH_LINKS` is `never`, `always` (as FORCE_HYPERLINK=1) or a form as
    `vscode://file{path}:{line}`. They count for a terminal only, as do the terminals that are known.

    Args:
        stream: where the text goes; None: standard output.
        pager: whether it goes through the user's pager: that has to pass them on.
    """
    stream = stream or sys.stdout
    if not stream.isatty():
        return NO_LINKS
    form = link_format(os.environ)
    return Links(form) if form and (not pager or _pager_passes()) else NO_LINKS


def link_format(environment: Mapping[str, str]) -> str | None:
    """Return the form of links that the user chose, or the terminal knows; None: no links."""
    choice = environment.get("FUNCGRAPH_LINKS", "auto")
    if choice in ("never", "0"):
        return None
    if "{path}" in choice:
        return choice if choice.isascii() and choice.isprintable() else None
    known = _known(environment)
    force = environment.get("FORCE_HYPERLINK")
    if choice in ("always", "1"):
        return known or _FILE
    return known if force is None else None if force == "0" else known or _FILE


def _known(environment: Mapping[str, str]) -> str | None:
    term, program = environment.get("TERM", "dumb"), environment.get("TERM_PROGRAM", "")
    if term == "dumb" or term == "screen" or "STY" in environment:
        return None
    if "TMUX" in environment or program == "tmux":  # the other variables are of where it was started
        version = re.match(r"(\d+)\.(\d+)", environment.get("TERM_PROGRAM_VERSION", ""))
        is_new = version is not None and (int(version[1]), int(version[2])) >= _LEAST_TMUX
        return _FILE if is_new else None
    if found := _PROGRAMS.get(program) or _TERMS.get(term):
        return found
    vte = environment.get("VTE_VERSION", "")
    if vte.isdecimal() and int(vte) >= _LEAST_VTE:
        return _FILE
    return next((form for name, form in _VARIABLES.items() if environment.get(name)), None)


def _pager_passes() -> bool:
    """Return whether what pager_command() names passes links on."""
    command = pager_command()
    if command is None:
        return True
    if os.environ.get("PAGER") is not None:  # nobody knows
        return os.environ.get("FUNCGRAPH_LINKS", "auto") not in ("auto", "")
    less = shutil.which("less")
    if less is None:
        return False
    try:
        text = subprocess.run([less, "--version"], capture_output=True, timeout=5, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"less (\d+)", text)
    return version is not None and int(version[1]) >= _LEAST_LESS


def _quoted(text: str) -> str:
    """Return the bytes of a path as an address has them: all but letters, digits and a few as %XX."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a trace may have any text
        data = text.encode("utf-8", "backslashreplace")
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in data)
