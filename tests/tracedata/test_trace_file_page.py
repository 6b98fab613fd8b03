"""The tables of docs/trace-file.md are those of the format texts and the JSON in a trace."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from ringfile import enter, leave
from tracereader import Desk, Trace

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trace-file.md").read_text()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    desk = Desk(tmp_path_factory.mktemp("trace"))
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(0, 70)
    ring.put(0, enter(1000, 0) + leave(2000, 0, 0, 1000))
    ring.process(1, "python")
    return desk.record()


def table(header: str) -> list[list[str]]:
    """Return the rows of the page's table with this header; a blank first cell repeats the one above."""
    lines = PAGE[PAGE.index(header) :].split("\n\n", 1)[0].splitlines()[2:]
    rows = [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] for line in lines]
    for above, row in pairwise(rows):
        row[0] = row[0] or above[0]
    return rows


def test_the_page_has_all_events_with_their_ids(trace: Trace) -> None:
    ids = {}
    for text in trace.formats:
        match = re.match(r"name: (\w+)\nID: (\d+)\n", text)
        assert match
        ids[match[1]] = match[2]
    assert {row[0].split(":")[-1]: row[1] for row in table("| event | id |")} == ids


def test_the_page_has_all_fields_with_their_places(trace: Trace) -> None:
    fields = []
    for text in trace.formats:
        name = text.split("\n", 1)[0].removeprefix("name: ")
        for field, offset, size in re.findall(r"field:[\w ]* ([\w\[\]]+);\toffset:(\d+);\tsize:(\d+)", text):
            if not field.startswith("common_"):
                fields.append((name, field.removesuffix("[]"), offset, "rest" if size == "0" else size))
    page = [(row[0], row[1], row[2], row[3]) for row in table("| event | field |")]
    assert sorted(page) == sorted(fields)
    assert len(page) > 20


def test_the_page_has_all_members_of_the_json(trace: Trace) -> None:
    rows = table("| member | what |")
    assert sorted(name for row in rows for name in row[0].split(", ")) == sorted(trace.meta)
    what = {row[0]: row[1] for row in rows}
    for member in ("tasks", "processes"):
        names = what[member].split(": ", 1)[1].split(", ")
        assert names == list(trace.meta[member][0])


def test_the_page_has_all_tags_of_values() -> None:
    header = (ROOT / "src" / "engine" / "ring" / "record.h").read_text()
    tags = re.findall(r"\bX\(\w+, (\d+), \"", header[header.index("#define FG_VALUE_TAGS") :])
    page = [tag for row in table("| tag | value |") for tag in row[0].split(", ")]
    assert page == tags[1:]  # without 0, which ends the values
