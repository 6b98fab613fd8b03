"""Hostile environments: a recording does there what the table of docs/reference/compatibility.md says."""

from __future__ import annotations

import sys

import pytest
from sizes import share

from tools.real import hostile
from tools.real.environments import ROWS, Row

# What an environment does to a recording does not depend on CPython's version.
pytestmark = pytest.mark.one_python


@pytest.mark.parametrize("row", share(ROWS, of=7), ids=lambda row: row.name)
def test_an_environment_does_to_a_recording_what_the_page_says(row: Row) -> None:
    if not row.needs():
        pytest.skip("it cannot be tried here")
    rows = hostile.page_rows(hostile.PAGE.read_text())
    (expected,) = [line for line in rows if _environment(line) == row.text]
    assert hostile.as_row(hostile.find(row, sys.executable)) == expected


def _environment(line: str) -> str:
    return line.removeprefix("| ").partition(" | ")[0]


def test_the_page_has_a_row_for_each_environment() -> None:
    rows = hostile.page_rows(hostile.PAGE.read_text())
    assert [_environment(line) for line in rows] == [row.text for row in ROWS]


LOOKS = """
import funcgraph
calls(10)
if "funcgraph._engine" in sys.modules:
    {does}
"""


@pytest.mark.parametrize(
    ("does", "same"),
    [
        ("sys.exit(4)", "no: exit status 4, not 3, nothing on stdout, nothing on stderr"),
        ("print('traced')", "no: another stdout"),
        ("sys.stderr.write('traced')", "no: another stderr"),
        ("pass", "yes"),
    ],
)
def test_a_program_that_behaves_differently_when_traced_is_noticed(does: str, same: str) -> None:
    row = Row("looks", "a program that looks", LOOKS.format(does=does), truth=11)
    finding = hostile.find(row, sys.executable)
    assert (finding.same, finding.recorded, finding.notes) == (same, "10 of 11 calls", "nothing")
