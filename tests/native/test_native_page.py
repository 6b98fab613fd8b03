"""docs/guides/native.md explains each reason for which a function is not hooked, in the program's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from funcgraph.native.reasons import Reason

pytestmark = pytest.mark.one_python

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "native.md"


def test_each_reason_is_a_row_of_the_table() -> None:
    _, _, table = PAGE.read_text().partition("\n| reason |")
    rows = re.findall(r"^\| ([^|`]+) \| \S.*\|$", table.partition("\n\n")[0], re.MULTILINE)
    assert rows == [reason.text for reason in Reason if reason is not Reason.HOOKABLE]
