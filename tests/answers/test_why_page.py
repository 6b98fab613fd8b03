"""docs/guides/why.md: the program of the page gives the parts that the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from test_guide_page import kind

pytestmark = pytest.mark.one_python

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "why.md").read_text()


def test_the_page_shows_what_why_prints(fg: Any) -> None:
    """Only the parts and their counts are compared, not their times: on a busy machine there may be more."""
    example = PAGE.partition("## An example")[2]
    program, rest = re.split(r"^```(?:python)?\n", example, maxsplit=2, flags=re.MULTILINE)[1:]
    (fg.folder / "service.py").write_text(program)
    record, why, *shown = [line[4:] for line in rest.splitlines() if line.startswith("    ")]
    end = next(place for place, line in enumerate(shown) if line.startswith("its calls: "))
    assert fg.run(*shlex.split(record)[2:]).returncode == 0
    done = fg.run(*shlex.split(why)[2:])
    assert done.returncode == 0, done.stderr
    printed = {form(line) for line in done.stdout.splitlines()}
    expected = {form(line) for line in shown[: end + 1] if not line.startswith("[")}
    assert expected <= printed, (sorted(expected - printed), sorted(printed))


def form(line: str) -> str:
    line = re.sub(r"\bin \S*python-\d+", "in TASK", line)
    return re.sub(r"N (ns|us|ms|s)\b", "N", kind(line))
