"""Modules of the page import only from their own folder, and from folders below it."""

from __future__ import annotations

import posixpath
import re
from importlib.resources import files
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

PAGE = Path(str(files("funcgraph.page").joinpath("browser")))
#: A folder -> those that it may import from besides its own. The top may from all but `export`.
MAY_USE = {
    "base": (),
    "timeline": ("base",),
    "views": ("base", "timeline"),
    "export": ("base",),
    "": ("base", "timeline", "views"),
}


def imports() -> list[tuple[str, str]]:
    """Return each module with one that it imports, as paths in the page's folder."""
    found = []
    for file in sorted(PAGE.rglob("*.js")):
        name = file.relative_to(PAGE).as_posix()
        paths = re.findall(r'^import\b[^"]*"([^"]+)";$', file.read_text(), re.MULTILINE)
        found += [(name, posixpath.normpath(posixpath.join(posixpath.dirname(name), path))) for path in paths]
    return found


def test_no_module_imports_from_a_folder_above() -> None:
    found = imports()
    assert len(found) > 100
    assert all((PAGE / other).is_file() for _, other in found)
    folders = {(posixpath.dirname(name), posixpath.dirname(other)) for name, other in found}
    assert {(one, other) for one, other in folders if one != other and other not in MAY_USE[one]} == set()
