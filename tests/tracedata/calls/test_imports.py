"""Folded imports: one line for each in reports, one row in summaries, and totals that stay exact."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from exported import head_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import RAISE, Task, Trace, values

from funcgraph.tracedata import TraceFile
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.imports import IMPORTS, is_own
from funcgraph.tracedata.summary import FunctionSummary
from tracedata.programs import FUNCTIONS, STEPS, Program, Step

pytestmark = pytest.mark.one_python

Command = Callable[..., Any]

BOOTSTRAP = "<frozen importlib._bootstrap>"
LIBRARY = "/usr/lib/python3.13"
MAIN, FIND, LOAD, JSON, DECODER, SHOP, SELL, GCD = range(8)
NAMES: list[str | tuple[str, str, str, int, int, list[str]]] = [
    "__main__.<module>",
    ("_frozen_importlib", "_find_and_load", BOOTSTRAP, 1350, 128, ["name", "import_"]),
    ("_frozen_importlib", "_load_unlocked", BOOTSTRAP, 911, 0, ["spec"]),
    ("json", "<module>", f"{LIBRARY}/json/__init__.py", 1, 0, []),
    ("json.decoder", "<module>", f"{LIBRARY}/json/decoder.py", 1, 0, []),
    ("shop", "<module>", "/src/shop/__init__.py", 1, 0, []),
    ("shop", "sell", "/src/shop/__init__.py", 9, 0, ["n"]),
    ("_frozen_importlib", "_gcd_import", BOOTSTRAP, 1380, 0, ["name", "package", "level"]),
]


class Recording:
    """Calls of one task, each event a microsecond after the one before."""

    def __init__(self) -> None:
        self.trace = Trace(NAMES)
        self.task: Task = self.trace.task(1)
        self.now = 0
        self.stack: list[tuple[int, int]] = []

    def enter(self, *functions: int, name: str = "", **also: Any) -> None:
        for function in functions:
            self.now += 1000
            args = values(name) if function == FIND and name else b""
            self.task.enter(self.now, function, len(self.stack), args=args, **also)
            self.stack.append((function, self.now))

    def leave(self, count: int = 1, **also: Any) -> None:
        for _ in range(count):
            self.now += 1000
            function, begin = self.stack.pop()
            self.task.leave(self.now, function, len(self.stack), calltime=begin, **also)

    def import_json(self) -> None:
        """Import json, which imports json.decoder: 6 calls that take 11 us."""
        self.enter(FIND, name="json")
        self.enter(LOAD, JSON)
        self.enter(FIND, name="json.decoder")
        self.enter(LOAD, DECODER)
        self.leave(6)

    def report(self, command: Command, path: Path, *options: str) -> list[str]:
        """Return the lines after the header."""
        ran = command("report", *options, self.trace.save(path / "trace.dat"))
        assert (ran.status, ran.err) == (0, "")
        return [line for line in ran.out.splitlines() if not line.startswith("#")]


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_an_import_is_one_line_with_its_module_its_time_and_its_calls(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.import_json()
    recording.leave()
    assert recording.report(command, tmp_path) == [
        "              |  __main__.<module>() {",
        "+ 11.000 us   |    import json; /* 6 calls */",
        "+ 13.000 us   |  }",
    ]


def test_imports_opens_them(recording: Recording, command: Command, tmp_path: Path) -> None:
    recording.import_json()
    lines = recording.report(command, tmp_path, "--imports")
    assert lines[0] == "              |  _frozen_importlib._find_and_load(name='json') {"
    assert len(lines) == 11 and not any("/* 6 calls" in line for line in lines)


def test_what_the_program_itself_does_in_an_import_is_shown(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.enter(FIND, name="shop")
    recording.enter(LOAD, SHOP)
    recording.import_json()
    recording.enter(SELL)
    recording.leave(5)
    assert recording.report(command, tmp_path) == [
        "              |  __main__.<module>() {",
        "              |    import shop {",
        "              |      shop.<module>() {",
        "+ 11.000 us   |        import json; /* 6 calls */",
        "  1.000 us    |        shop.sell();",
        "+ 15.000 us   |      }",
        "+ 19.000 us   |    } /* 2 calls */",
        "+ 21.000 us   |  }",
    ]


def test_an_import_that_fails_says_so(recording: Recording, command: Command, tmp_path: Path) -> None:
    recording.enter(FIND, name="nosuch")
    recording.leave(kind=RAISE)
    assert recording.report(command, tmp_path) == ["  1.000 us    |  import nosuch; /* 1 call raised */"]


def test_an_import_by_a_function_has_the_name_that_the_machinery_finds(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(GCD)
    recording.enter(FIND, name="json")
    recording.leave(2)
    recording.enter(LOAD)
    recording.leave()
    assert recording.report(command, tmp_path) == [
        "  3.000 us    |  import json; /* 2 calls */",
        "  1.000 us    |  (import machinery); /* 1 call */",
    ]


def test_calls_that_import_nothing_are_one_line_while_they_follow_one_another(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    for _ in range(3):
        recording.enter(LOAD, LOAD)
        recording.leave()
        recording.leave(kind=RAISE)
    recording.enter(MAIN)
    recording.enter(LOAD)
    recording.leave(kind=RAISE)
    recording.import_json()
    recording.enter(LOAD)
    recording.leave()
    recording.enter(LOAD)
    recording.enter(SELL)
    recording.leave(2)
    recording.leave()
    recording.enter(LOAD)
    recording.leave()
    recording.enter(LOAD)
    recording.leave()
    expected = [
        "  9.000 us    |  (import machinery); /* 6 calls */",
        "              |  __main__.<module>() {",
        "  1.000 us    |    (import machinery); /* 1 call raised */",
        "+ 11.000 us   |    import json; /* 6 calls */",
        "  1.000 us    |    (import machinery); /* 1 call */",
        "              |    (import machinery) {",
        "  1.000 us    |      shop.sell();",
        "  3.000 us    |    } /* 1 call */",
        "+ 21.000 us   |  }",
        "  2.000 us    |  (import machinery); /* 2 calls */",
    ]
    assert recording.report(command, tmp_path) == expected


def test_calls_that_import_nothing_are_lines_of_their_own_around_other_threads(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    other = recording.trace.task(2)
    recording.enter(LOAD)
    recording.leave()
    other.enter(recording.now + 1, MAIN, 0)
    other.leave(recording.now + 2, MAIN, 0, calltime=recording.now + 1)
    recording.enter(LOAD)
    recording.leave()
    lines = recording.report(command, tmp_path)
    found = [line.partition("| ")[2] for line in lines if "machinery" in line]
    assert found == ["  1.000 us    |  (import machinery); /* 1 call */"] * 2


def test_events_and_losses_in_an_import_do_not_vanish(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(FIND, name="json")
    recording.enter(LOAD, lost=3)
    recording.task.message(recording.now + 1, b"a mark")
    recording.enter(JSON)
    recording.leave(lost=2)
    recording.leave(2)
    assert recording.report(command, tmp_path) == [
        "              |  import json {",
        "TASK:python-1 [LOST 3 EVENTS]",
        "              |    /* a mark */",
        "TASK:python-1 [LOST 2 EVENTS]",
        "  5.000 us    |  } /* 3 calls */",
    ]


def test_an_import_in_which_the_program_was_killed_has_its_calls(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.enter(FIND, name="shop")
    recording.enter(LOAD, SHOP)
    recording.enter(FIND, name="json")
    recording.enter(LOAD, JSON)
    assert recording.report(command, tmp_path) == [
        "              |  __main__.<module>() {",
        "              |    import shop {",
        "              |      shop.<module>() {",
        "              |        import json {",
        "              |          /* import json: 3 calls */",
        "              |          /* import shop: 2 calls */",
    ]
    check_totals(TraceFile(tmp_path / "trace.dat"))


def test_an_import_whose_end_was_lost_ends_with_what_is_around_it(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.enter(FIND, name="json")
    recording.enter(LOAD)
    del recording.stack[1:]
    recording.enter(FIND, name="json.decoder", lost=2)
    recording.leave(2)
    assert recording.report(command, tmp_path) == [
        "              |  __main__.<module>() {",
        "              |    import json {",
        "              |      /* import json: 2 calls */",
        "TASK:python-1 [LOST 2 EVENTS]",
        "  1.000 us    |    import json.decoder; /* 1 call */",
        "  5.000 us    |  }",
    ]


def test_a_choice_of_functions_opens_imports(recording: Recording, command: Command, tmp_path: Path) -> None:
    recording.import_json()
    lines = recording.report(command, tmp_path, "-g", "json.decoder.*")
    assert lines == ["  1.000 us    |  json.decoder.<module>();"]
    out = command("report", "--callers", "json.decoder.*", tmp_path / "trace.dat").out
    assert "_frozen_importlib._load_unlocked" in out


def test_an_import_is_one_level_and_lasts_as_long_as_a_call_for_selections(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.import_json()
    recording.enter(FIND, name="shop")
    recording.leave(2)
    lines = recording.report(command, tmp_path, "--max-depth", "2", "--longer", "5")
    assert lines == [
        "              |  __main__.<module>() {",
        "+ 11.000 us   |    import json; /* 6 calls */",
        "+ 15.000 us   |  }",
    ]


def test_a_summary_has_one_row_of_imports_and_the_same_totals(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.enter(MAIN)
    recording.import_json()
    recording.enter(FIND, name="shop")
    recording.leave(2)
    path = recording.trace.save(tmp_path / "trace.dat")
    lines = command("summary", path).out.splitlines()
    words = "7 0 0 12.000 us 12.000 us 1.000 us 6.000 us 11.000 us (imports)"
    assert " ".join(lines[1].split()) == words
    assert lines[-1].split()[:5] == command("summary", "--imports", path).out.splitlines()[-1].split()[:5]
    check_totals(TraceFile(path))


def test_a_tree_has_each_import_once(recording: Recording, command: Command, tmp_path: Path) -> None:
    recording.enter(MAIN)
    recording.import_json()
    recording.import_json()
    recording.leave()
    assert recording.report(command, tmp_path, "--tree")[1:] == [
        "25.000 us  100.0%   3.000 us      1  __main__.<module>",
        "22.000 us   88.0%  22.000 us     12  └ import json",
    ]


def test_pictures_fold_imports_and_tables_do_not(
    recording: Recording, command: Command, tmp_path: Path
) -> None:
    recording.import_json()
    path = recording.trace.save(tmp_path / "trace.dat")
    for form in ("svg", "dot", "mermaid", "collapsed"):
        assert "import json" in command("export", form, path, "-o", "-").out, form
        assert "import json" not in command("export", form, "--imports", path, "-o", "-").out, form
    for words, is_folded in (((), True), (("--imports",), False)):
        page = head_of(command("export", "html", *words, path, "-o", "-").out)
        assert ("import json" in [row["name"] for row in page["functions"]]) == is_folded
    assert "json.decoder" in command("export", "csv", path, "-o", "-").out


def test_n_limits_the_lines_after_the_header(recording: Recording, command: Command, tmp_path: Path) -> None:
    recording.enter(MAIN, SHOP, SELL)
    recording.leave(3)
    path = recording.trace.save(tmp_path / "trace.dat")
    whole = command("report", path).out.splitlines()
    assert command("report", "-n", "3", path).out.splitlines() == whole[:-2]
    assert command("report", "-n", "100", path).out.splitlines() == whole
    lines = command("summary", "-n", "1", "--sort", "name", path).out.splitlines()
    names = [line.split("  ")[-1].strip() for line in lines]
    assert names == ["FUNCTION", "__main__.<module>", "1 of 3 functions"]
    assert lines[-1].split()[0] == "3"
    assert command("report", "-n", "0", path).status == 2


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/me/shop/app.py", True),
        ("app.py", True),
        ("/home/me/python3.13/app.py", True),
        ("/usr/lib/python3.13/json/decoder.py", False),
        ("/opt/lib64/python3.13t/json/decoder.py", False),
        ("/app/venv/lib/python3.13/site-packages/flask/app.py", False),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", False),
        ("/usr/lib/python313.zip/json/decoder.py", False),
        ("<frozen os>", False),
        ("<string>", False),
        ("", False),
    ],
)
def test_own_functions_are_those_outside_of_libraries(file: str, own: bool) -> None:
    assert is_own(Function("m", "f", file, 1, 0, ())) is own


# ---- any program


def totals(rows: list[FunctionSummary]) -> tuple[int, ...]:
    return tuple(
        sum(getattr(row, name) for row in rows) for name in ("calls", "resumes", "exceptions", "self_ns")
    )


def check_totals(trace: TraceFile) -> None:
    """Check that folding changes no total, of summaries and trees, and no row of the program's own."""
    open_rows, rows = trace.summary(), trace.summary(fold_imports=True)
    assert totals(rows) == totals(open_rows)
    tree = trace.call_tree(fold_imports=True)
    assert totals(list(tree.summary)) == totals(rows)
    assert (sum(tree.calls), sum(tree.resumes), sum(tree.exceptions), sum(tree.self_ns)) == totals(rows)
    assert IMPORTS not in tree.functions


MARKS = st.lists(st.sampled_from([0, 1, 4]), min_size=len(FUNCTIONS), max_size=len(FUNCTIONS)).map(bytes)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imports") / "trace.dat"


@settings(deadline=None)
@given(steps=STEPS, marks=MARKS)
def test_folding_changes_no_total_of_any_program(scratch: Path, steps: list[Step], marks: bytes) -> None:
    trace = TraceFile(Program(steps).trace.save(scratch))
    with patch("funcgraph.tracedata.imports.fold_marks", return_value=marks):
        check_totals(trace)
        own = [name for name, mark in zip(FUNCTIONS, marks, strict=True) if mark == 4]
        rows = [{row.name: row for row in trace.summary(fold_imports=fold)} for fold in (False, True)]
        assert [rows[0].get(name) for name in own] == [rows[1].get(name) for name in own]
        text = b"".join(trace.report(fold_imports=True)).decode()
        without_line = text.count(" closed */")  # a call that was closed while it was suspended
        assert text.count("{") + without_line >= text.count("} ")


@settings(deadline=None)
@given(steps=STEPS, marks=MARKS, dropped=st.sets(st.integers(0, 200), max_size=6))
def test_folding_counts_the_same_calls_where_events_were_lost(
    scratch: Path, steps: list[Step], marks: bytes, dropped: set[int]
) -> None:
    numbers = count()

    def add(task: Task, *record: Any) -> None:
        if next(numbers) not in dropped:
            whole_add(task, *record)

    whole_add = Task.add
    with patch.object(Task, "add", add), patch("funcgraph.tracedata.imports.fold_marks", return_value=marks):
        trace = TraceFile(Program(steps).trace.save(scratch))
        sums = [totals(trace.summary(fold_imports=fold)) for fold in (False, True)]
        tree = trace.call_tree(fold_imports=True)
        assert b"".join(trace.report(fold_imports=True))
    (calls, resumes, exceptions, _), (folded_calls, folded_resumes, folded_exceptions, _) = sums
    assert calls + resumes == folded_calls + folded_resumes and exceptions == folded_exceptions
    assert sum(tree.calls) + sum(tree.resumes) == calls + resumes
