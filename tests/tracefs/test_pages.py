"""trace_pipe_raw: pages of the kernel's ring buffer, read as events/header_page and the formats say."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tracefs_shell import Shell

import funcgraph
from funcgraph.buffer import event_ids
from funcgraph.definitions import addresses
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python

HERE = __name__
PAGE_BYTES = 4096
BASE = Path(__file__).resolve().parent.parent.parent / "src" / "tracedata" / "base"


def leaf(n: object) -> object:
    return n


def outer(n: object) -> object:
    return leaf(n)


@pytest.fixture
def shell() -> Iterator[Shell]:
    yield Shell(Tree())
    for instance in list(funcgraph.instances().values()):
        instance.__exit__(None, None, None)
    funcgraph.dynamic_events.clear()


class Record:
    """A record, as a reader sees it that knows nothing but the files of events."""

    def __init__(self, time_ns: int, data: bytes, formats: dict[int, Format]) -> None:
        self.time_ns = time_ns
        self.data = data
        self.format = formats[struct.unpack_from("<H", data)[0]]

    def __getitem__(self, name: str) -> int:
        offset, size = self.format.fields[name]
        return int.from_bytes(self.data[offset : offset + size], "little")

    def text(self, name: str) -> str:
        """Return a __data_loc."""
        at = self[name]
        return self.data[at & 0xFFFF : (at & 0xFFFF) + (at >> 16)].rstrip(b"\0").decode()


class Format:
    """The text of a file `format`."""

    def __init__(self, text: str) -> None:
        self.name = re.findall("^name: (.*)$", text, re.MULTILINE)[0]
        self.id = int(re.findall("^ID: (.*)$", text, re.MULTILINE)[0])
        fields = re.findall(r"field:.*? (\w+)(?:\[\])?;\toffset:(\d+);\tsize:(\d+);", text)
        self.fields = {name: (int(offset), int(size)) for name, offset, size in fields}


def formats_of(shell: Shell) -> dict[int, Format]:
    texts = [shell.cat(path) for path in shell.walk("events") if path.endswith("/format")]
    formats = [Format(text) for text in texts]
    assert len({one.id for one in formats}) == len(formats)  # a record's type is one event
    return {one.id: one for one in formats}


def records(pages: bytes, formats: dict[int, Format]) -> Iterator[Record]:
    """Read pages, written after Documentation/trace/ring-buffer-design.rst and events/header_event."""
    assert len(pages) % PAGE_BYTES == 0
    for begin in range(0, len(pages), PAGE_BYTES):
        time_ns, committed = struct.unpack_from("<QQ", pages, begin)
        at, end = begin + 16, begin + 16 + (committed & 0xFFFFF)
        while at < end:
            (head,) = struct.unpack_from("<I", pages, at)
            kind, delta = head & 31, head >> 5
            at += 4
            if kind == 30:
                time_ns += delta + (struct.unpack_from("<I", pages, at)[0] << 27)
                at += 4
                continue
            assert kind < 29
            size = kind * 4
            if kind == 0:
                size = struct.unpack_from("<I", pages, at)[0] - 4
                at += 4
            time_ns += delta
            yield Record(time_ns, pages[at : at + size], formats)
            at += size


def names_of(shell: Shell) -> dict[int, str]:
    lines = shell.cat("available_filter_functions_addrs").splitlines()
    return {int(line.split(" ", 1)[0], 16): line.split(" ", 1)[1] for line in lines}


def test_calls_are_in_the_pages(shell: Shell) -> None:
    shell.echo(f"{HERE}.leaf {HERE}.outer\n", "set_ftrace_filter")
    shell.echo("function_graph\n", "current_tracer")
    outer(1)
    shell.echo("hello\n", "trace_marker")
    pages = shell.cat_bytes("per_cpu/cpu0/trace_pipe_raw")
    found = list(records(pages, formats_of(shell)))
    assert [one.format.name for one in found] == [
        "funcgraph_entry",
        "funcgraph_entry",
        "funcgraph_exit",
        "funcgraph_exit",
        "print",
    ]
    names = names_of(shell)
    assert [names[one["func"]] for one in found[:4]] == [
        f"{HERE}.{name}" for name in ("outer", "leaf", "leaf", "outer")
    ]
    assert [one["depth"] for one in found[:4]] == [0, 1, 1, 0]
    assert [one.time_ns for one in found] == sorted(one.time_ns for one in found)
    assert found[2]["calltime"] == found[1].time_ns
    assert b"hello" in found[4].data
    assert "leaf" not in shell.cat("trace")


def test_a_function_has_one_address_in_all_pages(shell: Shell) -> None:
    """In a trace.dat it is a number within the file: the first function of each has the same."""
    shell.echo(f"{HERE}.leaf\n", "set_ftrace_filter")
    shell.echo("function\n", "current_tracer")
    found = []
    for name in ("leaf", "outer", "leaf"):
        shell.echo(f"{HERE}.{name}\n", "set_ftrace_filter")
        outer(1)
        pages = shell.cat_bytes("per_cpu/cpu0/trace_pipe_raw")
        found += [one["ip"] for one in records(pages, formats_of(shell))]
    names = names_of(shell)
    assert [names[address] for address in found] == [f"{HERE}.{name}" for name in ("leaf", "outer", "leaf")]
    assert found[0] == found[2] != found[1]


def test_events_are_as_their_formats_say(shell: Shell) -> None:
    """Also a field of any type, which is a number in a trace.dat if all its values are."""
    shell.echo(f"f:bad/gone {HERE}.outer\nf:shop/one {HERE}.leaf n=n:u32 s=$symbol v=n\n", "dynamic_events")
    shell.tree.open("dynamic_events", os.O_WRONLY | os.O_APPEND).write(0, b"-:bad/gone\n")
    shell.echo("1\n", "events/shop/one/enable")
    leaf(17)
    (one,) = records(shell.cat_bytes("per_cpu/cpu0/trace_pipe_raw"), formats_of(shell))
    assert one.format.name == "one"
    assert one.format.id == int(shell.cat("events/shop/one/id"))
    names = names_of(shell)
    assert (one["n"], one.text("v")) == (17, "17")
    assert names[one["__probe_ip"]] == names[one["s"]] == f"{HERE}.leaf"


def test_losses_are_told(shell: Shell) -> None:
    shell.echo("32\n", "buffer_size_kb")
    shell.echo(f"{HERE}.leaf {HERE}.outer\n", "set_ftrace_filter")
    shell.echo("function_graph\n", "current_tracer")
    for _ in range(3000):
        outer(1)
    pages = shell.cat_bytes("per_cpu/cpu0/trace_pipe_raw")
    assert struct.unpack_from("<Q", pages, 8)[0] >> 31 & 1
    assert sum(1 for _ in records(pages, formats_of(shell))) > 100


def test_the_numbers_are_those_of_the_engine() -> None:
    events = (BASE / "trace_event.h").read_text()
    assert f"#define FG_EVENT_FIRST_DYNAMIC {event_ids.FIRST}u" in events
    assert f"X(print, {event_ids.PRINT_ID}, " in events
    functions = (BASE / "function_address.h").read_text()
    assert f"#define FG_FUNC_ADDRESS_BASE {addresses.FIRST:#x}u" in functions
