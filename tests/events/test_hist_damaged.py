"""A damaged histogram trigger is refused with a HistError that points into it, or is a trigger; nothing
else is ever raised.

The sessions of the kernel are the texts that get damaged."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from sizes import DAMAGED_TRIGGERS

from funcgraph.events import hist
from funcgraph.events.hist_error import HistError
from funcgraph.events.hist_plan import compile_plan
from funcgraph.events.hist_spec import Expression, FieldRef, HistSpec, Number
from tests.events.hist_replay import EVENTS, SESSIONS, Field, replay

pytestmark = pytest.mark.one_python

_PIECES = [
    *(
        "hist:",
        "keys=",
        "vals=",
        "sort=",
        "size=",
        ":",
        ",",
        ".",
        "=",
        "$",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        " if ",
        "!",
    ),
    *(
        "count",
        "fd",
        "hitcount",
        "common_pid",
        "common_comm",
        "common_timestamp",
        "common_stacktrace",
        "$ts0",
    ),
    *(".hex", ".log2", ".buckets=", ".usecs", ".percent", ".sym-offset", ".descending", ".stacktrace"),
    *("onmatch(", "onmax($x)", "onchange(", ".save(", ".trace(", ".snapshot()", "lat", "sched.sched_waking"),
    *("0", "0x", "010", "9" * 30, "9" * 5000, "²", "\0", "\ud800", "\n", "\t", "é", "a" * 300),
]
TEXTS = sorted({step.write.command.removeprefix("!") for session in SESSIONS for step in replay(session)})


class Some:
    """Something of each kind is there."""

    def event_fields(self, system: str, event: str) -> Sequence[Field] | None:
        return EVENTS.get((system, event))

    def synthetic_fields(self, event: str) -> Sequence[Field] | None:
        return {"lat": [Field("d", "u64")], "rdlat": [Field("p", "s32"), Field("c", "u64")]}.get(event)

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        time = FieldRef("common_timestamp", "time", "u64", "usecs")
        return {("sched", "sched_waking"): {"ts0": time, "v": Number(1)}, ("a", "b"): {"v": Number(2)}}


def damaged(chance: random.Random) -> str:
    text = chance.choice(TEXTS)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        end = chance.randint(at, min(len(text), at + 12))
        text = text[:at] + chance.choice(["", *_PIECES]) + text[end:]
    return text


def check(text: str) -> HistSpec | None:
    """Parse a text; return the trigger, or None if it was refused."""
    try:
        spec = hist.parse(text, "syscalls", "sys_enter_read", EVENTS["syscalls", "sys_enter_read"], Some())
    except HistError as error:
        assert error.errno > 0
        assert error.message
        assert error.component in ("", "hist:syscalls:sys_enter_read")
        for _, caret in [(error.message, error.caret), *error.more]:
            assert 0 <= caret <= len(error.command)
        assert str(error).endswith("^")
        return None
    compile_plan(spec)
    # What reads back is the same trigger.
    again = hist.parse(spec.text, "syscalls", "sys_enter_read", EVENTS["syscalls", "sys_enter_read"], Some())
    assert again.text == spec.text
    return spec


@pytest.mark.timeout(3600)  # at night, on a busy machine
def test_a_damaged_trigger_is_refused_or_is_one() -> None:
    chance = random.Random(14)
    outcomes = [check(damaged(chance)) is None for _ in range(DAMAGED_TRIGGERS)]
    # Neither so much damage nor so little that one of the two is never met.
    assert DAMAGED_TRIGGERS // 50 < sum(outcomes) < DAMAGED_TRIGGERS - DAMAGED_TRIGGERS // 50


@pytest.mark.parametrize("text", ["keys=count:size=#", "keys=#", "keys=count.buckets=#", "keys=count:x=#"])
@pytest.mark.parametrize("number", ["9" * 5000, "0" * 5000, "0x" + "f" * 5000, "²", "\u0661", "1_0", "08"])
def test_numbers_that_are_none_are_refused(text: str, number: str) -> None:
    assert check(f"hist:{text}".replace("#", number)) is None


@pytest.mark.parametrize("cut", range(10))
def test_each_beginning_of_a_trigger_is_refused_or_is_one(cut: int) -> None:
    good = bad = 0
    for text in TEXTS[cut::10]:
        for end in range(len(text)):
            if check(text[:end]):
                good += 1
            else:
                bad += 1
    assert good
    assert bad
