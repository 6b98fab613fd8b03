"""The action snapshot() of a histogram: onmax() and onchange() keep what led to an extreme value."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import funcgraph
from funcgraph.events.trigger import TriggerError

events = funcgraph.dynamic_events
HERE = __name__
MAX = "hist:keys=key:v=n:onmax($v).snapshot()"
CHANGE = "hist:keys=key:v=n:onchange($v).snapshot()"


def step(key: str, n: Any) -> None:
    pass


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert len(events) == 0 and funcgraph.users() == []


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


def define(type: str = ":u64") -> None:
    """Define an event with a key and a number of a type."""
    events.define(f"f:app/step {HERE}.step key=key:string n=n{type}")


@pytest.fixture
def event(one: funcgraph.Instance) -> Any:
    """The event, recorded by the instance."""
    define()
    one.events["app/step"].enable = True
    return one.events["app/step"]


def kept(instance: funcgraph.Instance) -> str:
    """Return what the snapshot has: the key and the number of each hit."""
    return " ".join(a + n for a, n in re.findall(r'key="(\w)" n=(\S+)', instance.files["snapshot"]))


def snapshots(instance: funcgraph.Instance, *hits: tuple[str, Any]) -> list[str]:
    """Hit the event; return what the snapshot has whenever a hit has changed it."""
    found = [kept(instance)]
    for key, n in hits:
        step(key, n)
        now = kept(instance)
        if now != found[-1]:
            found.append(now)
    return found[1:]


def details(text: str) -> list[tuple[str, str, str]]:
    """Return action, value and key of each last snapshot in a file `hist`."""
    pattern = (
        r"\n\nSnapshot taken \(see tracing/snapshot\)\.  Details:\n"
        r"\ttriggering value \{ (\S+) \}: *(\S+)\ttriggered by event with key: \{ key: (\w) *\}\n\nTotals:"
    )
    return re.findall(pattern, text)


def test_onmax_takes_a_snapshot_when_the_maximum_grows(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = MAX
    assert "* Snapshot is freed *" not in one.files["snapshot"]  # a hit cannot allocate it
    assert details(event.hist) == []
    found = snapshots(one, *(("a", n) for n in (3, 1, 5, 5, 4, 7, 6)))
    assert found == ["a3", "a1 a5", "a5 a4 a7"]
    assert details(event.hist) == [("onmax($v)", "7", "a")]
    assert "max:" not in event.hist


def test_onchange_takes_a_snapshot_when_the_value_changes(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = CHANGE
    found = snapshots(one, *(("a", n) for n in (0, 3, 3, 1, 1, 1, 3)))
    assert found == ["a0 a3", "a3 a1", "a1 a1 a3"]
    assert details(event.hist) == [("onchange($v)", "3", "a")]
    assert "changed:" not in event.hist


def test_the_maximum_is_that_of_all_rows(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = MAX
    found = snapshots(one, ("a", 5), ("b", 3), ("b", 4), ("b", 6), ("a", 6), ("c", 1), ("a", 7))
    assert found == ["a5", "b3 b4 b6", "a6 c1 a7"]
    assert details(event.hist) == [("onmax($v)", "7", "a")]


def test_a_change_is_one_in_its_row_and_from_the_last(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = CHANGE
    # b's 5 is new there, but was the last that took one; a's 5 then is no change in its row
    found = snapshots(one, ("a", 5), ("b", 5), ("b", 6), ("a", 5), ("b", 5))
    assert found == ["a5", "b5 b6", "a5 b5"]
    assert details(event.hist) == [("onchange($v)", "5", "b")]


@pytest.mark.parametrize(
    ("type", "numbers", "found", "last"),
    [
        (":s32", (-5, -7, -3), ["a-5", "a-7 a-3"], "-3"),
        (":f64", (-2.5, 0.25, 0.125), ["a-2.5", "a0.25"], "0.25"),
        ("", (None, 3, "x", 2.5, 3.5), ["aNone a3", "a'x' a2.5 a3.5"], "3.5"),
    ],
)
def test_values_compare_as_numbers(
    one: funcgraph.Instance, type: str, numbers: tuple[Any, ...], found: list[str], last: str
) -> None:
    define(type)
    one.events["app/step"].enable = True
    one.events["app/step"].trigger = MAX
    assert snapshots(one, *(("a", n) for n in numbers)) == found
    assert details(one.events["app/step"].hist) == [("onmax($v)", last, "a")]


def test_a_filter_and_a_pause_take_none(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = f"{MAX} if n < 9"
    assert snapshots(one, ("a", 9), ("a", 2)) == ["a9 a2"]
    event.trigger = f"{MAX}:pause if n < 9"
    assert snapshots(one, ("a", 5)) == []
    event.trigger = f"{MAX}:cont if n < 9"
    assert snapshots(one, ("a", 3)) == ["a5 a3"]


def test_the_last_snapshot_is_told_after_its_row_was_cleared(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = MAX
    step("a", 4)
    event.trigger = f"{MAX}:clear"
    assert details(event.hist) == [("onmax($v)", "4", "a")] and "Entries: 0" in event.hist
    assert snapshots(one, ("b", 3), ("b", 5)) == ["b3 b5"]
    assert details(event.hist) == [("onmax($v)", "5", "b")]


def test_other_actions_go_on_beside_it(one: funcgraph.Instance, event: Any) -> None:
    events.define("s:high u64 n")
    one.events["synthetic/high"].enable = True
    event.trigger = "hist:keys=key:v=n:onmax($v).high(n):onmax($v).snapshot():onchange($v).save(n)"
    assert snapshots(one, ("a", 2), ("b", 1)) == ["a2"]
    # In the snapshot is also what an action before it has made.
    assert "high: n=2" in one.files["snapshot"] and "high: n=1" in one.trace()
    assert [re.sub(" +", " ", line) for line in event.hist.splitlines() if "changed" in line] == [
        "\tchanged: 2 n: 2",
        "\tchanged: 1 n: 1",
    ]


def busy(change: Callable[[], None]) -> None:
    with pytest.raises(TriggerError) as refused:
        change()
    assert refused.value.errno == errno.EBUSY


def test_an_instance_has_one_such_action(one: funcgraph.Instance, event: Any) -> None:
    events.define(f"f:app/other {HERE}.step key=key:string n=n:u64")
    other = one.events["app/other"]
    event.trigger = MAX
    busy(lambda: setattr(other, "trigger", CHANGE))
    busy(lambda: setattr(event, "trigger", CHANGE))
    assert other.trigger.startswith("# Available") and event.trigger.count("\n") == 1
    with funcgraph.Instance("two") as two:
        two.events["app/other"].trigger = CHANGE
    event.trigger = f"!{MAX}"
    busy(lambda: setattr(other, "trigger", f"{CHANGE}:onmax($v).snapshot()"))
    other.trigger = CHANGE
    assert snapshots(one, ("a", 2)) == ["a2"]


def test_without_its_memory_it_takes_none(one: funcgraph.Instance, event: Any) -> None:
    event.trigger = MAX
    one.files["snapshot"] = "0"
    step("a", 1)
    assert "* Snapshot is freed *" in one.files["snapshot"]
    assert re.findall(r" n=(\d)", one.trace()) == ["1"]
