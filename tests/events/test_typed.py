"""funcgraph.Event: the text that it stands for, and that it is taken wherever that text is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph import Event
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.parse import parse_definition

events = funcgraph.dynamic_events
HERE = __name__


def total(amount: int) -> int:
    return amount


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    events.clear()
    events.log.clear()


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event("shop.place"), "f shop.place"),
        (Event("shop.place", "amount", "$symbol"), "f shop.place amount $symbol"),
        (Event("shop.place", group="shop", name="order"), "f:shop/order shop.place"),
        (Event("shop.place", name="order", n="items:len"), "f:order shop.place n=items:len"),
        (Event("shop.place", group="shop"), "f:shop/ shop.place"),
        (Event("shop.*", at="return", r="$retval:s64"), "f shop.*%return r=$retval:s64"),
        (Event("shop.place", at=42, group="shop", name="l", i="i"), "p:shop/l shop.place:42 i=i"),
        (
            Event("shop.place", "$comm", fields={"name": "user.name", "at": 'd["a b"]'}, x="\\5"),
            'f shop.place $comm name=user.name at=d["a b"] x=\\5',
        ),
    ],
)
def test_the_text_is_the_kernels_line(event: Event, text: str) -> None:
    assert event.text == str(event) == text
    assert parse_definition(text)
    assert repr(event) == f"<Event {text}>"


def test_equal_events_have_the_same_text() -> None:
    one, other = Event("a.b", x="y"), Event("a.b", "x=y")
    assert one == other and len({one, other}) == 1
    assert one != Event("a.b") and one != one.text


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Event(""), ValueError, "invalid function ''"),
        (lambda: Event("a b"), ValueError, "invalid function 'a b': must be one word"),
        (lambda: Event(total), TypeError, "function must be a str, not function"),
        (lambda: Event("a.b", "x y"), ValueError, "an argument 'x y'"),
        (lambda: Event("a.b", x=5), TypeError, "x must be a str, not int"),
        (lambda: Event("a.b", x="y\n-:shop/"), ValueError, "must be one word"),
        (lambda: Event("a.b", x="y#z"), ValueError, "must be one word"),
        (lambda: Event("a.b", fields={"x y": "z"}), ValueError, "a name 'x y'"),
        (lambda: Event("a.b", fields={"x": "z"}, x="z"), ValueError, "given twice: x"),
        (lambda: Event("a.b", at="exit"), ValueError, "at must be 'entry', 'return' or a line, got 'exit'"),
        (lambda: Event("a.b", at=0), ValueError, "at must be >= 1"),
        (lambda: Event("a.b", at=True), ValueError, "got True"),
        (lambda: Event("a.b", name="x y"), ValueError, "invalid name 'x y'"),
        (lambda: events.define(5), TypeError, "must be a str or an Event, not int"),
        (lambda: funcgraph.record(events=[5]), TypeError, "must be a str or an Event, not int"),
        (lambda: events.define(Event("a.b", x="$arg0")), ProbeError, "Invalid argument number"),
    ],
)
def test_a_wrong_event_is_refused(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
    assert len(events) == 0


def test_an_event_is_defined_and_recorded(tmp_path: Path) -> None:
    event = Event(f"{HERE}.total", group="typed", name="total", at="return", n="amount:u32", r="$retval:s64")
    made = events.define(event)
    assert made.text == event.text
    with funcgraph.Instance("typed") as instance:
        instance.events["typed/total"].enable = True
        total(7)
        assert "n=7 r=7" in instance.trace()
    events.clear()
    with funcgraph.record(tmp_path / "t.fg", tracer="nop", events=[event]):
        total(8)
    with funcgraph.open(tmp_path / "t.fg") as trace:
        assert [one.fields["n"] for one in trace.events() if one.type] == [8]
