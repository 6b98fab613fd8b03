"""Promise: `funcgraph view --export` writes a page with a selection of a trace, which asks for nothing, runs
nothing but its own script, has a bounded size, and says what it lacks."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exported import head_of
from tracefile import Trace

from funcgraph.page import bundle
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.selection import Selection
from funcgraph.view.export_page import MOST_BYTES, export_page
from funcgraph.view.export_rows import CELL, Row, numbered_depths, packed_rows, rows_of_lanes
from funcgraph.view.served import Served
from view.servers import BEGIN, FUNCTIONS, US

pytestmark = pytest.mark.one_python

MAIN, EVIL, LEAF, SLEEP = range(4)


@pytest.fixture
def served(trace_path: Path) -> Iterator[Served]:
    one = Served(0, str(trace_path))
    yield one
    one.close()


def names(head: dict[str, Any]) -> list[str]:
    return [function["name"] for function in head["functions"]]


def busy_trace(path: Path, calls: int) -> Path:
    """A thread of short calls, each of a length and at a time that do not compress."""
    trace = Trace(FUNCTIONS)
    task, now, state = trace.task(100, "main", pid=100), BEGIN, 1
    task.enter(now, MAIN, 0)
    for _ in range(calls):
        state = state * 1103515245 % 2**31
        begin, now = now + state % 997, now + state % 997 + 1 + (state >> 9) % 4001
        task.enter(begin, LEAF, 1)
        task.leave(now, LEAF, 1, calltime=begin)
    task.leave(now + 1, MAIN, 0, calltime=BEGIN)
    return trace.save(path)


def test_a_page_asks_for_nothing_and_runs_only_its_own_script(served: Served) -> None:
    """Broken by a module that is not in the script, and by a trace's text that is not encoded."""
    text, remarks = export_page(served, Selection())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy and remarks == []
    scripts = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
        for part in (*scripts, *styles)
    ]
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"script-src {hashes[0]}",
        f"style-src {hashes[1]}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert text.count("<script") == 2 and "alert(1)" not in text and "await fetch(" not in text
    assert not re.search(r'(?:src|href)="(?!data:)|url\((?!"?data:)|/page/|^import ', text, re.MULTILINE)


def test_a_page_has_the_selected_part_alone(served: Served) -> None:
    whole = head_of(export_page(served, Selection())[0])
    assert len(whole["lanes"]) == 2 and len(whole["functions"]) == 4
    assert whole["trace"]["path"] == "trace.dat" and whole["sources"] == {}
    assert whole["trace"]["calls"] == 22 and whole["trace"]["duration_ns"] == served.duration_ns
    select = Selection(
        tasks=["main"], functions=["*leaf", "app.main"], begin="1.000002000", end="1.000010000"
    )
    part = head_of(export_page(served, select)[0])
    assert [lane["tid"] for lane in part["lanes"]] == [100] and names(part) == ["app.main", "app.leaf"]
    assert part["trace"]["name"] == "trace.dat (a part)" and part["trace"]["begin_ns"] == "1000002000"
    assert part["trace"]["duration_ns"] == 8000
    assert part["lanes"][0]["levels"] == [[0, 1], [1, 3]]  # leaf is called by main: EVIL is not there
    assert {row[1]: row[2] for row in part["tree"]} == {0: 1, 1: 3}


@pytest.mark.parametrize(
    ("select", "error"),
    [
        (Selection(tasks=["nobody"]), "no task 'nobody'; it has: main (100)"),
        (Selection(functions=["nothing"]), "-l 'nothing': no function of the trace matches"),
        (Selection(begin="x"), "--from 'x': must be seconds"),
        (Selection(begin="9"), "the trace has no event in this time"),
        (Selection(functions=["time.sleep"], end="1.000001000"), "the selection has no calls"),
    ],
)
def test_what_a_trace_has_not_is_refused(served: Served, select: Selection, error: str) -> None:
    with pytest.raises(SelectionError, match=f"^{re.escape(error)}"):
        export_page(served, select)


def test_the_command_writes_a_whole_file_or_none(trace_path: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "funcgraph",
        "view",
        "--export",
        "t.html",
        "-l",
        "*leaf",
        str(trace_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"funcgraph: t\.html: [\d.]+ KiB\n", done.stderr)
    before = (tmp_path / "t.html").read_bytes()
    assert names(head_of(before.decode())) == ["app.leaf"]
    command[-2] = "nothing"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert (tmp_path / "t.html").read_bytes() == before


def test_a_selection_is_only_for_an_exported_page(trace_path: Path) -> None:
    command = [sys.executable, "-m", "funcgraph", "view", "--to", "1", str(trace_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "funcgraph: --to: only with --export\n")


def test_a_page_is_bounded_and_says_what_it_lacks(tmp_path: Path) -> None:
    """Short calls are put together until it fits; how much time they take stays exact."""
    one = Served(0, str(busy_trace(tmp_path / "busy.dat", 12_000)))
    try:
        every, nothing = export_page(one, Selection())
        limit = len(every) - 30_000
        text, remarks = export_page(one, Selection(), most_bytes=limit)
    finally:
        one.close()
    assert MOST_BYTES > len(every) > limit >= len(text) and nothing == []
    (remark,) = remarks
    assert re.fullmatch(
        r"[\d,]+ calls shorter than [\d.e+]+ us are shown only as how much time they take", remark
    )
    whole, part = head_of(every), head_of(text)
    assert part["trace"]["message"] == remark and part["tree"] == whole["tree"]
    assert part["histograms"] == whole["histograms"] and part["trace"]["calls"] == 12_001


def test_values_are_bounded(served: Served) -> None:
    text, remarks = export_page(served, Selection(), most_bytes=500)
    assert len(head_of(text)["values"]) < len(head_of(export_page(served, Selection())[0])["values"])
    assert any(
        re.fullmatch(r"only the first \d arguments and results are in it", remark) for remark in remarks
    )


def test_rows_are_cut_at_the_ends_of_a_part(served: Served) -> None:
    served.make_index()
    lanes = served.index().lanes()[:1]
    ((first, *_),), short = rows_of_lanes(served.index(), lanes, (BEGIN + US, BEGIN + 3 * US), 1000)
    assert short == 0
    assert first == Row(0, 0, 2 * US, MAIN, 5, 1, 51 * US + (first.busy_ns - 51 * US), 1)


def test_depths_of_some_functions_are_numbered_anew() -> None:
    rows = [Row(depth, begin, end, function, 0, 0, end - begin, 1) for depth, begin, end, function in (
        (0, 0, 100, 1), (1, 10, 50, 2), (2, 20, 30, 3), (2, 35, 40, 1), (1, 60, 70, 3))]  # fmt: skip
    found = numbered_depths(rows, {1, 3})
    assert [(row.depth, row.begin_ns, row.function) for row in found] == [
        (0, 0, 1),
        (1, 20, 3),
        (1, 35, 1),
        (1, 60, 3),
    ]


def test_columns_are_packed_by_planes() -> None:
    rows = [Row(0, 5, 1000, 2, 1, 1, 995, 1), Row(0, 1005, 1006, 2, CELL, 0, 7, 300)]
    levels, data = packed_rows(rows)
    assert levels == [(0, 2)]
    begin, took = b"\2\5\xe8\0\3", b"\2\xe3\1\3\0"
    assert data == begin + took + b"\1\2\2" + bytes([1, 1 | 128, CELL]) + b"\1\7" + b"\2\x2c\1"


def test_a_module_that_cannot_be_taken_apart_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is plain modules: an import in another form would be missing in the script."""
    found = {"main.js": b'import x from "./other.js";\n'}
    monkeypatch.setattr(bundle, "page_file", lambda name: (found[name], "text/javascript"))
    with pytest.raises(AssertionError, match=r"main\.js has an import or export in another form"):
        bundle.bundled_script("main.js", {})
