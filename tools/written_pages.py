"""Pages of docs/ that a tool writes, as a whole or after a marker; each tool can also check them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.console import print_message

__all__ = ["after_marker", "update"]


def after_marker(text: str, marker: str, written: str) -> str:
    """Return the text of a page with what is written after a marker, up to the next heading.

    Args:
        text: the page as it is.
        marker: a line of it.
        written: takes the place of what is there; it ends with a newline.

    Raises:
        ValueError: the page has no such line.
    """
    before, found, rest = text.partition(marker)
    if not found:
        raise ValueError(f"the page has no line {marker!r}")
    _, heading, after = rest.partition("\n## ")
    return f"{before}{marker}\n\n{written}{heading}{after}"


def update(pages: Mapping[Path, str], *, check: bool, tool: str, command: str) -> int:
    """Write the pages that have not the texts that they have to have, or only name them.

    Args:
        pages: the text of each.
        check: only name them.
        tool: the name of the tool that writes them.
        command: what runs it.

    Returns:
        The tool's exit status: 1: a page was named.
    """
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print_message(f"{tool}: {path.name} is out of date: run {command}")
        else:
            path.write_text(pages[path])
    return 1 if stale and check else 0
