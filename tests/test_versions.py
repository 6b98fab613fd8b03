"""The differences between CPython versions are in one folder of src/arch/."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPAT = Path("src/arch/cpython/base/compat")


def test_only_the_compat_headers_ask_for_a_version() -> None:
    asking = {
        file.relative_to(ROOT)
        for file in (ROOT / "src" / "arch").rglob("*.[ch]")
        if re.search(r"\bPY_VERSION_HEX\b", file.read_text())
    }
    assert {file.parent for file in asking} == {COMPAT}


def test_each_compat_header_stands_alone() -> None:
    """An includer includes only the subject that it uses."""
    for header in (ROOT / COMPAT).glob("*.h"):
        assert "base/compat/python.h" in header.read_text() or header.stem == "python", header.name
