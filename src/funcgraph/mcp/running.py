"""Runs a command of funcgraph for a client, and bounds what it prints."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from funcgraph.names import printable, printable_lines

__all__ = ["Answer", "bounded", "run_command"]

#: Seconds after which a command is ended.
MOST_SECONDS = 300
_MOST_BYTES = 4  # of a character
_CUT = "\n[cut: the command prints all of it, a larger limit more]"


class Answer(NamedTuple):
    """What a client gets.

    Attributes:
        text: the command as a person would type it, and what it printed.
        failed: whether the command could not do it.
    """

    text: str
    failed: bool


def bounded(text: str, limit: int) -> str:
    """Return a text that has at most `limit` characters and harms no terminal."""
    shown = printable_lines(text)
    return shown if len(shown) <= limit else shown[: limit - len(_CUT)] + _CUT


async def run_command(words: Sequence[str], limit: int, text_in: str | None = None) -> Answer:
    """Run a command; return its output.

    Args:
        words: the words after `funcgraph`.
        limit: the most characters of the answer's text.
        text_in: what it reads at its standard input; None: nothing.
    """
    shown = f"{_command(words)}{'' if text_in is None else ' < calls.txt'}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "funcgraph", *words),
        # Ours is the client's.
        stdin=asyncio.subprocess.DEVNULL if text_in is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stdout is not None
    if process.stdin is not None and text_in is not None:
        process.stdin.write(text_in.encode("utf-8", "backslashreplace"))
        process.stdin.close()  # the loop writes the rest
    try:
        async with asyncio.timeout(MOST_SECONDS):
            data = await _first_bytes(process.stdout, limit * _MOST_BYTES + 1)
            if len(data) > limit * _MOST_BYTES:  # nobody reads the rest
                process.kill()
            status = await process.wait()
    except TimeoutError:
        return Answer(bounded(f"{shown}\nended after {MOST_SECONDS} s", limit), True)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    text = data.decode("utf-8", "backslashreplace")
    return Answer(bounded(f"{shown}\n{text}", limit), status == _REFUSED)


_REFUSED = 2  # what a command ends with that could not do it


def _command(words: Sequence[str]) -> str:
    shown = [word for word in words if word not in ("--no-pager", "-q")]
    return f"$ {printable(shlex.join(['funcgraph', *shown]))}"


async def _first_bytes(stream: asyncio.StreamReader, most: int) -> bytes:
    data = b""
    while len(data) < most and (piece := await stream.read(most - len(data))):
        data += piece
    return data
