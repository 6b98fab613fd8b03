"""A TraceFile is the trace that it was when it was opened, also while the file grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from ringfile import RingFile, add_ring, leaf

from funcgraph import _tracedata
from funcgraph.tracedata import TraceError, TraceFile

pytestmark = pytest.mark.one_python


class Growing:
    """A spool of one ring; each call makes it longer, by a function and a thread that it did not name."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trace.fg.part"
        self.ring = RingFile(folder / "7.1.ring", 7)
        self.recorder = _tracedata.Recorder(self.path)
        self.number = add_ring(self.recorder, self.ring.path)
        self.calls = 0

    def call(self) -> None:
        # Each began before the others: a lane that a task had becomes another one's.
        begin = 1_000_000 - 1000 * self.calls
        self.ring.function(self.calls, f"m.f{self.calls}")
        self.ring.task(self.calls + 1, 100 + self.calls, f"t{self.calls}")
        self.ring.put(self.calls + 1, leaf(begin, self.calls, 0, 5_000_000))
        self.calls += 1
        self.recorder.drain(self.number)


def text(trace: TraceFile) -> str:
    return b"".join(trace.report()).decode()


def test_it_stays_as_it_was_opened(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    growing.call()
    trace = TraceFile(growing.path)
    once = TraceFile(growing.path)
    whole = text(TraceFile(growing.path))
    growing.call()
    assert "m.f0();" in whole and "m.f1();" in text(TraceFile(growing.path))
    for _ in range(2):
        assert text(trace) == whole
        assert [row.function.name for row in trace.summary()] == ["m.f0"]
    assert [row.function.name for row in once.summary()] == ["m.f0"]
    assert text(once) == whole


def test_two_reports_can_be_read_at_one_time(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    growing.call()
    trace = TraceFile(growing.path)
    whole = text(trace)
    one, other = trace.report(), trace.report()
    first = next(one)
    assert b"".join(other).decode() == whole
    growing.call()
    with pytest.raises(TraceError, match="the file has grown since it was opened"):
        trace.summary()
    assert (first + b"".join(one)).decode() == whole
    del one, other
    assert text(trace) == whole
