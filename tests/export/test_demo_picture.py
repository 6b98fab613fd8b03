"""The picture in README.md is what `python -m tools.demo --picture` draws with this version."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tracefile import Trace

from funcgraph.export import export_trace
from tools import demo

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "flame-graph.svg"


def parts(text: str) -> tuple[str, ...]:
    """Return what each picture of one version has: styles and script."""
    return tuple(
        re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)[1]  # type: ignore[index]
        for name in ("style", "script")
    )


def test_the_readme_shows_a_small_picture_of_the_demo() -> None:
    assert f"]({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert PICTURE.stat().st_size < 200_000
    titles = [
        title.text or "" for title in ElementTree.parse(PICTURE).iter("{http://www.w3.org/2000/svg}title")
    ]
    assert titles[0] == "python -m http.server --bind 127.0.0.1 --directory docs 0"
    assert titles[2].startswith(f"{demo._REQUESTS}\n") and len(titles) > 30


def test_the_picture_is_drawn_by_this_version(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    task = trace.task(1)
    task.enter(0, 0, 0)
    task.leave(10, 0, 0, calltime=0)
    out = io.BytesIO()
    export_trace(trace.save(tmp_path / "trace.dat"), out, "svg")
    again = "python -m tools.demo --picture"
    assert parts(PICTURE.read_text()) == parts(out.getvalue().decode()), f"draw it again: {again}"
