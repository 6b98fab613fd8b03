"""kallsyms and kprobe_profile: what tools read beside a trace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from traced import leaf, outer

import funcgraph
from funcgraph.instance.control_files.files import Files

pytestmark = pytest.mark.one_python


@pytest.fixture
def files() -> Iterator[Files]:
    with funcgraph.Instance("symbols") as instance:
        yield instance.files
    funcgraph.dynamic_events.clear()


def test_kallsyms_has_the_addresses_as_proc_kallsyms_has_the_kernels(files: Files) -> None:
    lines = files["kallsyms"].splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{16} t \S+", line) for line in lines)
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in lines}
    for line in files["available_filter_functions_addrs"].splitlines():
        address, name = line.split(" ", 1)
        assert addresses[name.replace(" ", "_")] == int(address, 16)
    assert len(set(addresses.values())) == len(addresses)


def test_kprobe_profile_counts_the_hits_of_each_probe(files: Files) -> None:
    """As a kernel prints it: the event's name in 44 columns, hits and missed hits in 15 each."""
    assert files["kprobe_profile"] == ""
    files["kprobe_events"] = "p:leaf traced.leaf"
    files.write("kprobe_events", "r:out traced.outer", append=True)
    files.write("kprobe_events", "p:leaf traced.middle", append=True)
    files.write("dynamic_events", "f:fprobe traced.leaf", append=True)  # none of this file
    assert files["kprobe_profile"] == "".join(
        f"  {name:44} {0:15} {0:15}\n" for name in ("leaf", "out", "leaf")
    )
    leaf(1)  # nobody wants it
    files["events/kprobes/enable"] = "1"
    outer()
    leaf(1)
    files["events/kprobes/enable"] = "0"
    leaf(1)
    assert files["kprobe_profile"] == "".join(
        f"  {name:44} {hits:15} {0:15}\n" for name, hits in (("leaf", 4), ("out", 1), ("leaf", 1))
    )
    files.write("kprobe_events", "-:leaf traced.leaf", append=True)
    assert [line.split() for line in files["kprobe_profile"].splitlines()] == [
        ["out", "1", "0"],
        ["leaf", "1", "0"],
    ]


def test_a_place_may_be_named_as_module_and_function(files: Files) -> None:
    """The kernel's [MOD:]SYM. A line is a number, so nothing is ambiguous."""
    files["kprobe_events"] = "p traced:leaf"
    files.write("kprobe_events", "r:back traced:leaf $retval", append=True)
    files.write("kprobe_events", "p:start traced:leaf+0", append=True)
    assert files["kprobe_events"] == (
        "p:kprobes/p_traced_leaf_0 traced:leaf\n"
        "r10:kprobes/back traced:leaf arg1=$retval\n"
        "p:kprobes/start traced:leaf\n"
    )
    with pytest.raises(OSError, match="Command:"):
        files.write("kprobe_events", "p:start traced.leaf", append=True)
    files.write("kprobe_events", "-:start traced:leaf", append=True)


def test_a_probe_waits_for_its_module(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As trace_kprobe.c has it: what names a module can be defined before the module is loaded."""
    (tmp_path / "later_on.py").write_text("def start():\n    x = 1\n    return x\n\nstart()\n")
    monkeypatch.syspath_prepend(tmp_path)
    files["kprobe_events"] = "p:enter later_on:start"
    files.write("kprobe_events", "r:back later_on:start $retval", append=True)
    files.write("kprobe_events", "p:line later_on:start:3 x", append=True)
    files["events/kprobes/enable"] = "1"
    for _ in range(2):
        import_module("later_on")
        monkeypatch.delitem(sys.modules, "later_on")
    files["events/kprobes/enable"] = "0"
    hits = re.findall(r": (\w+): (\(.*)$", files["trace"], re.MULTILINE)
    assert hits == 2 * [
        ("enter", "(later_on.start)"),
        ("line", "(later_on.start) x=1"),
        ("back", "(later_on.<module> <- later_on.start) arg1=1"),
    ]


def test_a_module_that_is_there_must_have_the_function(files: Files) -> None:
    for line in ("p traced:no_such", "p not_there.start"):
        with pytest.raises(OSError, match="Command:"):
            files["kprobe_events"] = line
