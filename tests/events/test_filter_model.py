"""A filter accepts what the slow model accepts, and no text but a filter is taken for one.

The engine's C code is compiled by itself (filter_probe.c).
"""

from __future__ import annotations

import errno
import random
import struct
from typing import Any

import pytest
from event_image import FAULT, Field, Image, Object, Sized, Word
from filter_engine import Engine
from filter_model import evaluate, random_fields, random_filter, random_value, text_of
from hypothesis import given, note, settings
from hypothesis import strategies as st
from sizes import FILTER_EXAMPLES, MUTATED_FILTERS

from funcgraph.events.filter import Fields, FilterError, parse
from funcgraph.events.filter_program import (
    ACCEPT,
    OPERANDS,
    OPERATIONS,
    REJECT,
    SOURCES,
    Program,
    Term,
)

pytestmark = pytest.mark.one_python


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("filter"))


def test_the_tables_of_a_program_are_the_engines(engine: Engine) -> None:
    """Broken by: a row that only one side has, or another order."""
    assert engine.names("operations") == OPERATIONS
    assert engine.names("operands") == OPERANDS
    assert engine.names("sources") == SOURCES


@pytest.mark.timeout(300 + FILTER_EXAMPLES // 20)
@settings(max_examples=FILTER_EXAMPLES, deadline=None)
@given(rng=st.randoms(use_true_random=False))
def test_a_filter_accepts_what_the_model_accepts(engine: Engine, rng: random.Random) -> None:
    """Broken by: nearly anything; a precedence, a sign, a bound, a character of two bytes."""
    fields = random_fields(rng)
    tree = random_filter(fields, rng)
    text = text_of(tree, rng)
    note(text)
    program = parse(text, Fields(fields)).program
    for _ in range(3):
        values = {field.name: random_value(field, rng) for field in fields}
        image = Image(fields, values)
        n = rng.choice([len(image.bytes), rng.randint(0, len(image.bytes))])
        readable = {name: value for name, value in values.items() if image.ends[name] <= n}
        note(f"{n} of {len(image.bytes)} bytes: {readable}")
        expected = evaluate(tree, {field.name: field for field in fields}, readable)
        assert engine.matches(program, image, n) == expected


# ---- what the model does not know, or what must not depend on luck


def passes(engine: Engine, text: str, value: Any, type: str = "value") -> bool:
    field = Field("v", type)
    return engine.matches(parse(text, Fields([field])).program, Image([field], {"v": value}))


@pytest.mark.parametrize(
    ("value", "accepted", "rejected"),
    [
        (
            3,
            ["v == 3", "v == 3.0", "v > 2.5", "v & 2", "v", "v & CPUS{0-1}||v==3"],
            ["v == '3'", "v == None"],
        ),
        (-1, ["v == -1", "v < 0", "v < 18446744073709551615"], ["v == 18446744073709551615", "v > 0"]),
        (True, ["v", "v == 1", "v == true", "v == True"], ["v == false", "v == 'True'", "!v"]),
        (None, ["v == None", "!v", "v != 3", "v != 'a'"], ["v", "v != None", "v < 3", "v ~ '*'"]),
        (
            FAULT,
            ["v != 3", "v != None", "v != 'a'", "!v", "!(v == 3)"],
            ["v", "v == None", "v ~ '*'", "v ~ '!a'", "v < 1"],
        ),
        (2.5, ["v > 2", "v == 2.5", "v < 3", "v"], ["v & 2", "v == 2"]),
        (float("nan"), ["v != 1.0", "v"], ["v == 1.0", "v < 1", "v >= 1"]),
        (1 << 70, ["v > 9223372036854775807", "v > 1e20", "v != 5", "v"], ["v < 5", "v == 5", "v & 1"]),
        (-(1 << 70), ["v < -9223372036854775807", "v < 0", "v"], ["v > 0", "v > 1e300"]),
        ("abc", ["v == 'abc'", "v ~ 'a*'", "v ~ '!b*'", "v"], ["v == 'ab'", "v < 3", "v ~ '!a*'"]),
        ("", ["v == ''", "!v", "v ~ '*'"], ["v", "v ~ '?'"]),
        ("x" * 60, [f"v == '{'x' * 60}'", "v ~ 'x*'"], [f"v == '{'x' * 48}'", f"v == '{'x' * 59}'"]),
        (b"ab\xff", ["v ~ 'ab?'"], ["v == 'ab'", "v ~ 'ab'"]),
        (Object("Cart", 5), ["v == 'Cart'", "v ~ 'C*'", "v"], ["v == 5", "v & 5", "v == ''"]),
        (Sized("list", 0), ["v == 'list'", "!v"], ["v == 0", "v"]),
        (Word(1 << 63), ["v == 0x8000000000000000", "v > 0"], ["v < 0"]),
    ],
    ids=repr,
)
def test_a_value_compares_as_what_it_holds(
    engine: Engine, value: Any, accepted: list[str], rejected: list[str]
) -> None:
    for text in accepted:
        assert passes(engine, text, value), text
    for text in rejected:
        assert not passes(engine, text, value), text


def test_an_object_is_its_address_or_length(engine: Engine) -> None:
    assert passes(engine, "v == 0x10 && v ~ 'Ca?t'", Object("Cart", 16), "object")
    assert passes(engine, "v > 2", Sized("list", 3), "object")
    assert passes(engine, "v == None", None, "object")


def test_a_number_beyond_the_fields_type_is_never_cut(engine: Engine) -> None:
    """The kernel cuts it to the field's size: its `u8 == 257` finds 1."""
    assert not passes(engine, "v == 257", 1, "u8")
    assert passes(engine, "v < 257", 255, "u8")
    assert not passes(engine, "v == 4294967295", -1, "s32")


def test_the_edges_of_ranges_wrap_nowhere(engine: Engine) -> None:
    for text in ("v < 0", "v > 18446744073709551615"):
        assert not any(passes(engine, text, value, "u64") for value in (0, 1, (1 << 64) - 1))
        assert all(passes(engine, f"!({text})", value, "u64") for value in (0, 1, (1 << 64) - 1))
    for text in ("v < -9223372036854775808", "v > 9223372036854775807"):
        assert not any(passes(engine, text, value, "s64") for value in (0, -(1 << 63), (1 << 63) - 1))


def test_processors(engine: Engine) -> None:
    """As the kernel: several processors are equal to no number."""

    def numbers(text: str) -> list[int]:
        program = parse(text, Fields([Field("v", "s32")], processors=16)).program
        image = [Image([Field("v", "s32")], {"v": number}) for number in range(-1, 16)]
        return [number for number, each in enumerate(image, -1) if engine.matches(program, each)]

    assert numbers("v & CPUS{1-3,8}") == [1, 2, 3, 8]
    assert numbers("v & CPUS{0-15:2/8}") == [0, 1, 8, 9]
    assert numbers("v & CPUS{all:1/8}") == [0, 8]
    assert numbers("v & CPUS{14-N}") == [14, 15]
    assert numbers("v == CPUS{5}") == numbers("v & CPUS{5}") == [5]
    assert numbers("v == CPUS{1-3}") == []
    assert len(numbers("v != CPUS{1-3}")) == 17


def test_every_event_has_its_thread_and_processor(engine: Engine) -> None:
    image = Image([Field("v", "u8")], {"v": 1}, pid=77, place=5)
    fields = Fields([Field("v", "u8")], places=("__probe_ip",), functions=lambda name: [5, 9][: len(name)])

    def matches(text: str) -> bool:
        return engine.matches(parse(text, fields).program, image)

    engine.name_task("Worker-1")
    assert matches('COMM == "Worker-1" && comm ~ "*-1"')
    engine.name_task(None)
    assert not matches('COMM == "Worker-1"') and matches('COMM ~ "?*"')
    assert matches("CPU >= 0 && CPU & CPUS{all}") and not matches("cpu < 0")
    assert matches("common_pid == 77 && common_type == 7 && common_preempt_count == 2")
    assert matches("__probe_ip.function == ab") and not matches("__probe_ip.function != ab")


# ---- programs that no filter has


def test_bytes_that_are_no_program_are_refused(engine: Engine) -> None:
    layout = Image([Field("v", "u8"), Field("t", "string")], {"v": 1, "t": "a"}).layout
    good = Program((Term(0, "==", 1, ACCEPT, 1), Term(1, "~", "a*"))).pack()
    engine.make(good, layout)
    refused = [
        b"",
        good[:-1],
        good + b"\0",
        Program(()).pack(),
        Program((Term(2, "==", 1),)).pack(),
        Program((Term(-9, "==", 1),)).pack(),
        Program((Term(0, "==", 1, 0, REJECT),)).pack(),  # a loop
        Program((Term(0, "==", 1, 1, REJECT),)).pack(),  # beyond the end
        Program((Term(0, "==", 1, 1), Term(0, "==", 1, ACCEPT, 0))).pack(),  # back
        Program((Term(0, "==", "a"),)).pack(),
        Program((Term(0, "==", -1),)).pack(),
        Program((Term(0, "==", 1.0),)).pack(),
        Program((Term(0, "none"),)).pack(),
        Program((Term(1, "==", 1),)).pack(),
        Program((Term(1, "<", "a"),)).pack(),
    ]
    for program in refused:
        with pytest.raises(OSError) as caught:
            engine.make(program, layout)
        assert caught.value.errno == errno.EINVAL


@pytest.mark.timeout(300 + FILTER_EXAMPLES // 20)
@settings(max_examples=FILTER_EXAMPLES, deadline=None)
@given(rng=st.randoms(use_true_random=True))
def test_damaged_programs_are_refused_or_harmless(engine: Engine, rng: random.Random) -> None:
    """Each byte may be anything. Then the filter reads nothing beyond the image and ends."""
    fields = random_fields(rng)
    program = bytearray(parse(text_of(random_filter(fields, rng), rng), Fields(fields)).program.pack())
    image = Image(fields, {field.name: random_value(field, rng) for field in fields})
    for _ in range(rng.randint(1, 4)):
        program[rng.randrange(len(program))] = rng.choice(
            [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, rng.randrange(256)]
        )
    damaged = bytearray(image.bytes)
    for _ in range(rng.randint(0, 4)):
        damaged[rng.randrange(16, len(damaged))] = rng.randrange(256)
    try:
        made = engine.make(bytes(program), image.layout)
    except OSError as error:
        assert error.errno == errno.EINVAL
        return
    made.matches(bytes(damaged))
    made.matches(bytes(damaged[: rng.randint(0, len(damaged))]))


# ---- texts that are no filter

_PIECES = [
    "&&",
    "||",
    "!",
    "(",
    ")",
    "{",
    "}",
    "CPUS{",
    '"',
    "'",
    "~",
    "==",
    "!=",
    "<=",
    "&",
    "0x",
    "-",
    ".",
    "1e9",
]
_PIECES += [
    ".function",
    ".ustring",
    "COMM",
    "CPU",
    "f0",
    "f1",
    "None",
    "true",
    " ",
    "\n",
    "\0",
    "é",
    "\udcff",
    "\\",
    "9" * 30,
]


@pytest.mark.timeout(300 + MUTATED_FILTERS // 100)
def test_mutated_texts_are_refused_as_filters_are(engine: Engine) -> None:
    """Never anything but a FilterError with a caret in the text or just after it. What is accepted works."""
    rng = random.Random(14)
    accepted = 0
    for _ in range(MUTATED_FILTERS):
        fields = random_fields(rng)
        text = text_of(random_filter(fields, rng, depth=2), rng)
        for _ in range(rng.randint(1, 3)):
            at, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
            text = rng.choice(
                [text[:at] + text[end:], text[:at] + rng.choice(_PIECES) + text[at:], text + text[at:end]]
            )
        try:
            program = parse(text, Fields(fields, functions=lambda name: [1] if "f" in name else [])).program
        except FilterError as error:
            assert 0 <= error.caret <= len(error.command) + 1 and error.message and str(error)
            continue
        accepted += 1
        assert struct.unpack_from("<H", program.pack())[0] == len(program.terms)
        values = {field.name: random_value(field, rng) for field in fields}
        engine.matches(program, Image(fields, values))
    assert 0.05 < accepted / MUTATED_FILTERS < 0.95
