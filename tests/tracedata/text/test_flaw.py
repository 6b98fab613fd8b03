"""A trace that is not whole is told by each command that reads it, and refused with --strict."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Done, Funcgraph

from tests.support import fgreader

pytestmark = pytest.mark.one_python

READERS = {
    "summary": ["summary", "TRACE"],
    "report": ["report", "TRACE"],
    "report --tree": ["report", "--tree", "TRACE"],
    "sql": ["sql", "-i", "TRACE", "SELECT count(*) FROM calls"],
    "diff": ["diff", "TRACE", "TRACE"],
    "diff --first-difference": ["diff", "--first-difference", "TRACE", "TRACE"],
    "export": ["export", "speedscope", "TRACE", "-o", "out.json"],
    "convert": ["convert", "TRACE", "out.dat"],
    "merge": ["merge", "TRACE", "-o", "out.fg"],
}
Run = Callable[..., Done]


@pytest.fixture
def trace(fg: Funcgraph) -> Path:
    """Record 20,000 calls, in many chunks."""
    script = fg.script("def step(n): return n\nfor n in range(20000): step(n)\n")
    assert fg.record("-q", "-b", "256", "-l", "*.step", "--args", script).returncode == 0
    return fg.trace


def words(name: str, trace: Path) -> list[str]:
    return [str(trace) if word == "TRACE" else word for word in READERS[name]]


@pytest.mark.parametrize("name", READERS)
def test_a_trace_that_was_cut_off_is_told_and_refused_with_strict(
    in_process: Run, trace: Path, name: str
) -> None:
    if name == "sql":
        pytest.importorskip("duckdb")
    whole = trace.read_bytes()
    assert "cut off" not in in_process(*words(name, trace)).stderr
    trace.write_bytes(whole[: len(whole) // 2])
    done = in_process(*words(name, trace))
    assert done.returncode == 0
    line = (
        rf"funcgraph: {re.escape(str(trace))}: was cut off: {len(whole) // 2:,} of {len(whole):,} bytes are "
        r"left, with [0-9,]+ events\n"
    )
    assert re.search(line, done.stderr)
    strict = in_process(*words(name, trace), "--strict")
    assert strict.returncode == 2
    assert re.fullmatch(line, strict.stderr)


def test_the_spool_of_a_dead_recorder_is_told(in_process: Run, trace: Path) -> None:
    """As an earlier version left it, too: its header has no size."""
    whole = bytearray(trace.read_bytes())
    whole[8:16] = bytes(8)
    trace.write_bytes(whole[: len(whole) // 2])
    done = in_process("summary", trace)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "is not complete: it was cut off, or its recorder was killed; it has" in done.stderr


def test_a_trace_that_is_still_recorded_is_refused_only_with_strict(fg: Funcgraph) -> None:
    script = fg.script("def step(): pass\nstep()\nprint('ready', flush=True)\ninput()\n")
    process = fg.start("record", "-q", script)
    assert process.stdout is not None
    process.stdout.readline()
    part = f"{fg.trace}.part"
    done = fg.run("summary", part)
    assert (done.returncode, done.stderr) == (0, "")
    strict = fg.run("summary", "--strict", part)
    assert (strict.returncode, strict.stderr) == (2, f"funcgraph: {part}: is still being recorded\n")
    process.communicate("\n", timeout=30)


def test_the_header_says_how_long_the_complete_file_is(trace: Path) -> None:
    assert fgreader.FgTrace(trace.read_bytes()).file.whole_bytes == trace.stat().st_size


def flip(data: bytes, kind: int, at: int) -> bytes:
    """Return the file with one flipped bit in the payload of the `at`-th chunk of a type."""
    chunks = [chunk for chunk in fgreader.FgTrace(data).file.chunks if chunk.type == kind]
    damaged = bytearray(data)
    damaged[chunks[at].offset + 72 + 9] ^= 4
    return bytes(damaged)


@pytest.mark.parametrize("kind", [fgreader.RING, fgreader.SYMBOLS, fgreader.DATA, fgreader.STATE])
def test_merge_tells_each_flipped_bit_and_its_result_can_be_read(
    in_process: Run, trace: Path, kind: int
) -> None:
    trace.write_bytes(flip(trace.read_bytes(), kind, -1))
    done = in_process("merge", trace, "-o", "all.fg")
    assert done.returncode == 1
    assert "1 place of the traces damaged: the events there are missing" in done.stderr
    read = in_process("summary", "all.fg")
    assert read.returncode == 0
    assert "all.fg: was made of files with a place damaged: the events there are missing" in read.stderr
    assert in_process("summary", "all.fg", "--strict").returncode == 2


def test_the_records_of_a_damaged_chunk_are_lost_at_their_place(in_process: Run, trace: Path) -> None:
    data = trace.read_bytes()
    chunks = [chunk for chunk in fgreader.FgTrace(data).file.chunks if chunk.type == fgreader.DATA]
    trace.write_bytes(flip(data, fgreader.DATA, 1))
    in_process("merge", trace, "-o", "all.fg")
    text = in_process("report", "all.fg").stdout
    assert f"[LOST {chunks[1].nr_records} EVENTS]" in text
    assert fgreader.FgTrace(Path("all.fg").read_bytes()).lost == 1


def test_recover_tells_damage_as_damage_and_its_result_can_be_read(in_process: Run, trace: Path) -> None:
    whole = trace.read_bytes()
    data = flip(flip(whole, fgreader.DATA, 1), fgreader.DATA, 3)
    spool = trace.with_name("damaged.fg.part")
    spool.write_bytes(data[: int.from_bytes(whole[-16:-8], "little")])
    done = in_process("recover", spool, "-o", "made.fg")
    assert done.returncode == 0
    assert "2 places damaged: the events there are missing" in done.stderr
    assert "ring buffer was full" not in done.stderr
    read = in_process("summary", "made.fg")
    assert read.returncode == 0
    assert "made.fg: was made of files with 2 places damaged: the events there are missing" in read.stderr
