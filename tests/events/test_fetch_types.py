"""The types of fields: what becomes of a value that a fetch program has read."""

from __future__ import annotations

import collections
import sysconfig
import types

import extension
import fetch
import pytest
from event_image import FAULT, Object, Sized
from fetch import LEN, at, attr
from fetch_objects import (
    Bool,
    Level,
    OwnBoolInt,
    OwnFloat,
    OwnInt,
    OwnList,
    OwnStr,
    Plain,
    PlainInt,
    PlainList,
    Word,
    function,
)

pytestmark = [
    pytest.mark.skipif("gcc" not in extension.available(), reason="no C compiler is here"),
    pytest.mark.skipif(
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="most values are faults without the GIL"
    ),
]

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


@pytest.mark.parametrize(("first", "n"), [(0, 1), (4, 4), (7, 9), (31, 33), (0, 64), (63, 1)])
def test_a_bitfield_is_bits_of_an_int_in_twos_complement(first: int, n: int) -> None:
    for number in (*NUMBERS, 2**200 + 0xA5, -(2**200) - 0xA5, True, PlainInt(0x5A5)):
        assert fetch.fetch(number, (("bits", first | n << 8),), "u64") == (number >> first) & (2**n - 1)
    for subject in (1.0, "1", None, [1], OwnInt(1)):
        assert fetch.fetch(subject, (("bits", first | n << 8),), "u64") is FAULT


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


@pytest.mark.imports_much
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
