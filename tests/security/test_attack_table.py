"""docs/reference/security.md names the test of each attack.

The files exist, and it names each file of this folder.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "security.md"


def named() -> set[str]:
    """Return the tests in the table of attacks."""
    return set(re.findall(r"`(\w+/test_\w+\.py)`", PAGE.read_text().partition("## Attacks")[2]))


def test_each_test_that_the_page_names_exists() -> None:
    assert named()
    assert [name for name in named() if not (TESTS / name).is_file()] == []


def test_the_page_names_each_test_of_this_folder() -> None:
    files = {f"security/{file.name}" for file in Path(__file__).parent.glob("test_*.py")}
    assert files - named() == {"security/test_attack_table.py"}
