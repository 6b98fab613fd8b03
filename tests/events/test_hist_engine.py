"""From a trigger's text through the engine to the file `hist`: what the kernel's sessions did is done again,
and hits of all kinds of values are those that Python counts."""

from __future__ import annotations

import ctypes
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from funcgraph.events import hist
from funcgraph.events.hist_plan import KIND_WORDS
from funcgraph.events.hist_rows import Held
from funcgraph.events.hist_spec import Expression
from funcgraph.events.hist_text import hist_text
from tests.events import hist_engine
from tests.events.hist_engine import Histogram
from tests.events.hist_replay import DATA, EVENTS, Field
from tests.events.test_hist_kernel import read_backs

pytestmark = pytest.mark.one_python

READ = EVENTS["syscalls", "sys_enter_read"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return hist_engine.build(tmp_path_factory.mktemp("engine"))


class Others:
    """Events whose histograms have variables."""

    def __init__(self, **variables: Expression) -> None:
        self._variables = variables

    def event_fields(self, system: str, event: str) -> Sequence[Field] | None:
        return EVENTS.get((system, event))

    def synthetic_fields(self, event: str) -> None:
        del event

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        return {("syscalls", "sys_enter_read"): self._variables}


def make(engine: ctypes.CDLL, command: str, fields: Sequence[Field] = READ, others: Any = None) -> Histogram:
    spec = hist.parse(command, "syscalls", "sys_enter_read", fields, others)
    return Histogram(engine, spec, fields)


def text_of(histogram: Histogram) -> str:
    rows, dropped = histogram.rows()
    return hist_text(histogram.spec, rows, dropped)


def test_the_words_of_each_kind_are_the_engines() -> None:
    header = (hist_engine.ROOT / "src/engine/hist/hist_term.h").read_text()
    kinds = re.findall(r'X\([A-Z_]+, "(\w+)", (\d+)\)', header)
    assert {name: int(words) for name, words in kinds} == KIND_WORDS


# ---- the kernel's sessions: `work read 64 3; work read 1000 2; work read 4096 4`

_BLOCK = re.compile(
    r"^# event histogram\n#\n# trigger info: (.*) \[active\]\n(?:(?!# event).*\n)*?    Dropped: \d+\n",
    re.MULTILINE,
)


def sessions() -> list[tuple[str, str]]:
    """Return trigger and text of what that activity left."""
    texts = [(DATA / f"{name}.txt").read_text() for name in ("hist", "hist_modifiers", "hist_vars")]
    return [
        (block[1], block[0])
        for text in texts
        for block in _BLOCK.finditer(text)
        if "    Hits: 9\n" in block[0] and "common_pid" not in block[0]
    ]


@pytest.mark.parametrize(("command", "text"), sessions())
def test_the_same_activity_leaves_the_same_text(engine: ctypes.CDLL, command: str, text: str) -> None:
    histogram = make(engine, command)
    for size, times in ((64, 3), (1000, 2), (4096, 4)):
        for _ in range(times):
            assert histogram.count(fd=3, count=size, time_ns=12345)
    assert text_of(histogram) == text
    histogram.close()


def test_all_sessions_are_there() -> None:
    assert len(sessions()) == 8


def test_log2_and_buckets_as_in_the_kernels_session(engine: ctypes.CDLL) -> None:
    text = (DATA / "hist_misc.txt").read_text()
    for modifier in ("log2", "buckets=2"):
        histogram = make(engine, f'hist:keys=count.{modifier}:sort=count if COMM == "work"')
        for size in range(6):
            histogram.count(count=size)
        shown = [f"  {line}\n" for line in text_of(histogram).split("\n") if line.startswith("{")]
        assert "".join([f"  = {histogram.spec.info()}\n", *shown]) in text
        histogram.close()


@pytest.mark.parametrize(("written", "back", "value"), [row for row in read_backs() if row[1]])
def test_expressions_have_the_kernels_values(
    engine: ctypes.CDLL, written: str, back: str, value: str
) -> None:
    del back
    if written == "count/7":
        # The kernel rounds where the divisor is a constant that is no power of two, and cuts elsewhere.
        value = "142"
    histogram = make(engine, f"hist:keys=common_pid:vals={written.removesuffix('.hex')}")
    histogram.count(fd=3, count=1000)
    ((row,), _) = histogram.rows()
    assert row.sums[0] % 2**64 == int(value)
    histogram.close()


def test_the_time_between_two_events(engine: ctypes.CDLL) -> None:
    """`ts0` of one histogram is taken by the other, once for each time it was set."""
    begin = make(engine, "hist:keys=common_pid:ts0=common_timestamp.usecs")
    ts0 = begin.spec.variables[0].value
    end = make(engine, "hist:keys=common_pid:vals=common_timestamp.usecs-$ts0", READ, Others(ts0=ts0))
    for pid, began, ended in ((7, 1_000, 5_000), (8, 2_000, 9_000), (7, 10_000, 11_000)):
        begin.count(pid=pid, time_ns=began)
        taken = end.take(begin, 0, pid=pid)
        assert taken.number == began // 1000
        end.count(pid=pid, time_ns=ended, variables=[taken])
        assert end.take(begin, 0, pid=pid).kind == 0  # taken already
    assert {row.keys: row.sums for row in end.rows()[0]} == {(7,): (5,), (8,): (7,)}
    begin.close()
    end.close()


def test_onmax_saves_as_in_the_kernels_session(engine: ctypes.CDLL) -> None:
    """The first block of hist_actions: three programs, the latencies as in their largest."""
    fields = [Field("lat_of", "u64"), Field("ret", "s64")]
    histogram = make(
        engine, "hist:keys=common_pid:lat=lat_of:onmax($lat).save(ret,common_comm,common_pid)", fields
    )
    for pid, ret, latencies in ((139, 1000, [69, 3]), (138, 64, [5, 79, 7]), (140, 4096, [120, 9, 9, 120])):
        largest = 0
        for latency in latencies:
            assert histogram.act(pid=pid, ret=ret, lat_of=latency) == [latency > largest]
            largest = max(largest, latency)
    rows = text_of(histogram).partition("\n#\n\n")[2]
    assert rows.startswith(
        "{ common_pid:        139 } hitcount:          2\n\tmax:         69  ret:       1000"
    )
    assert f"\n{rows}" in (DATA / "hist_actions.txt").read_text()
    histogram.close()


def test_onchange_as_in_the_kernels_session(engine: ctypes.CDLL) -> None:
    histogram = make(
        engine,
        "hist:keys=common_comm:r=ret:onchange($r).save(ret,common_pid)",
        EVENTS["syscalls", "sys_exit_read"],
    )
    for pid, size, times in ((156, 64, 3), (157, 1000, 2), (158, 4096, 4)):
        for time in range(times):
            assert histogram.act(pid=pid, ret=size) == [time == 0]
    rows = text_of(histogram).partition("\n#\n\n")[2]
    assert f"\n{rows}" in (DATA / "hist_actions.txt").read_text()
    histogram.close()


def test_actions_keep_signed_numbers_floats_and_texts(engine: ctypes.CDLL) -> None:
    command = (
        "hist:keys=bool:a=s64:b=f64:c=any:onmax($a).save(text,f64,s8):onmax($b).snapshot():onchange($c).e(a)"
    )
    command = command.replace(":onchange($c).e(a)", ":onchange($c).snapshot()")
    histogram = make(engine, command, FIELDS)
    assert histogram.act(s64=-5, f64=-0.5, any=1, text="first", s8=-1) == [True, True, True]
    assert histogram.act(s64=-9, f64=-0.25, any=1, text="second", s8=-2) == [False, True, False]
    assert histogram.act(s64=-1, f64=float("nan"), any="no number", text="third", s8=-3) == [
        True,
        False,
        False,
    ]
    text = text_of(histogram)
    assert f"\n\tmax:         -1  text: {'third':32}  f64:        nan  s8:         -3\n" in text
    assert text.count("max:") == 1  # a snapshot has no line
    histogram.close()


# ---- all kinds of values

FIELDS = [Field(f"{sign}{bits}", f"{sign}{bits}") for sign in "us" for bits in (8, 16, 32, 64)]
FIELDS += [Field("f64", "f64"), Field("bool", "bool"), Field("text", "string"), Field("any", "value")]


class Thing:
    """An object in a field."""


def random_hit(chance: random.Random) -> dict[str, Any]:
    hit: dict[str, Any] = {}
    for field in FIELDS:
        if field.type[0] in "us" and field.type[1:].isdigit():
            bits = int(field.type[1:])
            low = -(1 << bits - 1) if field.type[0] == "s" else 0
            hit[field.name] = low + chance.choice([0, 1, 2, (1 << bits) - 1, (1 << bits - 1) - 1])
    hit["f64"] = chance.choice([0.0, 0.5, -2.25, 1e300])
    hit["bool"] = chance.random() < 0.5
    hit["text"] = chance.choice(["", "a", "b", "änderung", "x" * 60])
    hit["any"] = chance.choice([0, -1, 1 << 40, 2.5, "text", b"text", None, Thing()])
    return hit


def as_key(value: Any) -> Any:
    if value is None or isinstance(value, Thing):
        return Held("None" if value is None else "<Thing at 0x7f0000>")
    return value


@pytest.mark.parametrize("seed", range(20))
def test_hits_are_those_that_python_counts(engine: ctypes.CDLL, seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample([field.name for field in FIELDS], chance.randint(1, 8))
    histogram = make(engine, f"hist:keys={','.join(names)}:vals=s32,f64,any,u64:size=131072", FIELDS)
    expected: Counter[tuple[Any, ...]] = Counter()
    sums: dict[tuple[Any, ...], list[float]] = {}
    for _ in range(500):
        hit = random_hit(chance)
        assert histogram.count(**hit)
        key = tuple((type(as_key(hit[name])).__name__, as_key(hit[name])) for name in names)
        expected[key] += 1
        its_sums = sums.setdefault(key, [0, 0, 0, 0])
        any_number = hit["any"] if isinstance(hit["any"], int | float) else 0
        if isinstance(hit["any"], Thing):
            any_number = 0x7F0000
        for place, number in enumerate((hit["s32"], hit["f64"], any_number, hit["u64"])):
            its_sums[place] += number
    rows, dropped = histogram.rows()
    assert dropped == 0
    bools = [name == "bool" for name in names]
    found = {
        tuple(
            ("bool", bool(key)) if is_bool else (type(key).__name__, key)
            for key, is_bool in zip(row.keys, bools, strict=True)
        ): row
        for row in rows
    }
    assert {key: row.hitcount for key, row in found.items()} == expected
    for key, (signed, real, dynamic, unsigned) in sums.items():
        row = found[key]
        assert row.sums[0] == signed
        assert row.sums[1] == pytest.approx(real)
        assert row.sums[2] == pytest.approx(dynamic)
        assert row.sums[3] == int(unsigned) % 2**64
    histogram.close()


def test_common_fields_and_stacks(engine: ctypes.CDLL) -> None:
    keys = "common_pid.execname,common_cpu,common_comm,common_timestamp.usecs,common_stacktrace"
    histogram = make(engine, f"hist:keys={keys}")
    for _ in range(3):
        histogram.count(pid=42, cpu=1, comm="a_thread", time_ns=5_999, stack=[9, 8, 7])
    histogram.count(pid=42, cpu=1, comm="a_thread", time_ns=5_999, stack=[9, 8])
    rows, _ = histogram.rows()
    assert [(row.keys, row.hitcount, row.comm) for row in rows] == [
        ((42, 1, "a_thread", 5, (9, 8, 7)), 3, "a_thread"),
        ((42, 1, "a_thread", 5, (9, 8)), 1, "a_thread"),
    ]
    histogram.close()


def test_a_full_table_drops(engine: ctypes.CDLL) -> None:
    """As in the kernel's session: 300 sizes in a table of 128."""
    histogram = make(engine, 'hist:keys=count:size=128 if COMM == "work"')
    for size in range(1, 301):
        histogram.count(count=size)
    text = text_of(histogram)
    end = "\nTotals:\n    Hits: 128\n    Entries: 128\n    Dropped: 172\n"
    assert text.endswith(end)
    assert end in (DATA / "hist_sort_size.txt").read_text()
    histogram.close()
