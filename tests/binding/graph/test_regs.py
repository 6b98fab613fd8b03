"""Regs give the arguments and results of a call without running the program's code.

Broken by hand: regs stayed valid after the callback; argument names were looked up among all variables; an
argument in a cell was returned as the cell.
"""

from __future__ import annotations

from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")


def many(a, /, b, *rest, key=None, **more):
    local = a
    plain = b
    assert plain is b
    return lambda: (local, b, key)  # b and key are cells


def fails(value):
    raise value


class Explosive:
    """None of its methods may be called."""

    def __explode(self, *args: object) -> Any:
        raise AssertionError("code of the program was run")

    __repr__ = __str__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattr__ = __explode


def at_entry(run: Any, look: Any, function: str = "many") -> Any:
    seen: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: seen.append(look(regs)), filter=[f"{__name__}.{function}"]
    )
    with funcgraph.registered(ops):
        run()
    assert ops.last_error is None
    return seen[0]


def test_all_arguments():
    found = at_entry(lambda: many(1, 2, 3, 4, key=5, extra=6), lambda regs: regs.arguments())
    assert found == {"a": 1, "b": 2, "rest": (3, 4), "key": 5, "more": {"extra": 6}}
    assert list(found) == ["a", "b", "key", "rest", "more"]


@pytest.mark.parametrize(
    ("which", "value"),
    [
        (0, 1),
        (1, 2),
        (2, 5),
        (3, (3,)),
        (4, {}),
        ("a", 1),
        ("b", 2),
        ("key", 5),
        ("rest", (3,)),
        ("more", {}),
    ],
)
def test_one_argument(which, value):
    assert at_entry(lambda: many(1, 2, 3, key=5), lambda regs: regs.get_argument(which)) == value


@pytest.mark.parametrize(
    ("which", "error"),
    [
        (5, IndexError),
        (-1, IndexError),
        (1 << 80, IndexError),
        ("local", KeyError),
        ("plain", KeyError),
        ("x", KeyError),
        (None, TypeError),
        (1.0, TypeError),
    ],
)
def test_no_such_argument(which, error):
    def look(regs):
        with pytest.raises(error):
            regs.get_argument(which)

    at_entry(lambda: many(1, 2), look)


def test_no_code_of_the_program_runs():
    bomb = Explosive()
    found = at_entry(lambda: many(bomb, bomb, bomb), lambda regs: (regs.arguments(), regs.get_argument("b")))
    assert found[0]["a"] is found[1] is bomb


def test_results_and_exceptions():
    error = KeyError("x")
    seen: list[Any] = []

    def ret(trace, ops, regs):
        seen.append((trace.end, regs.get_return_value()))

    with funcgraph.registered(funcgraph.FgraphOps(None, ret, filter=[f"{__name__}.[mf]a*"])) as ops:
        made = many(1, 2)
        with pytest.raises(KeyError):
            fails(error)
    assert ops.last_error is None
    assert seen[0][0] == "return" and seen[0][1] is made
    assert seen[1][0] == "raise" and seen[1][1] is error


def test_an_exception_that_c_code_raised():
    seen: list[Any] = []

    def breaks():
        [].index(0)

    ops = funcgraph.FgraphOps(
        None, lambda trace, ops, regs: seen.append(regs.get_return_value()), filter=["*.breaks"]
    )
    with funcgraph.registered(ops), pytest.raises(ValueError):
        breaks()
    assert ops.last_error is None
    # Before 3.12 the exception is only its class until it is caught.
    assert seen == [ValueError] or isinstance(seen[0], ValueError)


def test_at_the_wrong_end():
    def entry(trace, ops, regs):
        with pytest.raises(RuntimeError, match="return only"):
            regs.get_return_value()
        return True

    def ret(trace, ops, regs):
        with pytest.raises(RuntimeError, match="entry only"):
            regs.arguments()
        with pytest.raises(RuntimeError, match="entry only"):
            regs.get_argument(0)

    with funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=[f"{__name__}.many"])) as ops:
        many(1, 2)
    assert ops.last_error is None


def test_used_after_its_callback():
    kept: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: kept.append(regs) is None,
        lambda trace, ops, regs: kept.append(regs),
        filter=[f"{__name__}.many"],
    )
    with funcgraph.registered(ops):
        many(1, 2)
    assert ops.last_error is None
    assert kept[0] is not kept[1]
    for regs in kept:
        for use in (regs.arguments, regs.get_return_value, lambda regs=regs: regs.get_argument(0)):
            with pytest.raises(RuntimeError, match="after its callback"):
                use()
