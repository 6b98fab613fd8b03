"""Fetch programs: what an event reads out of objects is what Python would compute, and reading it runs no
Python code.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import functools
import itertools
import os
import struct
import subprocess
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import extension
import fetch
import pytest
from fetch import FAULT, LEN, Big, Object, Sized, at, attr, key

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


# ---- the objects

Point = collections.namedtuple("Point", "x y")


class Plain:
    shared = "of the class"

    def __init__(self) -> None:
        self.number = 7
        self.text = "text"
        self.inner = types.SimpleNamespace(deep=(1, [2, {"key": 3, 4: "four"}]))

    def method(self) -> int:
        return 1

    @property
    def computed(self) -> int:
        return 1

    @functools.cached_property
    def cached(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 1

    @classmethod
    def of_class(cls) -> int:
        return 1


class Derived(Plain):
    shared = "of the derived class"


class Slots:
    __slots__ = ("empty", "number")

    def __init__(self) -> None:
        self.number = 8


class SlotsAndDict(Slots):
    def __init__(self) -> None:
        super().__init__()
        self.own = 9


@dataclasses.dataclass
class Data:
    number: int = 1
    text: str = "data"


@dataclasses.dataclass(slots=True, frozen=True)
class SlotsData:
    number: int = 2
    text: str = "slots"


class Colour(enum.Enum):
    RED = "red"
    GREEN = 2


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    FIRST = "first"


class Bits(enum.Flag):
    ONE = 1
    TWO = 2


class OwnValue(enum.Enum):
    A = 1

    @property
    def value(self) -> Any:
        return "own"


class Getattr:
    there = 1

    def __init__(self) -> None:
        self.own = 2

    def __getattr__(self, name: str) -> Any:
        return name


class Getattribute:
    there = 1

    def __getattribute__(self, name: str) -> Any:
        return 1


class Meta(type):
    of_meta = "meta"

    @property
    def computed(cls) -> int:
        return 1


class WithMeta(metaclass=Meta):
    of_class = "class"


class OwnInt(int):
    def __int__(self) -> int:
        return 1


class PlainInt(int):
    pass


class TaggedInt(int):
    def __init__(self, number: int) -> None:
        self.tag = "tag"


class OwnFloat(float):
    def __float__(self) -> float:
        return 1.0


class OwnStr(str):
    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, n: Any) -> str:
        return "x"


class OwnList(list[Any]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, n: Any) -> Any:
        return 1


class PlainList(list[Any]):
    pass


class OwnDict(dict[Any, Any]):
    def __getitem__(self, n: Any) -> Any:
        return 1

    def __len__(self) -> int:
        return 1


class PlainDict(dict[Any, Any]):
    pass


class Missing(dict[Any, Any]):
    def __missing__(self, name: Any) -> Any:
        return 1


class SameHash:
    """A key whose hash is that of another key, and that would have to be asked whether it is equal."""

    def __init__(self, other: object) -> None:
        self.hash = hash(other)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return True


class Bool:
    def __bool__(self) -> bool:
        return True


class OwnBoolInt(int):
    def __bool__(self) -> bool:
        return True


def function(a: int, b: int = 3) -> int:
    return a + b


def changed(plain: Plain) -> Plain:
    """Return an object whose attributes have moved into a dictionary of its own."""
    plain.__dict__["from outside"] = 1
    vars(plain).update({f"more{i}": i for i in range(60)})
    return plain


def shrunk() -> Plain:
    plain = Plain()
    del plain.text
    return plain


def filled_deque(first: int, length: int) -> collections.deque[int]:
    """Return a deque whose first item lies somewhere in its first block."""
    numbers = collections.deque(range(-first, length))
    for _ in range(first):
        numbers.popleft()
    return numbers


def raised() -> BaseException:
    try:
        raise ValueError("text", 5) from KeyError("cause")
    except ValueError as error:
        return error


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
    ({SameHash("a"): 1, "a": 2}, key("a")),
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


# ---- types


def truth(value: object) -> object:
    return int(bool(value))


def bits(number: int, width: int, is_signed: bool) -> int:
    low = number & (2**width - 1)
    return low - 2**width if is_signed and low >> (width - 1) else low


NUMBERS = [
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    -128,
    -129,
    2**15,
    2**16 + 5,
    2**31,
    -(2**31) - 1,
    2**32,
    2**62,
    True,
]
NUMBERS += [2**63 - 1, 2**63, 2**64 - 1, -(2**63), Level.HIGH, PlainInt(-300)]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("letter", ["u", "s", "x"])
def test_a_typed_field_has_the_low_bits_of_an_int(letter: str, width: int) -> None:
    for number in NUMBERS:
        assert fetch.fetch(number, (), f"{letter}{width}") == bits(int(number), width, letter == "s")
    for wide in (2**64, -(2**63) - 1, 10**50, PlainInt(2**64)):
        assert fetch.fetch(wide, (), f"{letter}{width}") is FAULT
    for other in (1.0, None, "5", b"5", [], OwnInt(5), Bool()):
        assert fetch.fetch(other, (), f"{letter}{width}") is FAULT


def test_f64_is_what_float_makes_of_ints_and_floats() -> None:
    for number in (0.0, 1.5, float("inf"), *NUMBERS, 2**64, -(10**300), 2**1023 - 1, 2**53 + 1, 2**64 - 1):
        assert fetch.fetch(number, (), "f64") == float(number)
    for other in (2**1024, "1", None, OwnFloat(5.0), OwnInt(5)):
        assert fetch.fetch(other, (), "f64") is FAULT


def test_bool_is_the_truth_of_an_object() -> None:
    known = [None, True, False, 0, 5, 2**70, 0.0, 0.5, "", "a", b"", b"a", [], [0], (), {}, {1}, Plain()]
    known += [Level.HIGH, PlainInt(0), range(0), range(3), PlainList(), function, int]
    for one in known:
        assert fetch.fetch(one, (), "bool") == truth(one)
    for other in (Bool(), OwnBoolInt(5), OwnList([])):
        assert fetch.fetch(other, (), "bool") is FAULT


def test_char_is_one_character_or_byte() -> None:
    for one, expected in (("a", 97), (b"\xff", 255), (65, 65), (321, 65), ("é", 233)):
        assert fetch.fetch(one, (), "char") == expected
    assert fetch.fetch("text", at(2), "char") == ord("x")
    assert fetch.fetch(b"text", at(2), "char") == ord("x")
    assert fetch.fetch("abc", (), "char", 5) == [97, 98, 99, 0, 0]
    for other in ("", "ab", b"ab", "Ā", 1.0, None):
        assert fetch.fetch(other, (), "char") is FAULT


def test_a_string_is_the_characters_of_a_str_or_the_bytes_of_bytes() -> None:
    for text in ("", "text", "é€\U0001f600", OwnStr("own"), Word.FIRST, "x" * 900):
        assert fetch.fetch(text, (), "string") == str.__str__(text)
    assert fetch.fetch("\udc80", (), "string") == "\ufffd"
    assert fetch.fetch(b"by\xfftes", (), "string") == "by\udcfftes"
    assert fetch.fetch(bytearray(b"array"), (), "string") == "array"
    assert fetch.fetch("text", at(1), "string") == "e"
    assert fetch.fetch(int, attr("__name__"), "string") == "int"
    for other in (5, None, 1.5, ["a"], Plain()):
        assert fetch.fetch(other, (), "string") is FAULT


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_a_long_string_is_cut_at_a_whole_character_and_marked(character: str) -> None:
    for more in range(8):
        whole = "y" * more + character * 1000
        got = fetch.fetch(whole, (), "string")
        assert isinstance(got, str)
        assert got.endswith("...")
        assert whole.startswith(got[:-3])
        assert 930 < len(got.encode()) < 940
        got = fetch.fetch(whole.encode(), (), "string")
        assert isinstance(got, str) and got.endswith("...")


def test_a_long_text_of_a_value_is_cut_at_a_whole_character() -> None:
    for character in ("x", "é", "€", "\U0001f600"):
        whole = "y" + character * 100
        got = fetch.fetch(whole)
        assert isinstance(got, tuple)
        text, length = got
        assert length == 101 and whole.startswith(text) and 45 <= len(text.encode()) <= 48


def test_object_is_a_type_and_an_address_or_a_length() -> None:
    plain = Plain()
    assert fetch.fetch(plain, (), "object") == Object("Plain", id(plain))
    assert fetch.fetch("text", (), "object") == Object("str", id("text"))
    assert fetch.fetch([1, 2], (), "object") == Sized("list", 2)
    assert fetch.fetch(plain, attr("missing"), "object") is FAULT
    assert fetch.fetch("text", LEN, "object") is FAULT


def test_a_symbol_is_the_record_of_a_function() -> None:
    def known() -> None:
        pass

    fetch.probe().give_record(known, 77)
    assert fetch.fetch(known, (), "symbol") == 77
    assert fetch.fetch(types.MethodType(known, 1), (), "symbol") == 77
    for other in (function, len, 5, None, int):
        assert fetch.fetch(other, (), "symbol") is FAULT


# ---- arrays


def test_an_array_has_the_items_and_zeros_after_them() -> None:
    for numbers in (
        PlainList([4, 5]),
        [1, -2, 3],
        (1, -2, 3),
        collections.deque([1, -2, 3]),
        range(3),
        b"abc",
        bytearray(b"ab"),
        [],
    ):
        items = [bits(int(item), 64, True) for item in numbers][:2]  # type: ignore[attr-defined]
        for count in (1, 2, 5, 70):
            whole = [int(item) for item in numbers][:count]  # type: ignore[attr-defined]
            assert fetch.fetch(numbers, (), "s64", count) == whole + [0] * (count - len(whole))
        assert fetch.fetch(numbers, (), "f64", 2) == [float(item) for item in items] + [0.0] * (
            2 - len(items)
        )
    assert fetch.fetch(["a", "bc"], (), "string", 3) == ["a", "bc", None]
    assert fetch.fetch([1, None, "x"], (), "value", 4) == [1, None, "x", None]
    assert fetch.fetch([1, "x"], (), "s64", 2) is FAULT
    for other in (5, None, {1: 2}, {1, 2}, OwnList([1])):
        assert fetch.fetch(other, (), "s64", 2) is FAULT


# ---- numpy


def test_arrays_and_scalars_of_numpy_are_read_from_their_structures() -> None:
    numpy = pytest.importorskip("numpy")
    grid = numpy.zeros((3, 4), dtype="float32")
    for name in ("ndim", "size"):
        assert fetch.fetch(grid, attr(name)) == getattr(grid, name)
    assert fetch.fetch(grid, LEN) == 3
    assert fetch.fetch(grid, attr("shape")) == Sized("tuple", 2)
    assert fetch.fetch(grid, attr("shape") + at(-1)) == 4
    assert fetch.fetch(grid, attr("shape") + LEN) == 2
    assert fetch.fetch(grid, attr("shape"), "s64", 3) == [3, 4, 0]
    assert fetch.fetch(grid, attr("data")) is FAULT
    assert fetch.fetch(numpy.array(5), LEN) is FAULT
    for kind in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32"):
        assert fetch.fetch(numpy.zeros(1, dtype=kind), attr("dtype")) == kind
        one = numpy.dtype(kind).type(1)
        assert fetch.fetch(one) == 1
        assert fetch.fetch(one, (), "f64") == 1.0
    assert fetch.fetch(numpy.float64(1.25)) == 1.25
    assert fetch.fetch(numpy.int64(-5), (), "s32") == -5
    assert fetch.fetch(numpy.uint64(2**64 - 1), (), "u64") == 2**64 - 1
    assert fetch.fetch(numpy.bool_(False), (), "bool") == 0
    assert fetch.fetch(numpy.complex128(1), (), "s32") is FAULT


# ---- programs


def at_place(program: Any, **values: object) -> Any:
    """Run a program at a place where the variable `values` is."""
    image, faults = fetch.probe().at_place(program, 5)
    return fetch.decode(program, image), faults


def test_fields_lie_packed_in_their_order() -> None:
    fields = [
        ("a", "u8", 0, ("imm", 1), ()),
        ("b", "s64", 3, ("imm", 2), ()),
        ("c", "value", 0, ("imm", 3), ()),
    ]
    for is_return in (False, True):
        first = fetch.FIRST_FIELD[is_return]
        table = fetch.probe().table(fetch.probe().new(fields, is_return))
        assert table[:3] == (first, first + 1 + 24 + 4, 0)
        assert [row[3] for row in table[3]] == [first, first + 1, first + 25]


def test_sources_at_a_place() -> None:
    fields = [
        ("name", "value", 0, ("name", "values"), (("key", "x"),)),
        ("symbol", "value", 0, ("symbol",), ()),
        ("number", "value", 0, ("imm", -5), ()),
        ("wide", "u64", 0, ("imm", 2**64 - 1), ()),
        ("text", "value", 0, ("imm", "text"), ()),
        ("comm", "value", 0, ("comm",), ()),
        ("length", "value", 0, ("comm",), LEN),
        ("arg", "value", 0, ("arg", 2), (("len",),)),
        ("slot", "value", 0, ("stack", 1), (("len",),)),
    ]
    program = fetch.probe().new(fields, False)
    fetch.probe().name_thread("wörker")
    values, faults = at_place(program, x=1, y=2)
    assert not faults
    assert values == {
        "name": 1,
        "symbol": 5,
        "number": -5,
        "wide": 2**64 - 1,
        "text": "text",
        "comm": "wörker",
        "length": 6,
        "arg": 2,
        "slot": 2,
    }
    types_of = [row[1] for row in fetch.probe().table(program)[3]]
    names = list(fetch.TYPES)
    assert [names[number] for number in types_of[1:6]] == ["symbol", "value", "u64", "string", "string"]


def fetch_here(*names: str) -> Any:
    return fetch.probe().new([(name, "value", 0, ("name", name), ()) for name in names], False)


def test_all_variables_of_a_running_function_are_there() -> None:
    program = fetch_here("argument", "local", "cell", "free", "later", "elsewhere", "args", "kwargs", "only")
    free = "of the outer one"

    def run(argument: int, *args: int, only: int = 4, **kwargs: int) -> Any:
        local, cell = "local", "cell"  # noqa: F841

        def inner() -> str:
            return cell

        image, faults = fetch.probe().at_place(program)
        later = inner() + free
        return fetch.decode(program, image), faults, later

    values, faults, _ = run(1, 2, x=3)
    expected = {"argument": 1, "local": "local", "cell": "cell", "free": free, "only": 4}
    assert {name: values[name] for name in expected} == expected
    assert values["args"] == Sized("tuple", 1) and values["kwargs"] == Sized("dict", 1)
    assert values["later"] is values["elsewhere"] is FAULT
    assert faults == 2


def test_variables_of_generators_and_comprehensions_are_there() -> None:
    program = fetch_here("i", "argument")

    def generator(argument: str) -> Iterator[Any]:
        for i in range(2):  # noqa: B007
            yield fetch.decode(program, fetch.probe().at_place(program)[0])

    assert list(generator("a")) == [{"i": 0, "argument": "a"}, {"i": 1, "argument": "a"}]

    def comprehension(argument: str) -> Any:
        i = "shadowed"
        made = [(fetch.probe().at_place(program)[0], i, argument) for i in range(2)]
        return [fetch.decode(program, image)["i"] for image, _, _ in made], i

    assert comprehension("a") == ([0, 1], "shadowed")


def test_variables_of_a_module_and_of_a_class_are_there() -> None:
    program = fetch_here("variable", "missing")
    namespace = {"probe": fetch.probe(), "program": program}
    exec("variable = 5\nimage = probe.at_place(program)\ndel variable", namespace)
    image, faults = namespace["image"]
    assert fetch.decode(program, image)["variable"] == 5 and faults == 1

    class Body:
        variable = "of the class"
        image = fetch.probe().at_place(program)

    assert fetch.decode(program, Body.image[0])["variable"] == "of the class"


def test_one_program_serves_functions_whose_variables_have_other_slots() -> None:
    program = fetch_here("a")
    made: list[Callable[..., Any]] = []
    for names in itertools.permutations(["a", "b", "c"]):
        space: dict[str, Any] = {"probe": fetch.probe(), "program": program}
        exec(f"def run({', '.join(names)}):\n    return probe.at_entry(program)", space)
        made.append(space["run"])
    for _ in range(2):
        for run in made:
            image, faults = run(a=1, b=2, c=3)
            assert fetch.decode(program, image) == {"a": 1} and not faults


def test_arguments_at_an_entry_by_name_and_number() -> None:
    fields = [(f"by{n}", "value", 0, ("arg", n), ()) for n in range(1, 7)]
    fields += [(name, "value", 0, ("name", name), ()) for name in ("a", "only", "args", "kwargs", "local")]
    program = fetch.probe().new(fields, False)

    def run(a: int, b: str = "b", *args: int, only: float = 1.5, **kwargs: int) -> Any:
        local = 1
        result = fetch.probe().at_entry(program)

        def inner() -> Any:
            return a, b

        return result, local, inner

    (image, faults), *_ = run(1, "two", 3, only=2.5)
    values = fetch.decode(program, image)
    assert values == {
        "by1": 1,
        "by2": "two",
        "by3": 2.5,
        "by4": Sized("tuple", 1),
        "by5": Sized("dict", 0),
        "by6": FAULT,
        "a": 1,
        "only": 2.5,
        "args": Sized("tuple", 1),
        "kwargs": Sized("dict", 0),
        "local": FAULT,
    }
    assert faults == 2


# ---- returns


def test_a_return_has_its_value_and_what_was_kept_from_the_entry() -> None:
    fields = [
        ("number", "s16", 0, ("name", "a"), ()),
        ("text", "string", 0, ("name", "b"), ()),
        ("value", "value", 0, ("arg", 2), ()),
        ("result", "value", 0, ("retval",), ()),
        ("length", "s32", 0, ("retval",), LEN),
        ("items", "s8", 4, ("name", "c"), ()),
    ]
    program = fetch.probe().new(fields, True)

    def run(a: int, b: str, c: list[int]) -> Any:
        data = fetch.probe().entry_data(program)
        a, b, c = -1, "changed", []
        return fetch.probe().at_return(program, [1, 2, 3], data), len(data), (a, b, c)

    (image, faults), length, _ = run(300, "text", [1, 2])
    assert fetch.decode(program, image) == {
        "number": 300,
        "text": "text",
        "value": "text",
        "result": Sized("list", 3),
        "length": 3,
        "items": [1, 2, 0, 0],
    }
    assert not faults
    assert length == fetch.probe().table(program)[2] <= 120


def test_texts_that_are_kept_are_cut_to_the_room_that_there_is() -> None:
    kinds = ["string", "value", "string", "value"]
    fields = [(f"f{i}", kind, 0, ("name", "text"), ()) for i, kind in enumerate(kinds)]
    program = fetch.probe().new(fields, True)
    assert fetch.probe().table(program)[2] == 120

    def run(text: str) -> Any:
        return fetch.probe().at_return(program, None, fetch.probe().entry_data(program))

    for character in "xé€\U0001f600":
        image, faults = run(character * 500)
        values = fetch.decode(program, image)
        assert not faults
        for name in ("f0", "f2"):
            assert len(values[name]) > 5 and values[name].endswith("...") and values[name][0] == character
        for name in ("f1", "f3"):
            assert values[name][1] == 500 and set(values[name][0]) == {character}
    assert set(fetch.decode(program, run("short")[0]).values()) == {"short"}


def test_without_entry_data_what_it_would_have_is_a_fault() -> None:
    fields = [("kept", "s32", 0, ("name", "a"), ()), ("text", "string", 2, ("name", "a"), ())]
    program = fetch.probe().new([*fields, ("result", "s32", 0, ("retval",), ())], True)
    image, faults = fetch.probe().at_return(program, 5)
    assert fetch.decode(program, image) == {"kept": 0, "text": ["(fault)"] * 2, "result": 5}
    assert faults == 2


def test_an_exception_has_a_type_and_attributes() -> None:
    fields = [
        ("exc", "value", 0, ("exc",), ()),
        ("text", "string", 0, ("exc",), attr("args") + at(0)),
        ("kind", "string", 0, ("exc",), attr("__class__", "__name__")),
        ("result", "value", 0, ("retval",), ()),
    ]
    program = fetch.probe().new(fields, True)
    error = ValueError("wrong")
    image, faults = fetch.probe().at_raise(program, error)
    values = fetch.decode(program, image)
    assert values == {
        "exc": Object("ValueError", id(error)),
        "text": "wrong",
        "kind": "ValueError",
        "result": FAULT,
    }
    assert faults == 1
    image, faults = fetch.probe().at_return(program, None)
    assert fetch.decode(program, image) == {
        "exc": FAULT,
        "text": "(fault)",
        "kind": "(fault)",
        "result": None,
    }
    assert faults == 3


# ---- limits and errors


def test_every_text_of_a_full_image_has_room() -> None:
    fields = [(f"f{i}", kind, 0, ("name", "text"), ()) for i, kind in enumerate(["string", "value"] * 16)]
    program = fetch.probe().new(fields, False)
    text = "long " * 1000
    image, faults = fetch.probe().at_place(program)
    assert len(image) <= 960 and not faults
    for value in fetch.decode(program, image).values():
        shown = value[0] if isinstance(value, tuple) else value.removesuffix("...")
        assert len(shown) >= 14 and text.startswith(shown)


@pytest.mark.parametrize(("kind", "most"), [("value", 33), ("u64", 118), ("string", 33), ("u8", 128)])
def test_an_image_that_would_be_too_long_is_refused(kind: str, most: int) -> None:
    fields = [(f"f{i}", kind, 0, ("imm", 1), ()) for i in range(129)]
    fetch.probe().new(fields[:most], False)
    with pytest.raises(OSError, match=r"too (long|many)") as caught:
        fetch.probe().new(fields[: most + 1], False)
    assert caught.value.errno == 7


@pytest.mark.parametrize(("kind", "most"), [("value", 4), ("u64", 15), ("string", 4), ("u8", 120)])
def test_a_return_that_would_keep_too_much_is_refused(kind: str, most: int) -> None:
    fields = [(f"f{i}", kind, 0, ("arg", 1), ()) for i in range(129)]
    fetch.probe().new(fields[:most], True)
    with pytest.raises(OSError, match=r"from the entry.*120 is the limit") as caught:
        fetch.probe().new(fields[: most + 1], True)
    assert caught.value.errno == 7


GOOD = ("x", "value", 0, ("name", "a"), ())


@pytest.mark.parametrize(
    "field",
    [
        5,
        GOOD[:4],
        (*GOOD, 1),
        (5, *GOOD[1:]),
        ("x", "int", *GOOD[2:]),
        ("x", None, *GOOD[2:]),
        ("x", "u8", -1, *GOOD[3:]),
        ("x", "u8", 256, *GOOD[3:]),
        ("x", "u8", 2**80, *GOOD[3:]),
        ("x", "u8", "1", *GOOD[3:]),
        *(
            ("x", "u8", 0, source, ())
            for source in [
                *((), ("nowhere",), ("name",), ("name", 5), ("name", "a", "b"), ("retval", 1), "name", None),
                *(
                    ("arg", "1"),
                    ("arg", 0),
                    ("arg", -1),
                    ("stack", -1),
                    ("imm", 1.5),
                    ("imm", 2**65),
                    ("field", "x"),
                ),
            ]
        ),
        *(
            ("x", "u8", 0, ("name", "a"), steps)
            for steps in [
                *(
                    None,
                    [],
                    (5,),
                    (("attr",),),
                    (("attr", 5),),
                    (("index", "1"),),
                    (("len", 1),),
                    (("call",),),
                ),
                *((("key", None),), (("key", b"a"),), (("index", True),), (("len",),) * 17),
            ]
        ),
    ],
)
def test_a_field_that_is_none_is_refused(field: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        fetch.probe().new([GOOD, field], False)


def test_fields_must_be_a_sequence() -> None:
    with pytest.raises(TypeError):
        fetch.probe().new(5, False)
    assert fetch.probe().at_place(fetch.probe().new([], False)) == (b"\xa5" * 16, 0)


def test_references_are_released() -> None:
    name = "a name that only this test has"
    fields = [(name, "value", 0, ("imm", name), attr(name, "value") + key(name, 10**18))]
    for bad in (False, True):
        before = [sys.getrefcount(one) for one in (name, fields[0][4][3][1])]
        for _ in range(50):
            if bad:
                with pytest.raises(ValueError, match="invalid step"):
                    fetch.probe().new([*fields, (*fields[0][:4], (*fields[0][4], ("call",)))], False)
            else:
                fetch.probe().new(fields, False)
        after = [sys.getrefcount(one) for one in (name, fields[0][4][3][1])]
        assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([0, 0], abs=3)


def test_images_are_packed_little_endian() -> None:
    program = fetch.probe().new([("x", "s32", 0, ("imm", -2), ())], False)
    assert fetch.probe().at_place(program)[0][16:] == struct.pack("<i", -2)


def test_no_program_is_made_where_objects_are_laid_out_otherwise() -> None:
    code = """
import fetch
fetch.probe().doctor("objects")
for attempt in range(2):
    try:
        fetch.probe().new([], False)
    except RuntimeError as error:
        print(error)
"""
    folder = str(Path(fetch.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({folder!r})\n{code}"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    first, second = done.stdout.splitlines()
    assert first == second
    assert "(assumption 'objects', known from " in first
