"""Promise: a trace and other operands of a command may stand before, between and behind its options."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.parser import Parser

PIECES = (["shop.order"], ["trace.fg"], ["--json"], ["-n", "5"], ["--with", "a", "b"], ["--color"])


def parser() -> Parser:
    made = Parser(prog="funcgraph why")
    made.add_argument("function")
    made.add_argument("trace", nargs="?")
    made.add_argument("--json", action="store_true")
    made.add_mutually_exclusive_group().add_argument("-n", type=int)  # flags of groups, too
    made.add_argument("--with", dest="others", nargs="+")
    made.add_argument("--color", nargs="?", const="always")
    return made


def in_order(pieces: Sequence[list[str]]) -> bool:
    """Whether what a person means is clear: operands in their order, and none that an option would take."""
    places = [pieces.index(["shop.order"]), pieces.index(["trace.fg"])]
    takes_more = (["--with", "a", "b"], ["--color"])
    behind = [
        before in takes_more and not after[0].startswith("-") for before, after in itertools.pairwise(pieces)
    ]
    return places == sorted(places) and not any(behind)


def test_operands_stand_anywhere() -> None:
    """Each order of the words. Broken by argparse's own way: `why shop.order --json trace.fg` is an error."""
    orders = [order for order in itertools.permutations(PIECES) if in_order(order)]
    assert len(orders) > 100
    for order in orders:
        parsed = vars(parser().parse_args([*itertools.chain.from_iterable(order)]))
        assert parsed == {
            "function": "shop.order",
            "trace": "trace.fg",
            "json": True,
            "n": 5,
            "others": ["a", "b"],
            "color": "always",
        }


def test_what_is_too_much_is_told() -> None:
    with pytest.raises(CommandError, match=r"unrecognized arguments: more --jsn; did you mean '--json'\?"):
        parser().parse_args(["shop.order", "--jsn", "trace.fg", "-n", "-1", "more"])


def test_words_behind_two_dashes_are_operands() -> None:
    assert parser().parse_args(["--json", "--", "shop.order", "-trace"]).trace == "-trace"
