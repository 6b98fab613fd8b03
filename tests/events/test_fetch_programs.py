"""Fetch programs as a whole: sources, the layout of images, what returns keep, limits, errors."""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import extension
import fetch
import pytest
from event_image import FAULT, FIELDS_AT, TYPES, Object, Sized
from fetch import LEN, at, attr, key

pytestmark = [
    pytest.mark.skipif("gcc" not in extension.available(), reason="no C compiler is here"),
    pytest.mark.skipif(
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="most values are faults without the GIL"
    ),
]

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
        first = FIELDS_AT[is_return]
        table = fetch.probe().table(fetch.probe().new(fields, is_return))
        assert table[:3] == (first, first + 1 + 24 + 4 + 1, 0)
        assert [row[4] for row in table[3]] == [8 * (first + 29), 8 * (first + 29) + 1, 0]  # faults
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
    names = list(TYPES)
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
    assert fetch.decode(program, image) == {"kept": FAULT, "text": ["(fault)"] * 2, "result": 5}
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


@pytest.mark.parametrize(("kind", "most"), [("value", 33), ("u64", 116), ("string", 33), ("u8", 128)])
def test_an_image_that_would_be_too_long_is_refused(kind: str, most: int) -> None:
    fields = [(f"f{i}", kind, 0, ("imm", 1), ()) for i in range(129)]
    fetch.probe().new(fields[:most], False)
    with pytest.raises(OSError, match=r"too (long|many)") as caught:
        fetch.probe().new(fields[: most + 1], False)
    assert caught.value.errno == 7


@pytest.mark.parametrize(("kind", "most"), [("value", 4), ("u64", 14), ("string", 4), ("u8", 106)])
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
                    (("bits",),),
                    (("bits", 0),),
                    (("bits", -1),),
                    (("bits", 60 | 5 << 8),),
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
    sys.intern(name)  # on 3.12 it is immortal from now on
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
    assert fetch.probe().at_place(program)[0][16:] == struct.pack("<iB", -2, 0)


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
