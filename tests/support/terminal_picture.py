"""A command in a terminal, as a person sees it: the screen's lines, and a picture of it as SVG."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import pyte

__all__ = ["SCREENS", "lines_on", "picture"]

#: What tests saw, for people and for the site.
SCREENS = Path(__file__).parents[2] / "build" / "screens"

_WIDTH, _HEIGHT, _MARGIN = 8.43, 19, 14  # of a character, a line, and around the text, in pixels


_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def lines_on(screen: pyte.Screen, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> list[str]:
    """Run a command in a terminal until it ends.

    Args:
        screen: what the terminal shows at the end; its size is the terminal's.
        command: the program and its arguments.
        cwd, env: where the command runs, and its environment.

    Returns:
        The lines that the command wrote, whole, also where the terminal broke them; without colours.
    """
    written = bytearray()
    stream = pyte.ByteStream(screen)
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", screen.lines, screen.columns, 0, 0))
        variables = {**env, "TERM": "xterm-256color", "PAGER": "cat", "LESS": "", "COLUMNS": "", "LINES": ""}
        with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=variables):
            os.close(slave)
            slave = -1
            while data := _read(master):
                stream.feed(data)
                written += data
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)
    return _CONTROL.sub("", written.decode()).splitlines()


def _read(master: int) -> bytes:
    """Return what comes next; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


def picture(screen: pyte.Screen, command: str, *, dark: bool) -> str:
    """Return a screen as SVG, with the command that a person typed in its first line.

    Args:
        screen: it is shown down to its last line that is not empty.
        command: the line behind the prompt.
        dark: light text on a dark ground.
    """
    shown = [f"$ {command}", *(line.rstrip() for line in screen.display)]
    while not shown[-1]:
        shown.pop()
    ground, ink = ("#1c1c1c", "#e4e4e4") if dark else ("#ffffff", "#202020")
    width = round(2 * _MARGIN + _WIDTH * screen.columns)
    height = 2 * _MARGIN + _HEIGHT * len(shown)
    rows = [
        f'<text xml:space="preserve" x="{_MARGIN}" y="{_MARGIN + _HEIGHT * number + 14}" '
        f'textLength="{len(line) * _WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">{escape(line)}</text>'
        for number, line in enumerate(shown)
        if line
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    font = f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="14" fill="{ink}">'
    return "\n".join(
        [head + font, f'<rect width="100%" height="100%" fill="{ground}"/>', *rows, "</svg>", ""]
    )
