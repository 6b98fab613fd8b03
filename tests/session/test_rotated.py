"""`funcgraph summary` of all files of a rotation is that of one file."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from conftest import Funcgraph

pytestmark = pytest.mark.one_python

PROGRAM = """
import os, threading
def leaf(n): return n
def outer(n):
    for i in range(n): leaf(i)
def long():
    count = 0
    while not os.path.exists("trace.fg.3"):
        outer(40)
        count += 40
    return count
counts = []
threads = [threading.Thread(target=lambda: counts.append(long())) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(counts))
"""


@pytest.fixture
def rotated(fg: Funcgraph) -> tuple[list[Path], int]:
    """Record into several files; return all of them, and how often leaf() was called."""
    flags = ("-q", "-b", "256", "--rotate", "64K", "--keep", "500", "-l", "__main__.*")
    done = fg.record(*flags, "-o", fg.trace, fg.script(PROGRAM))
    assert done.returncode == 0, done.stderr
    files = sorted(fg.folder.glob("trace.fg*"))
    assert len(files) >= 4
    return files, int(done.stdout)


def test_the_summary_of_all_files_is_exact(fg: Funcgraph, rotated: tuple[list[Path], int]) -> None:
    files, count = rotated
    shuffled = random.Random(1).sample(files, len(files))
    done = fg.run("summary", "--json", *shuffled)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(done.stdout)["functions"]}
    assert rows["__main__.leaf"]["calls"] == count
    assert rows["__main__.outer"]["calls"] == count // 40
    assert rows["__main__.long"]["calls"] == 2
    assert sum(fg.calls(path)["__main__.long"] for path in files) > 2
    assert "one of several files" not in fg.run("summary", *files).stdout


def test_one_file_alone_says_that_calls_may_count_twice(
    fg: Funcgraph, rotated: tuple[list[Path], int]
) -> None:
    files, _ = rotated
    for path in files[:2]:
        last = fg.run("summary", path).stdout.splitlines()[-1]
        assert last.startswith("one of several files of a recording: a call that spans two counts in each")


def test_a_missing_file_hides_no_names(fg: Funcgraph, rotated: tuple[list[Path], int]) -> None:
    files, _ = rotated
    left = [path for path in files if not path.name.endswith(".2")]
    done = fg.run("summary", "--json", *left)
    names = {row["name"] for row in json.loads(done.stdout)["functions"]}
    assert "<unknown>" not in names and names >= {"__main__.leaf", "__main__.outer", "__main__.long"}


def test_files_of_other_recordings_are_refused(fg: Funcgraph, rotated: tuple[list[Path], int]) -> None:
    files, _ = rotated
    other = fg.folder / "other.fg"
    assert fg.record("-q", "-o", other, fg.script("def f(): pass\nf()\n")).returncode == 0
    for words, message in (
        ((files[0], other), "not files of one recording (`funcgraph merge` makes one trace of several)"),
        ((files[0], files[0]), "is given twice"),
    ):
        done = fg.run("summary", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
