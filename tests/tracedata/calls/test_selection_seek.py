"""Promise: a selection of a short time reads that part of a `.fg`, and has all events of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ringfile import leaf

import funcgraph
from funcgraph.tracedata import Selection
from funcgraph.tracedata.opened import Trace
from tracedata.calls.test_call_index import S, record_chunks, recorded

pytestmark = pytest.mark.one_python


def part_of(begin: int, end: int, **choices: int) -> Selection:
    texts = (f"{time // S}.{time % S:09}" for time in (begin, end))
    return Selection(begin=next(texts), end=next(texts), **choices)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(chunks=recorded(), part=st.tuples(st.integers(0, 1000), st.integers(0, 1000)), depth=st.integers(0, 3))
def test_a_part_has_the_events_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], part: tuple[int, int], depth: int
) -> None:
    """Broken by beginning with a chunk after the time, or by skipping for a choice that needs the callers."""
    folder = tmp_path_factory.getbasetemp() / "seek"
    folder.mkdir(exist_ok=True)
    with funcgraph.open(record_chunks(folder, chunks)) as trace:
        events = list(trace.events())
        if not events:
            return
        first, last = events[0].time_ns, events[-1].time_ns
        begin, end = (first + (last - first) * place // 1000 for place in sorted(part))
        inside = [event for event in events if begin <= event.time_ns <= end]
        assert list(trace.events(select=part_of(begin, end))) == inside
        shallow = [event for event in inside if not depth or event.depth < depth]
        assert list(trace.events(select=part_of(begin, end, max_depth=depth))) == shallow


def read_bytes(work: Callable[[], object]) -> int:
    """How many bytes this process reads while it does some work."""

    def so_far() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = so_far()
    work()
    return so_far() - before


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count reads")
def test_a_short_part_of_a_long_trace_is_a_short_read(tmp_path: Path) -> None:
    """Bytes are counted. Broken by reading each lane from its begin on."""
    chunks, time = [], S
    for _ in range(300):
        records = b""
        for number in range(100):
            records += leaf(time, number % 3, 0, number + 1)
            time += 1000 + 7 * number
        chunks.append(records)

    def count(trace: Trace, select: Selection | None) -> int:
        return sum(len(batch) for batch in trace.columns(select=select))

    with funcgraph.open(record_chunks(tmp_path, chunks)) as trace:
        begin = (S + time) // 2
        select = part_of(begin, begin + 20_000)
        whole = read_bytes(lambda: count(trace, None))
        part = read_bytes(lambda: count(trace, select))
        assert 0 < count(trace, select) < 100
        assert 10 * part < whole
