"""Parts of values (value_depth): each kind is shown as its construction says."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import re
import sys
import uuid
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from conftest import Funcgraph

import funcgraph

WITH_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


def shown(value: object) -> object:
    return value


def failing(error: BaseException) -> None:
    raise error


def chained(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.fixture(name="instance")
def fixture_instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance(
        "values",
        tracer="function_graph",
        filter=[f"{__name__}.shown", f"{__name__}.failing"],
        value_depth=1,
    ) as instance:
        yield instance


def text_of(instance: funcgraph.Instance, value: object) -> str:
    """Return what the trace has of an argument, which is also what it has of the result."""
    instance.files["trace"] = ""
    shown(value)
    found = re.search(r"shown\(value=(.*)\); /\* ret=(.*) \*/$", instance.trace(), re.MULTILINE)
    assert found, instance.trace()
    assert found[1] == found[2]
    return found[1]


class Color(enum.Enum):
    RED = 1
    DARK_RED = "dark"


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: object


@dataclasses.dataclass
class Order:
    user: str
    amount: float
    lines: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int
    b: str


class Derived(Slotted):
    def __init__(self) -> None:
        super().__init__(1, "b")
        self.extra = None


class Text(str):
    pass


class Number(int):
    pass


class Table(dict[Any, Any]):
    pass


class Items(list[Any]):
    pass


class FailedError(Exception):
    pass


class Stamp(datetime.datetime):
    pass


UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
WEST = datetime.timezone(-datetime.timedelta(hours=3, seconds=1))

#: What is the same with and without the GIL.
IMMUTABLE: list[tuple[object, str]] = [
    (None, "None"),
    (-5, "-5"),
    (2**70, "int(71 bits)"),
    (0.5, "0.5"),
    ("a'b", '"a\'b"'),
    ("x" * 300, f"'{'x' * 256}'...(300)"),
    ("ä" * 300, f"'{'ä' * 128}'...(300)"),
    (b"y" * 300, f"b'{'y' * 256}'...(300)"),
    ((), "()"),
    ((1,), "(1,)"),
    ((1, "a", None), "(1, 'a', None)"),
    (datetime.date(2026, 2, 3), "date('2026-02-03')"),
    (datetime.time(1, 2), "time('01:02:00')"),
    (datetime.time(1, 2, 3, 4, UTC), "time('01:02:03.000004+00:00')"),
    (datetime.datetime(1, 1, 1), "datetime('0001-01-01 00:00:00')"),  # noqa: DTZ001
    (datetime.datetime(2026, 12, 1, 2, 3, 4, 99), "datetime('2026-12-01 02:03:04.000099')"),  # noqa: DTZ001
    (datetime.datetime(2026, 1, 2, 3, tzinfo=EAST), "datetime('2026-01-02 03:00:00+05:30')"),
    (datetime.datetime(2026, 1, 2, 3, tzinfo=WEST), "datetime('2026-01-02 03:00:00-03:00:01')"),
    (Stamp(2026, 1, 2), "Stamp('2026-01-02 00:00:00')"),
]
IMMUTABLE += [
    (delta, f"timedelta('{delta}')")
    for delta in (
        datetime.timedelta(0),
        datetime.timedelta(1, 2, 3),
        datetime.timedelta(-1),
        datetime.timedelta(-2, 86399, 999999),
        datetime.timedelta.max,
        datetime.timedelta.min,
    )
]
IMMUTABLE += [
    (number, f"Decimal('{number}')")
    for number in map(
        decimal.Decimal,
        [
            "0",
            "-0",
            "1",
            "1.50",
            "-0.001",
            "1E+5",
            "1E-6",
            "1.5E-7",
            "123456789012345678901234567890",
            "-1.2E+400",
            "0E-20",
            "1E-5",
            "Infinity",
            "-Infinity",
            "NaN",
            "sNaN",
            "NaN42",
            "-NaN",
        ],
    )
]

#: What another thread may change meanwhile.
MUTABLE: list[tuple[object, str]] = [
    (Color.RED, "Color.RED"),
    (Color.DARK_RED, "Color.DARK_RED"),
    (Permission.READ | Permission.WRITE, "Permission.READ|WRITE"),
    (Level.LOW, "Level.LOW"),
    (Point(1, "a"), "Point(x=1, y='a')"),
    (Order("ann", 0.5, [1, 2]), "Order(user='ann', amount=0.5, lines=list(2))"),
    (Slotted(1, "b"), "Slotted(a=1, b='b')"),
    (Derived(), "Derived(a=1, b='b', extra=None)"),
    (Text("t"), "Text('t')"),
    (Number(7), "Number(7)"),
    (Number(2**70), "Number(int(71 bits))"),
    ([], "[]"),
    ([1, [2, 3], {}], "[1, list(2), dict(0)]"),
    (list(range(20)), f"[{', '.join(map(str, range(16)))}, ...](20)"),
    (Items([1]), "Items([1])"),
    ({}, "{}"),
    ({"a": 1, 2: None}, "{'a': 1, 2: None}"),
    ({(1, 2): 3}, "{tuple(2): 3}"),
    (Table(a=1), "Table({'a': 1})"),
    (collections.defaultdict(int, {1: 2}), "defaultdict({1: 2})"),
    (collections.OrderedDict(a=1), "OrderedDict({'a': 1})"),
    (set(), "set()"),
    ({5}, "{5}"),
    (frozenset(), "frozenset()"),
    (frozenset({"a"}), "frozenset({'a'})"),
    (collections.deque(), "deque([])"),
    (collections.deque([1, "a"], 2), "deque([1, 'a'])"),
    (collections.deque(range(100)), f"deque([{', '.join(map(str, range(16)))}, ...])(100)"),
    (ValueError("no", 3), "ValueError('no', 3)"),
    (FailedError(), "FailedError()"),
    (FileNotFoundError(2, "No such file", "x"), "FileNotFoundError(2, 'No such file')"),
    (uuid.UUID(int=0x123456789ABCDEF), "UUID('00000000-0000-0000-0123-456789abcdef')"),
    (uuid.UUID(int=2**128 - 1), "UUID('ffffffff-ffff-ffff-ffff-ffffffffffff')"),
    (pathlib.PurePosixPath("/srv", "a/b"), "PurePosixPath('/srv/a/b')"),
    (pathlib.PurePosixPath("a", "/b", "c"), "PurePosixPath('/b/c')"),
    (pathlib.PurePosixPath(), "PurePosixPath('.')"),
    (Point, "<class Point>"),
    (int, "<class int>"),
    (shown, "<function shown>"),
    (len, "<built-in len>"),
    (Derived().__init__, "<method Derived.__init__>"),
    (re, "<module re>"),
]


@pytest.mark.parametrize(("value", "text"), IMMUTABLE, ids=repr)
def test_what_never_changes(instance: funcgraph.Instance, value: object, text: str) -> None:
    assert text_of(instance, value) == text


@pytest.mark.skipif(not WITH_GIL, reason="another thread may change it meanwhile: shown by type and address")
@pytest.mark.parametrize(("value", "text"), MUTABLE, ids=lambda value: type(value).__name__)
def test_what_may_change(instance: funcgraph.Instance, value: object, text: str) -> None:
    assert text_of(instance, value) == text


def test_a_zone_that_only_code_could_convert_is_named(instance: funcgraph.Instance) -> None:
    class Own(datetime.tzinfo):
        def utcoffset(self, when: object) -> datetime.timedelta:
            raise SystemExit

    assert text_of(instance, datetime.datetime(2026, 1, 2, tzinfo=Own())).endswith("00:00:00 Own')")
    try:
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip("no time zones here")
    assert text_of(instance, datetime.time(1, tzinfo=berlin)) == "time('01:00:00 Europe/Berlin')"


def test_what_an_exception_was_made_of(instance: funcgraph.Instance) -> None:
    with pytest.raises(FailedError):
        failing(FailedError("no stock", 3))
    expected = "raised FailedError('no stock', 3)" if WITH_GIL else "raised FailedError"
    assert expected in instance.trace()


NUMBERS = f"{[*range(16)]}, ...".replace("]", "")  # of 40, as many as are recorded


def lookup() -> object:
    return {}[1, "a"]  # type: ignore[index]


def convert() -> object:
    return int("no number")


def decode() -> object:
    return b"\xff".decode()


def advance() -> object:
    return next(iter(()))


def explain() -> object:
    try:
        return lookup()
    except KeyError as error:
        raise FailedError("no stock", "x" * 300, list(range(40))) from error


@pytest.mark.skipif(not WITH_GIL, reason="without the GIL exceptions have their type alone")
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lookup, "KeyError((1, 'a'))"),
        (convert, """ValueError("invalid literal for int() with base 10: 'no number'")"""),
        (decode, r"UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'invalid start byte')"),
        (advance, "StopIteration()"),
        (
            explain,
            f"FailedError('no stock', '{'x' * 256}'...(300), {NUMBERS}](40), __cause__=KeyError((1, 'a')))",
        ),
    ],
)
def test_what_an_exception_of_c_code_and_its_cause_were_made_of(
    instance: funcgraph.Instance, function: Callable[[], object], expected: str
) -> None:
    """Broken by a class and arguments, which CPython 3.11 makes no object of yet; by long arguments that take
    the room of the cause.
    """
    instance.value_depth = 2
    instance.files["set_ftrace_filter"] = f"{__name__}.{function.__name__}"
    instance.files["trace"] = ""
    with pytest.raises((LookupError, ValueError, StopIteration, FailedError)):
        function()
    assert f"raised {expected} */" in instance.trace()


@pytest.mark.skipif(not WITH_GIL, reason="without the GIL exceptions have their type alone")
def test_a_redacted_cause_is_not_recorded(instance: funcgraph.Instance) -> None:
    instance.value_redact = "__cause__"
    with pytest.raises(FailedError) as raised:
        failing(chained(FailedError("a"), KeyError("secret")))
    assert isinstance(raised.value.__cause__, KeyError)
    assert "raised FailedError('a', __cause__=<redacted>)" in instance.trace()


def test_a_path_keeps_what_was_asked_for(instance: funcgraph.Instance) -> None:
    path = pathlib.PurePosixPath("a//b/./c")
    assert str(path) == "a/b/c"
    if WITH_GIL:
        assert text_of(instance, path) == "PurePosixPath('a/b/c')"


@pytest.mark.parametrize("depth", range(4))
def test_the_depth_is_that_of_the_parts(instance: funcgraph.Instance, depth: int) -> None:
    instance.value_depth = depth
    levels = ["tuple(2)", "(1, tuple(2))", "(1, (2, tuple(1)))", "(1, (2, (3,)))"]
    assert text_of(instance, (1, (2, (3,)))) == levels[depth]


TEXTS = """
def f(text):
    return text
f("x" * 1000)
f("ä" * 500)
f(b"y" * 1000)
f("b" * 16)
"""


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (("--string-size", "16"), 16),
        (("--string-size", "960"), 960),
        (("--string-size", "16", "--values", "1"), 16),
        (("--string-size", "960", "--values", "1"), 960),
        (("--string-size", "0"), 48),
        (("--string-size", "0", "--values", "1"), 256),
    ],
)
def test_a_recording_keeps_as_much_of_texts_as_was_asked_for(
    fg: Funcgraph, flags: tuple[str, ...], kept: int
) -> None:
    """What is longer is cut, in arguments and results, and shows its whole length."""
    made = fg.record("-q", "--args", "--retval", "-l", "__main__.f", *flags, fg.script(TEXTS))
    assert made.returncode == 0, made.stderr
    texts = [f"'{'x' * kept}'...(1000)", f"'{'ä' * (kept // 2)}'...(500)", f"b'{'y' * kept}'...(1000)"]
    texts.append(f"'{'b' * 16}'")
    shown = re.findall(r"f\(text=(.*)\); /\* ret=(.*) \*/$", fg.run("report").stdout, re.MULTILINE)
    assert shown == list(zip(texts, texts, strict=True))


@pytest.mark.one_python
def test_a_size_of_texts_beyond_the_most_is_refused(fg: Funcgraph) -> None:
    made = fg.record("--args", "--string-size", "961", fg.script(TEXTS))
    assert made.returncode == 2
    assert made.stderr == "funcgraph: --string-size 961: must be a whole number from 0 to 960\n"
    assert not fg.trace.exists()


def test_numpy(instance: funcgraph.Instance) -> None:
    numpy = pytest.importorskip("numpy")
    if not WITH_GIL:
        pytest.skip("arrays may change shape meanwhile")
    assert text_of(instance, numpy.zeros((3, 4))) == "ndarray(shape=(3, 4), dtype=float64)"
    assert text_of(instance, numpy.zeros((), numpy.int8)) == "ndarray(shape=(), dtype=int8)"
    assert text_of(instance, numpy.float64(0.5)) == "float64(0.5)"
    assert text_of(instance, numpy.int32(-7)) == "int32(-7)"
    assert text_of(instance, numpy.uint64(2**63)) == "uint64('9223372036854775808')"
