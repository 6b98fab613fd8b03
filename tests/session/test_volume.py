"""A recording of more than 1 GB a minute says so once, and names the functions that make most of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from ringfile import add_ring, leaf
from tracereader import Desk

import funcgraph
from funcgraph.recorder import volume
from funcgraph.session import block

pytestmark = pytest.mark.one_python

GB = 1_000_000_000


class Spool:
    """Stands for a Recording: only the size of its spool counts."""

    def __init__(self, folder: Path) -> None:
        self.part = str(folder / "trace.fg.part")
        self.grow_to(0)

    def grow_to(self, size: int) -> None:
        with open(self.part, "wb") as file:
            file.truncate(size)  # takes no room

    def written(self) -> int:
        return Path(self.part).stat().st_size

    def heaviest(self, count: int) -> list[tuple[str, float]]:
        return [("m.hot", 0.75), ("m.warm", 0.2)]


def test_the_limit_is_what_is_written_within_a_minute(tmp_path: Path) -> None:
    now_s, spool = 100.0, Spool(tmp_path)
    watch = volume.VolumeWatch(spool, lambda: now_s)  # type: ignore[arg-type]
    assert watch.warning() is None
    assert not watch.due()
    for minute in range(1, 4):  # 0.9 GB a minute for ever is fine
        now_s += 60
        assert watch.due()
        spool.grow_to(minute * GB * 9 // 10)
        assert watch.warning() is None
    now_s += 30
    spool.grow_to(4 * GB)
    line = watch.warning()
    assert line is not None
    assert line.startswith("this records more than 1 GB a minute, most of it: m.hot 75%, m.warm 20%; -n ")
    now_s += 30
    spool.grow_to(8 * GB)
    assert not watch.due()
    assert watch.warning() is None  # once
    assert watch.warnings == [line]


def test_the_heaviest_functions_are_those_with_most_bytes(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    recorder = desk.recorder()
    assert recorder.heaviest(5) == []
    for pid, calls in ((4711, (1, 6, 3)), (4712, (0, 0, 10))):  # two processes number functions differently
        ring = desk.ring(pid, nr_subbufs=32)
        for i, name in enumerate(("a", "b", "c")):
            ring.function(i, f"m.{name}")
        ring.task(1, pid)
        time = 1_000_000_000
        for function, count in enumerate(calls):
            for _ in range(count):
                ring.put(1, leaf(time, function, 0, 1))
                time += 10
        ring.finish()
        recorder.finish(add_ring(recorder, ring.path))
    assert recorder.heaviest(5) == [("m.c", 0.65), ("m.b", 0.3), ("m.a", 0.05)]
    assert recorder.heaviest(2) == [("m.c", 0.65), ("m.b", 0.3)]
    for wrong in (0, 33, -1):
        with pytest.raises(ValueError, match="count must be in 1 to 32"):
            recorder.heaviest(wrong)


LOWERED = """
import sys
from funcgraph import cli
import funcgraph
from funcgraph.session import block
from funcgraph.recorder import volume
volume.LIMIT_BYTES = 5_000
sys.exit(cli.main(["record", "-q", *sys.argv[1:]]))
"""


def test_record_warns_once(fg: Funcgraph) -> None:
    script = fg.script("""
        def rare(): hot(); hot(); hot()
        def hot(): pass
        for _ in range(2000): rare()
    """)
    result = fg.plain(sys.executable, "-c", LOWERED, script)
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    found = re.search(r"GB a minute, most of it: __main__\.hot (\d+)%, __main__\.rare (\d+)%[;,]", line)
    assert found and int(found[1]) > 70 and int(found[2]) < 30
    assert fg.record("-q", script).stderr == ""


def hot() -> None:
    pass


def test_a_recorded_block_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = "funcgraph.recorder import volume; volume.LIMIT_BYTES = 1_000"
    monkeypatch.setattr(block, "_MODULE", f"{lowered}; from {block._MODULE}")
    recording = funcgraph.record(tmp_path / "trace.fg", filter=["*.hot"])
    recording.__enter__()
    for _ in range(1000):
        hot()
    with pytest.warns(RuntimeWarning, match=r"GB a minute, most of it: .*hot \d+%"):
        recording.__exit__(None, None, None)
