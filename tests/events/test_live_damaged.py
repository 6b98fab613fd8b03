"""Damaged definitions, filters, triggers and names of events, written to the files of a live instance.

Each is accepted or refused, and what is refused leaves nothing behind.
"""

from __future__ import annotations

import gc
import random
import sys

import pytest
from support.sizes import DAMAGED_WRITES

import funcgraph
from funcgraph.definitions.definition import Definition
from funcgraph.events import live

pytestmark = pytest.mark.one_python

events = funcgraph.dynamic_events
HERE = __name__
WRITES = 50  # to one instance


def first(n: int, text: str) -> int:
    return n


def second(n: int) -> int:
    return n


BASE = (
    f"f:bad/one {HERE}.first n=n:u32 text=text:string v=n\nf:bad/two {HERE}.second%return n=n:s16 r=$retval\n"
)
SEEDS = {
    "dynamic_events": [
        f"f:bad/new {HERE}.first n=n:u8 text",
        f"f {HERE}.second%return $retval r=$retval:object",
        f"p:bad/k {HERE}.second n c=$comm",
        f"r:bad/k {HERE}.first s=text:len t=text[0]:char[2]",
        f"f:bad/one {HERE}.second n:u32",
        f"f:bad/all {HERE}.* $symbol $arg*",
        "s:late u64 lat; pid_t pid; char comm[16]",
        "e:bad/e bad/one n=$n if n > 3",
        "t:bad/t py/raise x=$arg1",
        f"-:bad/one {HERE}.first",
        "-:bad/",
    ],
    "events/bad/one/filter": [
        "n > 3 && text ~ 'a*'",
        "!(n == 0x10 || v < -2)",
        "common_pid != 0",
        'COMM == "x"',
        "0",
    ],
    "events/bad/filter": ["n >= 7", "text != 'x'", "0"],
    "events/bad/two/trigger": [
        "hist:keys=n.log2,common_pid:vals=r,hitcount:sort=r.descending,n:size=256 if n > 1",
        "hist:keys=n:x=common_timestamp.usecs:onmax($x).save(n)",
        "hist:keys=common_stacktrace:pause",
        "traceoff:3 if n == 2",
        "traceon",
        "!traceoff",
        "!hist:keys=n.log2,common_pid:vals=r,hitcount:sort=r.descending,n:size=256 if n > 1",
    ],
    "events/bad/two/enable": ["1", "0"],
    "set_event": ["bad:one", "bad:*", "!bad", "one two", ":mod:x"],
    "set_event_pid": ["1 2 3", "4194304"],
    "synthetic_events": ["late u64 lat; pid_t pid", "!late"],
}
#: Few writes define or switch events: finding a function and hooking it take milliseconds.
CHANGING = [*[file for file in SEEDS if file.endswith(("/filter", "/trigger"))] * 9, *SEEDS]
PIECES = (
    *"\"'\\$:[].-=/#\n \t;+@()\0\ud800é٣²!~<,*?_nu1",
    *('["', '"]', "$arg", "$retval", "%return", "::", ":len", "->", "0x", "9" * 30, "f:", "p:", "-:", "text"),
    *("&&", "||", "==", "CPUS{", "if ", "hist:", "keys=", "vals=", "sort=", ".hex", ".buckets=", "onmatch("),
)


def damaged(chance: random.Random) -> tuple[str, str]:
    """Return a file, and a text of it, or of another file, with a few places changed."""
    file = chance.choice(CHANGING)
    source = file if chance.random() < 0.9 else chance.choice(list(SEEDS))
    text = chance.choice(SEEDS[source])
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(0, 3))
        text = text[:at] + chance.choice(("", *PIECES)) + text[end:]
    return file, text


def snapshot(instance: funcgraph.Instance) -> list[object]:
    """Return what can change, but for the list of errors."""
    held: list[object] = [events.read(), instance.set_event_pid]
    for name, event in instance.events.items():
        if name.startswith("bad/"):
            held.append((name, event.enable, event.filter, event.trigger))
    return held


@pytest.mark.timeout(300 + DAMAGED_WRITES // 50)
def test_what_is_refused_leaves_nothing_behind() -> None:
    chance = random.Random(15)
    counts = {"accepted": 0, "refused": 0}
    for _ in range(DAMAGED_WRITES // WRITES):
        with funcgraph.Instance("damaged") as instance:
            begin()
            held = snapshot(instance)
            for _ in range(WRITES):
                held = write(instance, *damaged(chance), held, counts)
            first(3, "abc")
            second(5)
        assert funcgraph.users() == [] and "damaged" not in funcgraph.instances()
    events.clear()
    assert len(events) == 0
    # Neither so much damage nor so little that one of the two is never met.
    assert min(counts.values()) > DAMAGED_WRITES // 20, counts


def begin() -> None:
    """Have the events of BASE and no others."""
    expected = BASE.splitlines()
    live.remove(one for one in list(events) if isinstance(one, Definition) and one.text not in expected)
    if not set(expected) <= set(events.read().splitlines()) or len(events) > len(expected):
        events.clear()
        events.write("dynamic_events", BASE)


def write(
    instance: funcgraph.Instance, file: str, text: str, before: list[object], counts: dict[str, int]
) -> list[object]:
    """Write a text; return what the files hold then.

    Broken by an exception other than OSError, or by a refused text that changes something.
    """
    if file not in instance.files:
        return before  # its event was deleted
    try:
        instance.files.write(file, text, append=True)
        counts["accepted"] += 1
        return snapshot(instance)
    except OSError as error:
        counts["refused"] += 1
        assert error.errno and str(error)
        after = snapshot(instance)
        # Of several lines those that are right are done.
        assert "\n" in text or after == before, (file, text)
        return after


def test_refused_texts_leak_no_memory() -> None:
    """Broken by a reference that a refusal keeps."""
    refused = {
        "dynamic_events": f"f:1bad/new {HERE}.first n",
        "events/bad/one/filter": "n > 3 && nosuch == 1",
        "events/bad/two/trigger": "hist:keys=nosuch:vals=n",
        "set_event": "nosuch",
        "set_event_pid": "1 x",
    }

    def blocks(times: int) -> int:
        for _ in range(times):
            for file, text in refused.items():
                with pytest.raises(OSError):
                    instance.files.write(file, text, append=True)
        gc.collect()
        return sys.getallocatedblocks()

    with funcgraph.Instance("leak") as instance:
        instance.files.write("dynamic_events", BASE, append=True)
        before = blocks(50)
        assert blocks(200) - before < 200  # each of the 1,000 refusals would leave at least one
    events.clear()
