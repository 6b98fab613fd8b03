"""Pipes of the tree, and lanes: each record is read once, by whoever has its lane."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator

import pytest
from tracefs_shell import Shell
from tree_calls import end, leaf, outer, refused, together, traced

from funcgraph.tracefs.interface import Tree as AnyTree
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python


@pytest.fixture
def shell() -> Iterator[Shell]:
    tree: AnyTree = Tree()  # mypy: it is one
    yield Shell(tree)
    end()


# ---- pipes


def test_a_pipe_takes_what_it_reads(shell: Shell) -> None:
    traced(shell)
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    assert not pipe.ready
    with pytest.raises(BlockingIOError):
        pipe.read(0, 100)
    outer()
    assert pipe.ready
    whole = shell.cat("trace")
    first = pipe.read(0, 10)
    rest = b"".join(iter(lambda: pipe.read(0, 37) if pipe.ready else b"", b""))
    assert first + rest == "".join(f"{line}\n" for line in whole.split("\n")[4:-1]).encode()
    assert "leaf" not in shell.cat("trace")
    leaf()
    assert b"leaf" in pipe.read(0, 1000)
    pipe.close()


def test_a_pipe_ends_when_tracing_is_off_and_it_has_read_something(shell: Shell) -> None:
    traced(shell)
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    shell.echo("0\n", "tracing_on")
    assert not pipe.ready
    with pytest.raises(BlockingIOError):
        pipe.read(0, 100)
    shell.echo("1\n", "tracing_on")
    leaf()
    shell.echo("0\n", "tracing_on")
    assert b"leaf" in pipe.read(0, 1000)
    assert pipe.ready
    assert pipe.read(0, 1000) == b""
    pipe.close()


def test_a_pipe_has_one_reader_and_keeps_the_tracer(shell: Shell) -> None:
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "per_cpu/cpu0/trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.echo, "function\n", "current_tracer")
    assert shell.write("trace_options", b"nooverwrite\n") == 12
    pipe.close()
    lane = shell.tree.open("per_cpu/cpu0/trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY)
    lane.close()
    shell.tree.open("trace_pipe", os.O_RDONLY).close()


def test_a_write_to_a_pipe_is_refused(shell: Shell) -> None:
    refused(errno.EINVAL, shell.write, "trace_pipe", b"x\n")


# ---- lanes


def test_a_lane_is_the_number_in_the_text(shell: Shell) -> None:
    traced(shell)
    together(3)
    shell.echo("0\n", "tracing_on")
    whole = shell.cat("trace").splitlines()
    assert shell.tree.list("per_cpu") == ["cpu0", "cpu1", "cpu2"]
    for lane in range(3):
        own = [line for line in whole if line.startswith(f" {lane}) ") and "=>" not in line]
        shown = shell.cat(f"per_cpu/cpu{lane}/trace").splitlines()
        assert [line for line in shown if "=>" not in line and line.startswith(" ")] == own
        assert len(own) == 3
    refused(errno.ENOENT, shell.tree.stat, "per_cpu/cpu3")
    refused(errno.ENOENT, shell.tree.stat, "per_cpu/cpu00/trace")
    assert shell.cat("tracing_cpumask") == "7\n"
    assert len(shell.cat("saved_cmdlines").splitlines()) == 3


def test_a_pipe_of_a_lane_leaves_the_others_theirs(shell: Shell) -> None:
    traced(shell)
    together(3)
    shell.echo("0\n", "tracing_on")
    expected = {
        lane: [
            line
            for line in shell.cat("trace").splitlines()
            if line.startswith(f" {lane}) ") and "=>" not in line
        ]
        for lane in range(3)
    }
    assert shell.cat("per_cpu/cpu1/trace_pipe").splitlines() == expected[1]
    assert "read events: 4\n" in shell.cat("per_cpu/cpu1/stats")
    assert "read events: 0\n" in shell.cat("per_cpu/cpu0/stats")
    assert shell.cat("per_cpu/cpu1/trace_pipe") == ""
    rest = shell.cat("trace_pipe")
    assert sorted(line for line in rest.splitlines() if "()" in line) == sorted(
        line for lane in (0, 2) for line in expected[lane] if "()" in line
    )
    assert shell.cat("trace_pipe") == ""


def test_the_figures_of_a_lane(shell: Shell) -> None:
    traced(shell)
    outer()
    lines = dict(line.split(": ", 1) for line in shell.cat("per_cpu/cpu0/stats").splitlines())
    assert list(lines) == [
        "entries",
        "overrun",
        "commit overrun",
        "bytes",
        "oldest event ts",
        "now ts",
        "dropped events",
        "read events",
    ]
    assert lines["entries"] == "6"
    assert int(lines["bytes"]) > 6 * 16
    assert 0 < float(lines["oldest event ts"]) < float(lines["now ts"])


def test_losses_are_counted(shell: Shell) -> None:
    shell.echo("32\n", "buffer_size_kb")
    traced(shell)
    for _ in range(3000):
        outer()
    assert int(re.findall(r"\noverrun: (\d+)", shell.cat("per_cpu/cpu0/stats"))[0]) > 0
