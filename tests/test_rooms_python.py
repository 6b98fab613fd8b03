"""The rooms of the Python package: an import stays in its room or leads down, and never in a circle.

Imports inside functions and those under TYPE_CHECKING count as well.
"""

from __future__ import annotations

import pytest

from tools import rooms

pytestmark = pytest.mark.one_python

MODULES = rooms.python_arrows()


def test_no_import_runs_up() -> None:
    assert list(rooms.python_arrows_up(MODULES)) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert rooms.circles(MODULES) == []


def test_each_module_is_in_a_room() -> None:
    assert {rooms.python_room_of(module) for module in MODULES} == rooms.PYTHON_KNOWS.keys()


def test_the_rooms_themselves_are_in_no_circle() -> None:
    assert rooms.circles({room: set(below) for room, below in rooms.PYTHON_KNOWS.items()}) == []


@pytest.mark.parametrize(
    ("user", "used"),
    [
        ("_boot", "boot/parameters"),  # inside a function
        ("__init__", "session/block"),  # under TYPE_CHECKING
        ("buffer/reading", "tracedata/__init__"),  # a name of a package
        ("recorder/directory", "session/config"),  # a module of a package
        ("instance/state", "_engine"),  # a module that has only a stub here
    ],
)
def test_every_kind_of_import_is_seen(user: str, used: str) -> None:
    """Broken by: a kind of import that is left out, and with it the circles that it makes."""
    assert used in MODULES[user]


def test_an_arrow_up_and_a_circle_are_told() -> None:
    arrows = {"settings/table": {"instance/files"}, "instance/files": {"settings/table"}}
    assert list(rooms.python_arrows_up(arrows)) == ["settings/table -> instance/files"]
    assert rooms.circles(arrows) == [["instance/files", "settings/table"]]
