"""An import of a real program is one line, with the module's name and all calls in it, on each CPython."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.tracedata import TraceFile
from funcgraph.tracedata.imports import IMPORTS

#: Of CPython's library, and loaded by nothing else.
PROGRAM = """
import importlib
import threading
import colorsys
import colorsys as again

def inside():
    import sndhdr_or_not
    return 1

def late():
    import xml.dom.minidom

def numbers():
    import quopri
    yield 1
    import chunky_or_not

threading.Thread(target=late).start()
importlib.import_module("cProfile")
for function in (inside, lambda: list(numbers())):
    try:
        function()
    except ImportError:
        pass
import own.deep
"""
OWN = {
    "own/__init__.py": "def pack(): pass\npack()\n",
    "own/deep.py": "import sched\nfrom own import pack\npack()\n",
}


@pytest.fixture
def recorded(fg: Funcgraph) -> Funcgraph:
    """Record the program."""
    for name, text in OWN.items():
        (fg.folder / name).parent.mkdir(exist_ok=True)
        (fg.folder / name).write_text(text)
    ran = fg.record(fg.script(PROGRAM))
    assert ran.returncode == 0, ran.stderr
    return fg


def lines_of(fg: Funcgraph, *options: str) -> list[str]:
    out = fg.run("report", "-O", "nofuncgraph-duration", "-O", "nofuncgraph-proc", *options).stdout
    return [line for line in out.splitlines() if not line.startswith("#")]


def events_of(fg: Funcgraph) -> list[Any]:
    with funcgraph.open(fg.trace) as trace:
        return list(trace.events())


def test_each_import_is_a_line_with_its_name_wherever_it_is_made(recorded: Funcgraph) -> None:
    imports = [line.strip() for line in lines_of(recorded) if line.strip().startswith("import ")]
    names = [re.fullmatch(r"import ([\w.]+)(;.*| \{)", line) for line in imports]
    assert all(names), imports
    found = [match.group(1) for match in names if match]
    for name in ("colorsys", "xml.dom.minidom", "cProfile", "quopri", "own.deep", "sched"):
        assert found.count(name) == 1, (name, found)
    for name in ("sndhdr_or_not", "chunky_or_not"):
        (line,) = (line for line in imports if f"import {name}" in line)
        assert "calls raised ModuleNotFoundError */" in line
    assert "json.decoder" not in found and "xml.dom" not in found  # imported by a library


def test_no_call_of_the_machinery_is_a_line_unless_imports_are_opened(recorded: Funcgraph) -> None:
    assert not [line for line in lines_of(recorded) if "_frozen_importlib" in line]
    calls = [event for event in events_of(recorded) if event.kind in ("entry", "resume")]
    opened = [line for line in lines_of(recorded, "--imports") if "()" in line or "(name=" in line]
    assert len([line for line in opened if "}" not in line]) == len(calls)


def test_the_programs_own_modules_are_shown_within_their_imports(recorded: Funcgraph) -> None:
    lines = [line for line in lines_of(recorded) if "own" in line or "sched" in line]
    at = next(n for n, line in enumerate(lines) if line.strip() == "import own.deep {")
    depth = len(lines[at]) - len(lines[at].lstrip())
    texts = [line.strip() for line in lines[at + 1 :]]
    assert texts[:2] == ["own.<module>() {", "own.pack();"]
    assert texts[2] == "own.deep.<module>() {" and texts[3].startswith("import sched; /* ")
    assert texts[4] == "own.pack();"
    assert len(lines[at + 1]) - len(lines[at + 1].lstrip()) == depth + 2


def test_totals_are_those_of_all_calls(recorded: Funcgraph) -> None:
    trace = TraceFile(recorded.trace)
    opened, folded = trace.summary(), trace.summary(fold_imports=True)
    for figure in ("calls", "resumes", "exceptions", "self_ns"):
        assert sum(getattr(row, figure) for row in folded) == sum(getattr(row, figure) for row in opened)
    tree = trace.call_tree(fold_imports=True)
    assert sum(tree.self_ns) == sum(row.self_ns for row in opened)
    assert [row.function for row in folded].count(IMPORTS) == 1
    for name in ("own.<module>", "own.deep.<module>", "own.pack"):
        (one,), (other,) = ([row for row in rows if row.name == name] for rows in (opened, folded))
        assert one == other
    rows = json.loads(recorded.run("summary", "--json").stdout)["functions"]
    assert {row["name"] for row in rows} == {row.name for row in opened}


def test_a_module_in_c_has_its_name(fg: Funcgraph) -> None:
    fg.record(fg.script("import _queue\n"))
    assert [line for line in lines_of(fg) if re.search(r"import _queue; /\* \d+ calls \*/", line)]


def test_an_import_goes_on_in_a_child(fg: Funcgraph) -> None:
    fg.script("import os\nif os.fork() == 0:\n    import sched\n    os._exit(0)\nos.wait()\n", "forking.py")
    fg.record(fg.script("import forking\n"))
    text = "\n".join(lines_of(fg))
    assert text.count("import sched; /* ") == 1 and text.count("import forking {") == 1
    totals = [
        fg.run("summary", *option).stdout.splitlines()[-1].split()[:3] for option in ((), ("--imports",))
    ]
    assert totals[0] == totals[1]


def test_the_name_of_a_module_is_the_only_argument_that_is_always_recorded(fg: Funcgraph) -> None:
    fg.record(fg.script("def f(n): pass\nf(1)\nimport colorsys\n"))
    lines = lines_of(fg, "--imports")
    assert [line for line in lines if "_find_and_load(name='colorsys', import_=" in line]
    assert [line for line in lines if "__main__.f();" in line]
    assert set(re.findall(r"(\w+)\([^)]+\)", "\n".join(lines))) == {"_find_and_load"}
