"""docs/reference/compatibility.md names each module of ours that a traced program has."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import Funcgraph

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "compatibility.md"


def test_the_page_names_all_modules_that_are_loaded(fg: Funcgraph) -> None:
    script = fg.script("import sys\nprint(*[name for name in sys.modules if name.startswith('funcgraph')])\n")
    loaded = fg.record("-q", script).stdout.split()
    (paragraph,) = re.findall(r"- \*\*Modules\*\*: (.*?) are loaded", PAGE.read_text(), re.DOTALL)
    assert sorted(re.findall(r"`([^`]+)`", paragraph)) == sorted(loaded)
