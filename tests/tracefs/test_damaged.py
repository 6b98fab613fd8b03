"""Damaged writes to every file of a tracefs, and damaged paths: the kernel's errnos, and nothing changes."""

from __future__ import annotations

import errno
import gc
import os
import random
import sys
from collections.abc import Iterator

import pytest
from support.sizes import DAMAGED_REQUESTS

import funcgraph
from funcgraph.instance.control_files import file_table
from funcgraph.instance.control_files.access import get
from funcgraph.instance.control_files.buffer_files import BUFFER_FILES
from funcgraph.instance.control_files.value_files import VALUE_FILES
from funcgraph.settings.table import BY_FILE, OPTIONS
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python

HERE = __name__

#: The numbers of a write's errors, whichever the file. The others are in its row.
ANY_FILE = (errno.EINVAL, errno.EBUSY, errno.ENODEV, errno.ENOMEM)
PATHS = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL, errno.EPERM, errno.EACCES}
PATHS |= {errno.ENAMETOOLONG, errno.EBUSY}

DEFINITIONS = f"f:bad/one {HERE}.first n=n:u32 text=text:string\n"
TEXTS = {
    "dynamic_events": f"f:bad/two {HERE}.first n=n:u8 text\n",
    "kprobe_events": f"p:bad/k {HERE}.first n\n",
    "synthetic_events": "late u64 lat; char name[]\n",
    "error_log": "\n",
    "set_event": "bad:one py:*\n",
    "available_events": "x\n",
    "current_tracer": "nop\n",
    "set_ftrace_filter": f"{HERE}.* a.f:traceoff:3 !b.* :mod:x 17\n",
    "set_ftrace_notrace": "a.* [!x]y\n",
    "set_graph_function": "a.* !a.*\n",
    "set_graph_notrace": "a.*\n",
    "set_ftrace_pid": "1 2 3\n",
    "set_event_pid": "1 2 3\n",
    "set_event_notrace_pid": "17\n",
    "trace_options": "nooverwrite\n",
    "trace_clock": "boot\n",
    "trace_marker": "a text\n",
    "tracing_cpumask": "1\n",
    "README": "x\n",
    "events/enable": "0\n",
    "events/bad/enable": "1\n",
    "events/bad/filter": "n > 3\n",
    "events/bad/one/enable": "1\n",
    "events/bad/one/filter": "n > 3 && text ~ 'a*'\n",
    "events/bad/one/trigger": "hist:keys=n.log2:sort=n if n > 1\n",
    "events/bad/one/id": "3\n",
    "per_cpu/cpu0/buffer_size_kb": "64\n",
    "per_cpu/cpu0/trace": "\n",
    "per_cpu/cpu0/stats": "\n",
}
NUMBERED = [row.name for row in (*VALUE_FILES.rows(), *BUFFER_FILES.rows()) if "w" in row.access]
NUMBERED = [name for name in NUMBERED if name not in TEXTS]
TEXTS |= dict.fromkeys([*NUMBERED, "saved_cmdlines_size", "free_buffer", "options/overwrite"], "1\n")
#: Definitions and switches of events find functions, which takes milliseconds: they are a tenth.
SLOW = (
    "dynamic_events",
    "kprobe_events",
    "events/enable",
    "events/bad/enable",
    "events/bad/one/enable",
    "set_event",
)
FILES = [*(name for name in TEXTS if name not in SLOW), *SLOW]
PIECES = [bytes([one]) for one in b"\"'\\$:[].-=/#\n \t;+@()~<,*?_nu10!"]
PIECES += [b"\0", b"\xff", b"\xc3", "é".encode(), "²".encode(), b"9" * 30, b"x" * 5000, b"0x", b"if ", b"!!"]
FLAGS = (os.O_TRUNC, os.O_APPEND, 0)


def first(n: int, text: str) -> int:
    return n


def damaged(chance: random.Random, text: bytes) -> bytes:
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(0, 3))
        text = text[:at] + chance.choice((b"", *PIECES)) + text[end:]
    return text


def errors_of(instance: funcgraph.Instance, name: str) -> tuple[int, ...]:
    """Return the numbers of errors that the row of a file has; its event may be deleted by now."""
    file = file_table.find(instance._state, name)
    return file.row.errors if file else ()


def held(instance: funcgraph.Instance) -> list[object]:
    """Return what writes can change, but for the texts of the buffer and the list of errors."""
    values: list[object] = [get(instance._state, name) for name in BY_FILE]
    values += [
        dict(instance._state.options),
        [*map(str, instance.function_commands)],
        instance.files["saved_cmdlines_size"],
        funcgraph.dynamic_events.read(),
    ]
    for name in instance.events:
        if name.startswith("bad/"):
            event = instance.events[name]
            values.append((name, event.enable, event.filter, event.trigger))
    return values


@pytest.fixture
def tree() -> Iterator[Tree]:
    yield Tree()
    for instance in list(funcgraph.instances().values()):
        instance.close()
    funcgraph.dynamic_events.clear()
    funcgraph.dynamic_events.log.clear()
    assert funcgraph.users() == []


@pytest.mark.timeout(300 + DAMAGED_REQUESTS // 20)
def test_a_refused_write_has_an_errno_and_changes_nothing(tree: Tree) -> None:
    chance = random.Random(16)
    counts = {"accepted": 0, "refused": 0}
    for _ in range(DAMAGED_REQUESTS // 500):
        with funcgraph.Instance("bad") as instance:
            funcgraph.dynamic_events.clear()
            tree.open("dynamic_events", os.O_WRONLY | os.O_APPEND).write(0, DEFINITIONS.encode())
            before = held(instance)
            for _ in range(500):
                name = chance.choice(FILES if chance.random() < 0.06 else FILES[: -len(SLOW)])
                text = damaged(chance, TEXTS[name].encode())
                before = write(tree, instance, name, text, chance.choice(FLAGS), before, counts)
            first(3, "abc")
    assert min(counts.values()) > DAMAGED_REQUESTS // 10, counts


def write(
    tree: Tree,
    instance: funcgraph.Instance,
    name: str,
    text: bytes,
    flags: int,
    before: list[object],
    counts: dict[str, int],
) -> list[object]:
    """Write a text and return what the files hold then.

    Broken by an exception other than OSError, a strange errno, and a refused text that changes something.
    """
    path = (
        name if name in ("dynamic_events", "kprobe_events", "synthetic_events") else f"instances/bad/{name}"
    )
    path = path if name not in ("README", "saved_cmdlines_size", "available_events") else name
    try:
        file = tree.open(path, os.O_RDWR | flags)
    except FileNotFoundError:
        return before  # its event was deleted
    except OSError as error:
        assert error.errno == errno.EBUSY and flags == os.O_TRUNC, (path, error)
        assert held(instance) == before
        return before
    if flags == os.O_TRUNC and "_events" in name:
        before = held(instance)
    try:
        taken = file.write(0, text)
        counts["accepted"] += 1
        assert 0 <= taken <= len(text)
    except OSError as error:
        counts["refused"] += 1
        assert error.errno in (*ANY_FILE, *errors_of(instance, name)), (path, text, error)
        assert error.strerror, (path, text, error)
        # Of several lines those that are right are done. O_TRUNC of a trigger file takes its histograms.
        if b"\n" not in text[:-1] and not (flags == os.O_TRUNC and name.endswith("trigger")):
            assert held(instance) == before, (path, text, flags)
    file.close()
    return held(instance)


def test_damaged_paths(tree: Tree) -> None:
    chance = random.Random(17)
    paths = [
        "trace",
        "options/overwrite",
        "instances/one",
        "events/py/raise/id",
        "per_cpu/cpu0/stats",
        "",
        "/",
    ]
    pieces = [
        "/",
        "..",
        ".",
        "",
        "instances",
        "top",
        "cpu1",
        "\0",
        "\udcff",
        "é",
        "x" * 300,
        "//",
        " ",
        "events/",
    ]
    for _ in range(DAMAGED_REQUESTS // 5):
        path = chance.choice(paths)
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(path))
            path = path[:at] + chance.choice(pieces) + path[at + chance.randint(0, 2) :]
        for call in (tree.stat, tree.list, tree.mkdir, tree.rmdir):
            request(call, path)
        request(lambda path: tree.open(path, os.O_RDWR).close(), path)
    assert all("/" not in name and "\0" not in name for name in funcgraph.instances())


def request(call: object, path: str) -> None:
    try:
        call(path)  # type: ignore[operator]
    except OSError as error:
        assert error.errno in PATHS, (call, path, error)


def test_refused_requests_leak_no_memory(tree: Tree) -> None:
    """Broken by a reference that a refusal keeps."""

    def blocks(times: int) -> int:
        for _ in range(times):
            for name in (
                "trace_clock",
                "set_ftrace_filter",
                "max_graph_depth",
                "README",
                "events/py/raise/filter",
            ):
                file = tree.open(name, os.O_WRONLY)
                with pytest.raises(OSError):
                    file.write(0, b"#x[\n")
                file.close()
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks(50)
    assert blocks(200) - before < 200  # each of the 1,000 refusals would leave at least one
    assert set(OPTIONS) <= set(tree.list("options"))
