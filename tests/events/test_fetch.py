"""Fetch programs: what an event reads out of objects is what Python would compute, and reading it runs no
Python code.
"""

from __future__ import annotations

import array
import collections
import functools
import os
import sys
import sysconfig
import types
from typing import Any

import extension
import fetch
import pytest
from event_image import FAULT, Big, Object, Sized
from fetch import LEN, at, attr, key
from fetch_objects import (
    Bits,
    Colour,
    Data,
    Derived,
    Getattr,
    Getattribute,
    Level,
    Missing,
    OwnDict,
    OwnList,
    OwnStr,
    OwnValue,
    Plain,
    PlainDict,
    PlainInt,
    PlainList,
    Point,
    SameHash,
    Slots,
    SlotsAndDict,
    SlotsData,
    TaggedInt,
    Unequal,
    WithMeta,
    Word,
    changed,
    filled_deque,
    function,
    raised,
    shrunk,
)

pytestmark = [
    pytest.mark.skipif("gcc" not in extension.available(), reason="no C compiler is here"),
    pytest.mark.skipif(
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="most values are faults without the GIL"
    ),
]


def python(subject: Any, steps: tuple[tuple[Any, ...], ...]) -> Any:
    """Do as the steps do, in Python."""
    for kind, *operand in steps:
        if kind == "attr":
            subject = getattr(subject, operand[0])
        else:
            subject = len(subject) if kind == "len" else subject[operand[0]]
    return subject


def as_value(value: Any) -> object:
    """Return what an image has for a Python value, as far as it is known without looking at the image."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -(2**63) <= number < 2**63 else Big(number < 0, abs(number).bit_length())
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is bytes:
        return value
    if isinstance(value, (tuple, list, dict, set, frozenset, bytearray)):
        return Sized(type(value).__name__, len(value))
    return Object(type(value).__name__, id(value))


# ---- values that Python has too

DEEP = Plain()
SAME: list[tuple[object, tuple[tuple[Any, ...], ...]]] = [
    *((one, ()) for one in (None, True, False, 0, -1, 127, 128, -128, -129, 2**30, 2**31, 2**63 - 1)),
    *((one, ()) for one in (-(2**63), -(2**30), -(2**60))),
    *((one, ()) for one in (2**63, 2**64, -(2**63) - 1, 10**40, -(10**40), 1.5, float("inf"), -0.0)),
    *((one, ()) for one in ("", "text", "é", "\U0001f600", b"", b"\0bytes", (), (1,), [1])),
    *((one, ()) for one in ({1: 2}, {1}, Plain(), Plain)),
    *((one, ()) for one in (Level.HIGH, Word.FIRST, PlainInt(5), PlainInt(2**70), bytearray(b"x"), function)),
    (DEEP, attr("number")),
    (DEEP, attr("text")),
    (DEEP, attr("shared")),
    (Derived(), attr("shared")),
    (Derived(), attr("number")),
    (DEEP, attr("inner", "deep") + at(0)),
    (DEEP, attr("inner", "deep") + at(1, 0)),
    (DEEP, attr("inner", "deep") + at(-1, -1) + key("key")),
    (DEEP, attr("inner", "deep") + at(1, 1) + key(4)),
    (DEEP, attr("inner", "deep") + at(1, 1, 4)),
    (DEEP, attr("inner", "deep") + at(1, 1, 4) + LEN),
    (DEEP, attr("text") + LEN),
    (DEEP, attr("text") + at(1)),
    (DEEP, attr("text") + at(-1) + LEN),
    (DEEP, attr("__class__", "__name__")),
    (DEEP, attr("__class__", "shared")),
    (DEEP, attr("__class__", "__class__", "__name__")),
    (DEEP, attr("method", "__name__")),
    (DEEP.method, attr("__name__")),
    (DEEP.method, attr("__func__")),
    (DEEP.method, attr("__self__", "number")),
    (changed(Plain()), attr("number")),
    (changed(Plain()), attr("more59")),
    (changed(Plain()), attr("shared")),
    (shrunk(), attr("number")),
    (Slots(), attr("number")),
    (SlotsAndDict(), attr("number")),
    (SlotsAndDict(), attr("own")),
    (Data(), attr("text")),
    (Data(), attr("number")),
    (SlotsData(), attr("text")),
    (Getattr(), attr("own")),
    (Getattr(), attr("there")),
    (WithMeta, attr("of_class")),
    (WithMeta, attr("of_meta")),
    (WithMeta, attr("__name__")),
    (WithMeta, attr("__qualname__")),
    (int, attr("__name__")),
    (collections.OrderedDict, attr("__name__")),
    (Colour.RED, attr("value")),
    (Colour.RED, attr("name")),
    (Colour.GREEN, attr("value")),
    (Level.HIGH, attr("value")),
    (Level.HIGH, attr("name")),
    (Word.FIRST, attr("value") + LEN),
    (Bits.ONE | Bits.TWO, attr("value")),
    (Colour.RED, attr("_value_")),
    (TaggedInt(3), attr("tag")),
    (TaggedInt(0), attr("tag")),
    (TaggedInt(-(2**200)), attr("tag")),
    (Point(1, "y"), attr("x")),
    (Point(1, "y"), attr("y")),
    (Point(1, "y"), at(-1)),
    (Point(1, "y"), LEN),
    (os.stat("/"), attr("st_mode")),
    (os.stat("/"), at(0)),
    (sys, attr("maxsize")),
    (collections, attr("abc", "__name__")),
    (collections, attr("deque")),
    (types.SimpleNamespace(a=1), attr("a")),
    (function, attr("__name__")),
    (function, attr("__qualname__")),
    (function, attr("__module__")),
    (function, attr("__doc__")),
    (function, attr("__defaults__") + at(0)),
    (function, attr("__kwdefaults__")),
    (function, attr("__code__", "co_name")),
    (function, attr("__code__", "co_firstlineno")),
    (function, attr("__code__", "co_argcount")),
    (raised(), attr("args") + at(0)),
    (raised(), attr("args") + at(1)),
    (raised(), attr("args") + LEN),
    (raised(), attr("__cause__", "args") + at(0)),
    (ValueError(), attr("__cause__")),
    (OSError(2, "no"), attr("errno")),
    (OSError(2, "no"), attr("filename")),
    (StopIteration(5), attr("value")),
    (3 + 4j, attr("imag")),
    (slice(1, 2), attr("stop")),
    (functools.partial(function, 1), attr("args") + at(0)),
    (range(5, 50, 3), attr("start")),
    (range(5, 50, 3), at(4)),
    (range(5, 50, 3), at(-1)),
    (range(50, 5, -3), at(2)),
    (range(0), LEN),
    (range(2**62), LEN),
    (b"bytes", at(1)),
    (b"bytes", LEN),
    (bytearray(b"bytes"), at(-1)),
    (bytearray(b"bytes"), LEN),
    ({1, 2}, LEN),
    (frozenset({1, 2}), LEN),
    ({1: 2}.keys(), LEN),
    ({1: 2}.values(), LEN),
    ({1: 2}.items(), LEN),
    (array.array("d", [1.0, 2.0]), LEN),
    (collections.deque([1, 2], maxlen=5), LEN),
    (PlainList([1, 2]), at(1)),
    (PlainList([1, 2]), LEN),
    (PlainDict(a=1), key("a")),
    (PlainDict(a=1), LEN),
    (Missing(a=1), key("a")),
    (collections.OrderedDict(a=1, b=2), key("b")),
    (collections.OrderedDict(a=1, b=2), LEN),
    (collections.defaultdict(int, a=1), key("a")),
    (collections.Counter("aab"), key("a")),
    ({"a": 1, 5: 2}, key("a")),
    ({"a": 1, 5: 2}, key(5)),
    ({"é": 1, "\U0001f600": 2}, key("\U0001f600")),
    ({True: "true"}, key(1)),
    ({1.0: "float"}, key(1)),
    ({0: "nought", -1: "minus", -2: "two"}, key(-1)),
    ({0: "nought", -1: "minus", -2: "two"}, key(-2)),
    ({2**61: "wide", 2**63: "wider"}, key(2**61)),
    ({2**61: "wide", 2**63: "wider"}, key(2**63)),
    ({Word.FIRST: 1, "second": 2}, key("second")),
    ({Level.HIGH: 1}, key(3)),
    ({PlainInt(7): 1}, key(7)),
    ({(1, 2): 0, None: 1, b"a": 2, "a": 3}, key("a")),
    ("text", at(0, 0, -1)),
    ("aé\U0001f600", at(2)),
    ("x" * 48, ()),
    *((filled_deque(first, length), at(n))
      for first, length in ((0, 1), (0, 64), (40, 64), (63, 130), (5, 3000))
      for n in (0, length // 2, length - 1, -1, -length)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SAME)))
def test_what_is_fetched_is_what_python_computes(number: int) -> None:
    subject, steps = SAME[number]
    expected = python(subject, steps)
    if isinstance(expected, types.MethodType):
        expected = expected.__func__
    assert fetch.fetch(subject, steps) == as_value(expected)


def test_a_method_is_fetched_as_its_function() -> None:
    assert fetch.fetch(DEEP, attr("method")) == Object("function", id(Plain.method))
    assert fetch.fetch(Plain, attr("method")) == Object("function", id(Plain.method))


FAULTS: list[tuple[object, tuple[tuple[Any, ...], ...]]] = [
    (DEEP, attr("missing")),
    (DEEP, attr("computed")),
    (DEEP, attr("cached")),
    (DEEP, attr("static")),
    (DEEP, attr("of_class")),
    (DEEP, attr("__dict__")),
    (DEEP, attr("number", "real")),
    (shrunk(), attr("text")),
    (Slots(), attr("empty")),
    (Slots, attr("number")),
    (Plain, attr("computed")),
    (Getattr(), attr("missing")),
    (Getattribute(), attr("there")),
    (WithMeta, attr("computed")),
    (WithMeta(), attr("of_meta")),
    (OwnValue.A, attr("value")),
    (super(Derived, Derived()), attr("shared")),
    (5, attr("missing")),
    (None, attr("missing")),
    (None, at(0)),
    (5, LEN),
    (Plain(), LEN),
    ([], at(0)),
    ([1], at(1)),
    ([1], at(-2)),
    ((), at(0)),
    ("", at(0)),
    (b"", at(-1)),
    ([1], key("a")),
    ({}, key("a")),
    ({1: 2}, key("a")),
    ({1: 2}, at(0)),
    ({"a": 1}, key("b")),
    (Missing(), key("a")),
    (collections.defaultdict(int), key("a")),
    (collections.Counter(), key("a")),
    ({SameHash("a"): 1}, key("a")),
    ({Unequal("a"): 1, "a": 2}, key("a")),
    ({Unequal(5): 1, 5: 2}, key(5)),
    ({SameHash(5): 1}, key(5)),
    ({1, 2}, at(0)),
    (OwnStr("abc"), LEN),
    (OwnStr("abc"), at(0)),
    (OwnList([1, 2]), LEN),
    (OwnList([1, 2]), at(0)),
    (OwnDict(a=1), key("a")),
    (OwnDict(a=1), LEN),
    (iter([1]), LEN),
    (types.MappingProxyType({"a": 1}), key("a")),
    (range(2**70), LEN),
    (range(2**70), at(0)),
    (memoryview(b"abc"), at(0)),
    (collections.deque(), at(0)),
    (collections.deque(range(64)), at(64)),
    (Point(1, 2), attr("z")),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_what_only_code_of_the_program_could_tell_is_a_fault(number: int) -> None:
    assert fetch.fetch(*FAULTS[number]) is FAULT


def test_a_key_that_is_found_before_one_that_would_have_to_be_asked_is_no_fault() -> None:
    assert fetch.fetch({"a": 2, SameHash("b"): 1}, key("a")) == 2


def test_a_cached_property_is_fetched_once_it_was_computed() -> None:
    plain = Plain()
    assert fetch.fetch(plain, attr("cached")) is FAULT
    assert plain.cached == 1
    assert fetch.fetch(plain, attr("cached")) == 1


def test_a_change_of_a_class_is_seen_by_a_program_that_knows_it() -> None:
    probe = fetch.probe()
    program = probe.new([("x", "value", 0, ("name", "subject"), attr("name"))], False)

    def now(subject: object) -> object:
        return fetch.decode(program, probe.at_place(program)[0])["x"]

    class Base:
        pass

    class Subject(Base):
        pass

    subject = Subject()
    subject.own = 1  # type: ignore[attr-defined]
    assert now(subject) is FAULT
    Base.name = "base"  # type: ignore[attr-defined]
    assert subject.name == "base"  # type: ignore[attr-defined]
    assert now(subject) == "base"
    subject.name = "own"  # type: ignore[attr-defined]
    assert now(subject) == "own"
    Subject.name = property(lambda self: 1)  # type: ignore[attr-defined]
    assert now(subject) is FAULT
    del Subject.name  # type: ignore[attr-defined]
    assert now(subject) == "own"
    Base.__getattribute__ = lambda self, name: 1  # type: ignore[method-assign, assignment]
    assert now(subject) is FAULT
    del Base.__getattribute__
    assert now(subject) == "own"
    del subject.name  # type: ignore[attr-defined]
    assert now(subject) == "base"
    subject.__class__ = Base  # type: ignore[assignment]
    del Base.name  # type: ignore[attr-defined]
    assert now(subject) is FAULT
    Base.name = Later()  # type: ignore[attr-defined]
    assert subject.name is Base.__dict__["name"]  # type: ignore[attr-defined]
    assert now(subject) == Object("Later", id(Base.__dict__["name"]))
    Later.__get__ = lambda *args: 1  # type: ignore[attr-defined]
    assert now(subject) is FAULT


class Later:
    """A class that becomes one of descriptors."""
