"""Stands between playwright and firefox: starts it, and passes their WebSocket on.

Playwright 1.65 sets a page's colour scheme by a command that firefox 153 does not know, and gives up when it
is refused. The relay replaces that command by one that does nothing.

Usage: firefox_relay.py FIREFOX ARGUMENT...
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import suppress
from functools import partial
from itertools import cycle

_UNKNOWN = "emulation.setMediaFeaturesOverride"
_HOST = re.compile(rb"(?i)(\nhost: 127\.0\.0\.1:)\d+")
_LISTENS = re.compile(rb"(.*WebDriver BiDi listening on ws://127\.0\.0\.1:)(\d+)")
#: What the second byte of a frame says of its length -> bytes of the length that follow.
_LENGTHS = {126: 2, 127: 8}


def _masked(payload: bytes, mask: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(payload, cycle(mask), strict=False))


def _known(payload: bytes, mask: bytes) -> bytes:
    """Return a command, or one that does nothing in its place: as long as it was, and with its number."""
    text = _masked(payload, mask)
    if _UNKNOWN.encode() not in text:
        return payload
    command = json.loads(text)
    if command["method"] != _UNKNOWN:
        return payload
    command |= {"method": "session.status", "params": {}}
    return _masked(json.dumps(command).encode().ljust(len(text)), mask)


async def _pass_commands(source: asyncio.StreamReader, target: asyncio.StreamWriter, port: int) -> None:
    """Pass on what playwright sends: its HTTP request, then masked frames (RFC 6455, section 5.2)."""
    target.write(_HOST.sub(rb"\g<1>%d" % port, await source.readuntil(b"\r\n\r\n")))
    while True:
        head = await source.readexactly(2)
        more = await source.readexactly(_LENGTHS.get(head[1] & 127, 0))
        length = int.from_bytes(more) if more else head[1] & 127
        mask = await source.readexactly(4)
        target.write(head + more + mask + _known(await source.readexactly(length), mask))
        await target.drain()


async def _pass_answers(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()


async def _relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    answers, commands = await asyncio.open_connection("127.0.0.1", port)
    passing = [_pass_commands(reader, commands, port), _pass_answers(answers, writer)]
    with suppress(asyncio.IncompleteReadError, OSError):
        await asyncio.gather(*passing)
    writer.close()
    commands.close()


async def _listen(port: int) -> int:
    """Begin to relay connections to a port; return the relay's own port."""
    server = await asyncio.start_server(partial(_relay, port), "127.0.0.1", 0)
    own: int = server.sockets[0].getsockname()[1]
    return own


async def main() -> int:
    """Start firefox, say where its WebSocket is reached, and end with it."""
    firefox = await asyncio.create_subprocess_exec(*sys.argv[1:], stderr=asyncio.subprocess.PIPE)
    assert firefox.stderr
    while line := await firefox.stderr.readline():
        found = _LISTENS.match(line)
        shown = b"%s%d\n" % (found[1], await _listen(int(found[2]))) if found else line
        sys.stderr.buffer.write(shown)
        sys.stderr.buffer.flush()
    return await firefox.wait()


sys.exit(asyncio.run(main()))
