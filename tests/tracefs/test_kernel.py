"""What a Linux kernel answered to writes, byte for byte and errno for errno, asked of the tree again.

data/errors.txt has the transcript: `FILE: write("TEXT", BYTES) = RESULT`, below it what the file held then.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tracefs_shell import Shell

import funcgraph
from funcgraph.tracefs.tree import Tree
from tests.events import kernel_shell
from tests.events.replayed import LEFT_OUT, LINES_LEFT_OUT

pytestmark = pytest.mark.one_python

DATA = Path(__file__).resolve().parent / "data" / "errors.txt"
_WRITE = re.compile(r'^(\S+): write\("(.*)", (\d+)\) = (-?\w+)')
_ACCESS = re.compile(r"^(\S+): (read|open\(WR\|TRUNC\)) = -(\w+)")

#: Files that are not here (docs/reference/tracefs.md), and those whose options belong to the kernel alone.
ABSENT = (
    "buffer_percent",
    "syscall_user_buf_size",
    "stack_max_size",
    "trace_marker_raw",
)
ABSENT += ("dyn_ftrace_total_info",)

#: (file, text) -> what is answered here, and why.
DIFFERENT: dict[tuple[str, str], tuple[int, str]] = {
    ("buffer_subbuf_size_kb", ""): (errno.EINVAL, "pages are always of 4 KiB: it is read-only"),
    ("trace_options", "noprint-parent"): (errno.EINVAL, "no such option"),
    ("trace_options", "print-parent"): (errno.EINVAL, "no such option"),
    ("trace_options", " print-parent "): (errno.EINVAL, "no such option"),
    ("trace_options", "function-trace"): (errno.EINVAL, "no such option"),
    ("set_ftrace_pid", "0"): (errno.EINVAL, "no thread has the id 0"),
    ("set_event_pid", "0"): (errno.EINVAL, "no thread has the id 0"),
    ("set_ftrace_notrace_pid", "0"): (errno.EINVAL, "no thread has the id 0"),
}
if os.sysconf("SC_NPROCESSORS_CONF") == 1:
    DIFFERENT["tracing_cpumask", "3"] = (errno.EOVERFLOW, "there is one lane")
#: Files whose values differ because of what they measure, and that hold no value.
UNSHOWN = (
    "buffer_size_kb",
    "saved_cmdlines_size",
    "snapshot",
    "tracing_cpumask",
    "trace_clock",
    "set_ftrace_pid",
    "set_ftrace_notrace_pid",
)
UNSHOWN += ("buffer_subbuf_size_kb", "set_event_pid")


class Query(NamedTuple):
    line: int
    file: str
    text: str
    result: str
    shown: str  # the first line that the file held then; "": not told


def queries() -> Iterator[Query]:
    lines = DATA.read_text().splitlines()
    for at, line in enumerate(lines):
        if found := _WRITE.match(line):
            text = found[2].encode().decode("unicode_escape")
            shown = lines[at + 1].removeprefix("     -> ") if "     -> " in lines[at + 1] else ""
            yield Query(at + 1, found[1], text, found[4], shown)


@pytest.fixture
def shell() -> Iterator[Shell]:
    kernel_shell.begin()
    shell = Shell(Tree())
    shell.echo("0\n", "tracing_on")
    yield shell
    funcgraph.instances()["top"].close()
    funcgraph.dynamic_events.clear()
    funcgraph.dynamic_events.log.clear()


def answer(shell: Shell, one: Query) -> str:
    """Return the result of the write: how many bytes it took, or the errno."""
    file = shell.tree.open(one.file, os.O_WRONLY | (os.O_APPEND if one.text == "6\n" else os.O_TRUNC))
    try:
        return str(file.write(0, one.text.encode()))
    except OSError as error:
        return f"-{errno.errorcode[error.errno or 0]}"
    finally:
        file.close()


def expected(one: Query) -> str:
    for text in (one.text.removesuffix("\n"), ""):
        if text == "" and one.file != "buffer_subbuf_size_kb" and one.text.strip("\n"):
            continue
        if (one.file, text) in DIFFERENT:
            number = DIFFERENT[one.file, text][0]
            return f"-{errno.errorcode[number]}" if number else str(len(one.text))
    return one.result


def test_writes_are_answered_as_the_kernel_does(shell: Shell) -> None:
    """Broken by any other errno, and by a write that takes other bytes."""
    compared, shown = 0, 0
    for one in queries():
        if one.file.startswith(ABSENT) or one.file.startswith("events/sched/sched_switch/i"):
            continue
        if one.file == "trace_options" and "funcgraph" in one.text:
            shell.echo("function_graph\n" if one.result[0] != "-" else "nop\n", "current_tracer")
        assert answer(shell, one) == expected(one), one
        compared += 1
        if one.shown and one.file not in UNSHOWN and not one.file.startswith("per_cpu"):
            assert shell.cat(one.file).splitlines()[0] == one.shown, one
            shown += 1
    assert (compared, shown) > (190, 90)


def test_accesses_are_answered_as_the_kernel_does(shell: Shell) -> None:
    compared = 0
    for line in DATA.read_text().splitlines():
        found = _ACCESS.match(line)
        if not found or found[1] in ABSENT:
            continue
        with pytest.raises(OSError) as caught:
            shell.tree.open(found[1], os.O_RDONLY if found[2] == "read" else os.O_WRONLY).read(0, 1)
        assert errno.errorcode[caught.value.errno or 0] == found[3], line
        compared += 1
    assert compared == 5


# ---- sessions with triggers and function commands


class InstanceFiles:
    """The files of an instance in the tree, as Instance.files: kernel_shell knows no other."""

    def __init__(self, shell: Shell, name: str) -> None:
        self.shell = shell
        self.folder = f"instances/{name}/"

    def write(self, name: str, text: str, append: bool = False) -> None:
        if text or append:
            self.shell.echo(f"{text}\n", self.folder + name, append)
        else:
            self.shell.tree.open(self.folder + name, os.O_WRONLY | os.O_TRUNC).close()

    def __getitem__(self, name: str) -> str:
        return self.shell.cat(self.folder + name)

    def __contains__(self, name: str) -> bool:
        try:
            return not self.shell.tree.stat(self.folder + name).is_folder
        except OSError:
            return False


class TreeInstance:
    """An instance of which the kernel's shell sees its folder alone."""

    def __init__(self, shell: Shell, name: str) -> None:
        self.files = InstanceFiles(shell, name)


@pytest.mark.parametrize(
    ("name", "least"), [("triggers.txt", 20), ("triggers_errors.txt", 4), ("function_commands.txt", 10)]
)
def test_sessions_run_as_in_the_kernel(shell: Shell, name: str, least: int) -> None:
    """What test_triggers.py replays with Instance.files, through the tree."""
    shell.tree.mkdir("instances/kernel")
    with funcgraph.instances()["kernel"]:
        kernel = kernel_shell.Shell(TreeInstance(shell, "kernel"))  # type: ignore[arg-type]
        for line in kernel_shell.lines_of(name):
            left_out = any(line.section.startswith(section) for section in LEFT_OUT)
            if line.is_shell and not left_out and (name, line.number) not in LINES_LEFT_OUT:
                kernel.run(line)
        assert kernel.compared >= least
