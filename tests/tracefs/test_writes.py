"""Writes to files of the tree: lists with O_TRUNC and without, the buffer, markers."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest
from tracefs_shell import Shell
from tree_calls import end, refused

from funcgraph import _engine
from funcgraph.tracefs.interface import Tree as AnyTree
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python


@pytest.fixture
def shell() -> Iterator[Shell]:
    tree: AnyTree = Tree()  # mypy: it is one
    yield Shell(tree)
    end()


# ---- lists


def test_truncation_empties_a_list_and_appending_extends_it(shell: Shell) -> None:
    shell.echo("a.* b.*\n", "set_ftrace_filter")
    shell.echo("c.f\n", "set_ftrace_filter", append=True)
    assert shell.cat("set_ftrace_filter") == "a.*\nb.*\nc.f\n"
    shell.echo("!b.*\n", "set_ftrace_filter", append=True)
    assert shell.cat("set_ftrace_filter") == "a.*\nc.f\n"
    shell.write("set_ftrace_filter", b"d.f\n")  # neither O_TRUNC nor O_APPEND: it adds
    assert shell.cat("set_ftrace_filter") == "a.*\nc.f\nd.f\n"
    for path, empty in (
        ("set_ftrace_filter", "#### all functions enabled ####\n"),
        ("set_ftrace_pid", "no pid\n"),
    ):
        shell.tree.open(path, os.O_WRONLY | os.O_TRUNC).close()
        assert shell.cat(path) == empty


def test_a_blank_line_empties_a_list(shell: Shell) -> None:
    shell.echo("a.f\n", "set_ftrace_filter")
    shell.write("set_ftrace_filter", b"\n")
    assert shell.cat("set_ftrace_filter") == "a.f\n"
    file = shell.tree.open("set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    assert file.write(0, b"\n") == 1
    assert shell.cat("set_ftrace_filter") == "#### all functions enabled ####\n"
    file.close()


def test_a_list_keeps_tracing_until_the_first_write_replaces_it(shell: Shell) -> None:
    """Broken by emptying it at open(): every function would be traced in between."""
    shell.echo("a.f\n", "set_ftrace_filter")
    file = shell.tree.open("set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    assert shell.cat("set_ftrace_filter") == "a.f\n"
    file.write(0, b"b.f\n")
    assert shell.cat("set_ftrace_filter") == "b.f\n"
    file.write(4, b"c.f\n")
    file.close()
    assert shell.cat("set_ftrace_filter") == "b.f\nc.f\n"


def test_a_refused_write_keeps_the_list(shell: Shell) -> None:
    shell.echo("a.f\n", "set_ftrace_filter")
    refused(errno.EINVAL, shell.echo, "#x\n", "set_ftrace_filter")
    assert shell.cat("set_ftrace_filter") == "a.f\n"


def test_a_word_may_go_on_in_the_next_write(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shells write in pieces of 4096 bytes. Broken: reading looked at all functions once for each pattern."""
    names, looks = _engine.function_names, []
    monkeypatch.setattr(_engine, "function_names", lambda patterns: looks.append(patterns) or names(patterns))
    expected = [f"modulé{number}.*" for number in range(2000)]
    data = "\n".join(expected).encode()
    file = shell.tree.open("set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    for at in range(0, len(data), 1021):
        assert file.write(at, data[at : at + 1021]) == len(data[at : at + 1021])
    file.close()
    assert shell.cat("set_ftrace_filter").splitlines() == expected
    assert 0 < len(looks) < 5


def test_the_only_word_without_an_end_replaces_the_list(shell: Shell) -> None:
    shell.echo("a.f\n", "set_ftrace_filter")
    shell.echo("b.f", "set_ftrace_filter")
    assert shell.cat("set_ftrace_filter") == "b.f\n"


def test_a_trigger_file_opened_anew_loses_its_histograms(shell: Shell) -> None:
    trigger = "events/py/raise/trigger"
    shell.echo("traceoff\n", trigger, append=True)
    shell.echo("hist:keys=line\n", trigger, append=True)
    assert "hist:keys=line" in shell.cat(trigger)
    shell.tree.open(trigger, os.O_WRONLY | os.O_TRUNC).close()
    assert shell.cat(trigger) == "traceoff:unlimited\n"
    shell.echo("!traceoff\n", trigger)


# ---- the buffer


@pytest.mark.parametrize(("flags", "cleared"), [(os.O_TRUNC, True), (os.O_APPEND, False), (0, True)])
def test_who_clears_the_trace(shell: Shell, flags: int, cleared: bool) -> None:
    shell.echo("hello\n", "trace_marker")
    shell.write("trace", b"\n", flags)
    assert ("hello" in shell.cat("trace")) is not cleared


def test_opening_the_trace_with_truncation_is_enough(shell: Shell) -> None:
    shell.echo("hello\n", "trace_marker")
    shell.tree.open("trace", os.O_WRONLY | os.O_TRUNC).close()
    assert "hello" not in shell.cat("trace")


def test_a_marker_is_taken_a_page_at_a_time(shell: Shell) -> None:
    text = "é" * 4000
    assert shell.write("trace_marker", b"x" + text.encode()) == 4095  # no character is cut
    shell.echo("0\n", "tracing_on")
    assert shell.cat("trace").count("é") == 4000  # nor where the engine goes on in another record
    refused(errno.EBADF, shell.echo, "late\n", "trace_marker")


def test_raw_data_is_one_record_a_write(shell: Shell) -> None:
    for data in (b"\x2f\0\0\0", b"\x2f\0\0\0\xff\0\n", b"\xff" * 992):
        assert shell.write("trace_marker_raw", data) == len(data)
    for data in (b"", b"\x2f\0\0", b"x" * 993):
        refused(errno.EINVAL, shell.write, "trace_marker_raw", data)
    lines = [line.partition(": ")[2] for line in shell.cat("trace").splitlines() if "buf:" in line]
    assert lines == ["# 2f buf:", "# 2f buf: ff 00 0a 00", "# ffffffff buf:" + " ff" * 988]
    shell.echo("0\n", "tracing_on")
    refused(errno.EBADF, shell.write, "trace_marker_raw", b"late")


def test_free_buffer_acts_when_it_is_closed(shell: Shell) -> None:
    shell.echo("hello\n", "trace_marker")
    file = shell.tree.open("free_buffer", os.O_WRONLY)
    assert file.write(0, b"x\n") == 2
    assert "hello" in shell.cat("trace")
    file.close()
    assert "hello" not in shell.cat("trace")
    assert shell.cat("buffer_size_kb") == "32\n"
