"""The tools that people use on tracefs do on a mount what they do there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_python

VIM = shutil.which("vim") or shutil.which("vim.tiny")
EVENTS = [f"sched:event_{number}" for number in range(2000)]


def run(folder: Path, *words: str, **settings: Any) -> str:
    """Run a program in the mount; it must succeed without a word on standard error."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


def test_ls_lists_modes_and_sizes(mounted: Path) -> None:
    rows = {line.split()[-1]: line.split() for line in run(mounted, "ls", "-l").splitlines()[1:]}
    assert {name: row[0] for name, row in rows.items()} == {
        "available_events": "-r--r-----",
        "instances": "drwxr-x---",
        "set_ftrace_filter": "-rw-r-----",
        "trace_marker": "--w--w----",
        "trace_pipe": "-r--r-----",
        "writes": "-r--r-----",
        "written_at_close": "-rw-r-----",
    }
    assert {row[4] for name, row in rows.items() if name != "instances"} == {"0"}


def test_find_walks_the_tree_and_numbers_of_files_stay(mounted: Path) -> None:
    (mounted / "instances" / "found").mkdir()
    try:
        paths = run(mounted, "find", ".", "-name", "set_*").split()
        assert sorted(paths) == ["./instances/found/set_ftrace_filter", "./set_ftrace_filter"]
        first, second = (run(mounted, "find", ".", "-printf", "%i %y %p\\n") for _ in range(2))
        assert first == second
        numbers = [line.split()[0] for line in first.splitlines()]
        assert len(set(numbers)) == len(numbers)
    finally:
        (mounted / "instances" / "found").rmdir()


def test_grep_looks_into_files_of_size_0(mounted: Path) -> None:
    found = run(mounted, "grep", "-r", "--exclude=trace_*", "event_1999", ".")
    assert found == "./available_events:sched:event_1999\n"


def test_head_and_dd_may_read_in_small_pieces(mounted: Path) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", "cat available_events | head -2"], cwd=mounted, capture_output=True
    )
    assert done.stdout.decode().split() == EVENTS[:2]
    pieces = run(mounted, "dd", "if=available_events", "bs=1", "count=25", "status=none")
    assert pieces == "\n".join(EVENTS)[:25]
    assert (
        run(mounted, "dd", "if=available_events", "bs=1", "skip=14", "count=13", "status=none") == EVENTS[1]
    )
    assert run(mounted, "tail", "-n", "1", "available_events").split() == EVENTS[-1:]


def test_tee_and_cp_write(mounted: Path, tmp_path: Path) -> None:
    assert run(mounted, "tee", "set_ftrace_filter", input="a.f\nb.g\n") == "a.f\nb.g\n"
    assert run(mounted, "tee", "-a", "set_ftrace_filter", input="c.h\n") == "c.h\n"
    assert run(mounted, "cat", "set_ftrace_filter") == "a.f\nb.g\nc.h\n"
    (tmp_path / "list").write_text("d.i\n")
    run(mounted, "cp", str(tmp_path / "list"), "set_ftrace_filter")
    assert run(mounted, "cat", "set_ftrace_filter") == "d.i\n"


@pytest.mark.skipif(VIM is None, reason="vim is not installed")
def test_vim_edits_a_list(mounted: Path) -> None:
    (mounted / "set_ftrace_filter").write_text("a.f b.g")
    commands = ["-c", "%s/b.g/c.h/", "-c", "wq"]
    assert VIM is not None
    run(mounted, VIM, "-u", "NONE", "-es", *commands, "set_ftrace_filter", stdin=subprocess.DEVNULL)
    assert run(mounted, "cat", "set_ftrace_filter") == "a.f\nc.h\n"


def test_tail_f_follows_the_pipe_until_it_is_interrupted(mounted: Path) -> None:
    lines = [f"line {number:<40}\n" for number in range(2000)]  # tail writes whole blocks
    words = ["tail", "-n", "+1", "-f", "trace_pipe"]
    with subprocess.Popen(words, cwd=mounted, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        seen = 0
        for part in (lines[:1000], lines[1000:]):
            (mounted / "trace_marker").write_text("".join(part))
            read = [tail.stdout.readline() for _ in range(800)]
            assert read == lines[seen : seen + 800]
            seen += 800
        tail.send_signal(signal.SIGINT)
        assert tail.wait(60) == -signal.SIGINT


def test_the_table_of_mounts_names_it(mounted: Path) -> None:
    line = next(line for line in Path("/proc/mounts").read_text().splitlines() if str(mounted) in line)
    assert re.match(r"memory \S+ fuse\.funcgraph rw,.*default_permissions", line)
    assert os.path.ismount(mounted)
