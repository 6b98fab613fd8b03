"""No arrow between rooms runs up, and no files depend on each other in a circle (tools/rooms.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import rooms

pytestmark = pytest.mark.one_python


def test_no_include_runs_up_in_the_engine() -> None:
    assert list(rooms.arrows_up(engine_only(rooms.c_arrows()))) == []


def test_no_includes_of_the_engine_form_a_circle() -> None:
    assert rooms.circles(engine_only(rooms.c_arrows())) == []


def test_no_symbol_of_the_engine_is_used_from_below_and_none_in_a_circle(tmp_path: Path) -> None:
    arrows = rooms.link_arrows(rooms.compile_engine(tmp_path))
    assert arrows["engine/graph/call"] >= {"engine/graph/end", "engine/core/root"}  # it sees arrows at all
    assert list(rooms.arrows_up(arrows)) == []
    assert rooms.circles(arrows) == []


def test_arrows_up_and_circles_are_found() -> None:
    arrows = {
        "engine/core/a": {"engine/graph/b"},
        "engine/graph/b": {"engine/core/c"},
        "engine/core/c": set(),
    }
    assert list(rooms.arrows_up(arrows)) == ["engine/core/a -> engine/graph/b"]
    assert rooms.circles(arrows) == []
    assert rooms.circles({**arrows, "engine/core/c": {"engine/core/a"}}) == [
        ["engine/core/a", "engine/core/c", "engine/graph/b"]
    ]


def engine_only(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    return {unit: used for unit, used in arrows.items() if unit.startswith("engine/")}
