"""A .fg that was cut off or damaged: all that is whole is read, what is not counts as lost.

The error at the end says where the damage is.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fgreader
import pytest
from fgreader import CHUNK, FgTrace, File
from ringfile import add_ring, leaf
from tracereader import Desk, read_trace

from funcgraph import _tracedata
from funcgraph.tracedata import TraceError, TraceFile

pytestmark = pytest.mark.one_python

S = 1_000_000_000
CALLS = 50  # of a chunk
CHUNKS = 6
Command = Callable[..., Any]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a desk with a complete trace of one task, of several chunks with 2 * CALLS events each."""
    desk = Desk(tmp_path)
    ring = desk.ring()
    ring.process(1, "python", "app.py")
    ring.function(0, "m.f")
    ring.task(1, 4711, "main")
    for number in range(CHUNKS):
        ring.put(1, b"".join(leaf(S + 1000 * (CALLS * number + i), 0, 0, 100 + i) for i in range(CALLS)))
    recorder = desk.recorder()
    recorder.finish(add_ring(recorder, ring.path))
    recorder.complete(json.dumps({"command": ["app.py"]}))
    recorder.close()
    return desk


def read(path: Path) -> tuple[str, str]:
    """Return the report's calls, and the error at its end."""
    lines, error = b"", ""
    try:
        for piece in TraceFile(path).report():
            lines += piece
    except TraceError as failed:
        error = str(failed)
    return lines.decode(), error


def calls(text: str) -> int:
    """Return how many calls a report has, named or not."""
    return len(re.findall(r"(?:m\.f|<unknown>)\(\);", text))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_prefix_has_the_events_of_its_chunks(desk: Desk) -> None:
    data, cut = desk.part.read_bytes(), desk.folder / "cut.fg"
    chunks = File(data).chunks
    ends = {end for chunk in chunks for end in (chunk.offset, chunk.offset + 1, chunk.end - 1, chunk.end)}
    ends |= {len(data) - 1, len(data) - 16, *range(16, len(data), 97)}
    seen = set()
    for size in sorted(ends):
        write(cut, data[:size])
        whole = [chunk for chunk in chunks if chunk.end <= size]
        expected = CALLS * sum(chunk.type == fgreader.DATA for chunk in whole)
        text, error = read(cut)
        assert (calls(text), error) == (expected, "")
        assert text.count("m.f();") == expected  # the symbols come first
        assert len(FgTrace(data[:size]).events()) == 2 * expected
        assert _tracedata.convert(str(cut), str(desk.output)) is None
        assert len(read_trace(desk.output).events) == 2 * expected
        seen.add(expected)
    assert seen == {CALLS * number for number in range(CHUNKS + 1)}


def test_a_file_that_is_cut_in_its_header_is_no_trace(desk: Desk) -> None:
    data, cut = desk.part.read_bytes(), desk.folder / "cut.fg"
    for size in (0, 1, 7, 8, 15):
        with pytest.raises(TraceError):
            TraceFile(write(cut, data[:size]))


def damage(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def data_chunks(data: bytes) -> list[fgreader.Chunk]:
    return [chunk for chunk in File(data).chunks if chunk.type == fgreader.DATA]


@pytest.mark.parametrize("has_footer", [True, False])
@pytest.mark.parametrize("number", range(CHUNKS))
def test_the_events_of_a_damaged_chunk_count_as_lost(desk: Desk, number: int, *, has_footer: bool) -> None:
    data = desk.part.read_bytes()
    chunk = data_chunks(data)[number]
    data = damage(data if has_footer else data[:-1], chunk.offset + CHUNK.size + chunk.stored_bytes // 2)
    text, error = read(write(desk.part, data))
    assert calls(text) == CALLS * (CHUNKS - 1)
    assert error.startswith(f"damaged: what lies at byte {chunk.offset} ")
    if number < CHUNKS - 1:
        assert f"[LOST {2 * CALLS} EVENTS]" in text
    plain = FgTrace(data)
    events = plain.events()
    assert plain.damaged == [chunk.offset]
    assert _tracedata.convert(str(desk.part), str(desk.output)) == chunk.offset
    made = read_trace(desk.output)
    assert [(event.time, event.lost) for event in made.events] == [(e.time, e.lost) for e in events]
    assert sum(event.lost for event in events) == (2 * CALLS if number < CHUNKS - 1 else 0)


@pytest.mark.parametrize("field", [0, 4, 12, 24, 30, 44, 71])
def test_a_damaged_header_is_one_gap(desk: Desk, field: int) -> None:
    """With the footer the chunk is in the directory, and is as a damaged one; without it, it is not found."""
    data = desk.part.read_bytes()
    chunk = data_chunks(data)[2]
    text, error = read(write(desk.part, damage(data, chunk.offset + field)))
    assert calls(text) == CALLS * (CHUNKS - 1)
    assert f"[LOST {2 * CALLS} EVENTS]" in text
    assert error.startswith(f"damaged: what lies at byte {chunk.offset} ")
    data = damage(data[:-1], chunk.offset + field)
    text, error = read(write(desk.part, data))
    assert calls(text) == CALLS * (CHUNKS - 1)
    assert error.startswith(f"damaged: what lies at byte {chunk.offset} ")
    assert TraceFile(desk.part).lost == FgTrace(data).lost == 1
    assert len(FgTrace(data).events()) == 2 * CALLS * (CHUNKS - 1)


@pytest.mark.parametrize(
    "kind", [fgreader.SYMBOLS, fgreader.META, fgreader.STATE, fgreader.CLOCK, fgreader.RING]
)
def test_other_damaged_chunks_lose_no_event_and_are_told(desk: Desk, kind: int) -> None:
    data = desk.part.read_bytes()
    chunk = next(chunk for chunk in File(data).chunks if chunk.type == kind)
    data = damage(data, chunk.offset + CHUNK.size + 1)
    text, error = read(write(desk.part, data))
    assert calls(text) == CALLS * CHUNKS
    assert ("<unknown>" in text) == (kind == fgreader.SYMBOLS)
    assert error.startswith(f"damaged: what lies at byte {chunk.offset} ")
    assert TraceFile(desk.part).lost == FgTrace(data).lost == 1


@pytest.mark.parametrize("where", ["directory", "footer"])
def test_without_a_sound_directory_chunks_are_found(desk: Desk, where: str) -> None:
    whole = desk.part.read_bytes()
    (offset,) = struct.unpack("<Q", whole[-16:-8])
    shown = read(desk.part)
    places = range(offset, offset + 120, 7) if where == "directory" else range(len(whole) - 16, len(whole))
    for at in places:
        data = damage(whole, at)
        assert read(write(desk.part, data)) == shown
        assert FgTrace(data).file.chunks == FgTrace(whole).file.chunks


def test_the_command_prints_all_that_is_whole_and_fails(desk: Desk, command: Command) -> None:
    data = desk.part.read_bytes()
    chunk = data_chunks(data)[1]
    trace = write(desk.folder / "t.fg", damage(data, chunk.offset + CHUNK.size + 3))
    ran = command("report", "-i", trace)
    assert (ran.status, calls(ran.out)) == (2, CALLS * (CHUNKS - 1))
    assert ran.err.startswith(
        f"funcgraph: {trace}: damaged: what lies at byte {chunk.offset} is not as it was"
    )


def test_a_directory_that_is_not_compressed_is_read(tmp_path: Path) -> None:
    """It lies in the memory that it is made of: with more and more chunks that grows while it is appended."""
    for count in (0, 1, 5, 6, 7, 13, 14, 15, 30):
        part = tmp_path / f"{count}.fg"
        recorder = _tracedata.Recorder(str(part), compress=False)
        for _ in range(count):
            recorder.describe("{}")
        recorder.complete("{}")
        recorder.close()
        found = FgTrace(part.read_bytes())
        assert found.is_complete
        assert len(found.file.chunks) == count + 3
        assert TraceFile(part).events == 0
