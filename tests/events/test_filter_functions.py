"""Filters that name functions, in a running program: `who.function == shop.buy`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import funcgraph
from funcgraph.events.filter import FilterError

events = funcgraph.dynamic_events


def buy(x: int) -> int:
    return x


def sell(x: int) -> int:
    return x


def early() -> None:
    buy(1)
    sell(2)


def late() -> None:
    sell(3)
    buy(4)


HERE = __name__


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()


def hits(definition: str, text: str) -> list[tuple[str, int]]:
    """Return the function and the argument of each hit that a filter accepts."""
    made = events.define(definition.replace("HERE", HERE))
    with funcgraph.Instance("functions") as instance:
        event = instance.events[f"{made.group}/{made.event}"]
        event.filter = text.replace("HERE", HERE)
        event.enable = True
        early()
        late()
        found = re.findall(rf"{HERE}\.(\w+)\) .*\bx=(\d)", instance.trace())
    return [(name, int(x)) for name, x in found]


@pytest.mark.parametrize("field", ["who.function", "__probe_ip.function"])
def test_an_event_on_many_functions_is_filtered_by_its_function(field: str) -> None:
    definition = "f:shop/any HERE.[bs]* who=$symbol x=$arg1"
    assert hits(definition, f"{field} == HERE.buy") == [("buy", 1), ("buy", 4)]
    events.clear()
    assert hits(definition, f"{field} != HERE.buy && x > 2") == [("sell", 3)]


def test_a_return_is_filtered_by_its_caller() -> None:
    definition = "f:shop/done HERE.[bs]*%return x=$arg1"
    assert [x for _, x in hits(definition, "(__probe_ret_ip.function == HERE.late)")] == [3, 4]
    events.clear()
    assert [x for _, x in hits(definition, "__probe_func.function == HERE.sell")] == [2, 3]


def test_a_function_can_be_named_by_its_address() -> None:
    with funcgraph.Instance("addresses") as instance:
        kallsyms = instance.files["kallsyms"]
    (address,) = re.findall(rf"^([0-9a-f]+) t {HERE}\.buy$", kallsyms, re.MULTILINE)
    assert hits("f:shop/any HERE.[bs]* x=$arg1", f"__probe_ip.function == 0x{address}") == [
        ("buy", 1),
        ("buy", 4),
    ]
    events.clear()
    for wrong in ("0x1", "0xnumber", f"0x{int(address, 16) + 1:x}"):
        with pytest.raises(FilterError, match="Function not found"):
            hits("f:shop/any HERE.buy x", f"__probe_ip.function == {wrong}")
        events.clear()


def test_a_name_that_no_function_has_is_refused() -> None:
    with pytest.raises(FilterError, match="Function not found") as caught:
        hits("f:shop/any HERE.buy x", "__probe_ip.function == HERE.nosuch")
    assert "no function has the name" in caught.value.hint
