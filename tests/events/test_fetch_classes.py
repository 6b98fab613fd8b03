"""Fetch programs and classes of any shape: what object.__getattribute__ would find without running Python
code is fetched, everything else is a fault. The programs stay the same for all classes, as do their hints.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
from typing import Any

import extension
import fetch
import pytest
from event_image import FAULT, Object
from fetch import attr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import NIGHTLY

pytestmark = [
    pytest.mark.skipif("gcc" not in extension.available(), reason="no C compiler is here"),
    pytest.mark.skipif(
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="attributes are faults without the GIL"
    ),
]

NAMES = ("a", "b", "c")
EXAMPLES = 20_000 if NIGHTLY else 400


class NonData:
    def __get__(self, instance: object, owner: object = None) -> Any:
        raise AssertionError


class ReadWrite(NonData):
    def __set__(self, instance: object, value: object) -> None:
        raise AssertionError


class OnlySet:
    def __set__(self, instance: object, value: object) -> None:
        raise AssertionError


class OnlyDelete:
    def __delete__(self, instance: object) -> None:
        raise AssertionError


def method(self: object) -> Any:
    raise AssertionError


def own_getattr(self: object, name: str) -> Any:
    raise AssertionError


def own_getattribute(self: object, name: str) -> Any:
    raise AssertionError


class Stolen:
    __slots__ = ("a", "b", "c")


#: What a class may have under a name.
MAKERS: dict[str, Any] = {
    "number": lambda name: 5,
    "text": lambda name: "text",
    "class": lambda name: Stolen,
    "function": lambda name: method,
    "property": lambda name: property(method),
    "cached": lambda name: functools.cached_property(method),
    "static": lambda name: staticmethod(method),
    "classmethod": lambda name: classmethod(method),
    "non-data": lambda name: NonData(),
    "read-write": lambda name: ReadWrite(),
    "only-set": lambda name: OnlySet(),
    "only-delete": lambda name: OnlyDelete(),
    "stolen": lambda name: Stolen.__dict__[name],
    "none": lambda name: None,
}
#: What an instance may have.
OWN = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=9))
LEVELS = st.fixed_dictionaries(
    {
        "slots": st.one_of(st.none(), st.sets(st.sampled_from(NAMES))),
        "has": st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(MAKERS)), max_size=2),
        "getattr": st.integers(0, 5).map(lambda n: n == 0),
        "getattribute": st.integers(0, 15).map(lambda n: n == 0),
        "base": st.integers(0, 3),
        "second": st.one_of(st.none(), st.none(), st.integers(0, 3)),
    }
)
BUILT_IN = (object, object, object, int, dict, list, tuple, str, Exception, types.ModuleType)


def make_class(level: dict[str, Any], bases: tuple[type, ...], number: int) -> type | None:
    """Return a class, or None where Python has no such class."""
    space: dict[str, Any] = {name: MAKERS[kind](name) for name, kind in level["has"].items()}
    if level["slots"] is not None:
        space["__slots__"] = tuple(sorted(level["slots"] - set(space)))
    if level["getattr"]:
        space["__getattr__"] = own_getattr
    if level["getattribute"]:
        space["__getattribute__"] = own_getattribute
    try:
        return type(f"Class{number}", bases, space)
    except TypeError:
        return None


def make_classes(levels: list[dict[str, Any]], built_in: type) -> list[type]:
    made: list[type] = [built_in]
    for number, level in enumerate(levels):
        bases = [made[-1 - level["base"] % len(made)]]
        if level["second"] is not None:
            bases.append(made[-1 - level["second"] % len(made)])
        cls = make_class(level, tuple(dict.fromkeys(bases)), number)
        if cls:
            made.append(cls)
    return made[1:]


def own_dict(instance: object) -> dict[str, Any]:
    try:
        return object.__getattribute__(instance, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


def found_in(cls: type, name: str) -> Any:
    for base in type.__dict__["__mro__"].__get__(cls):
        if name in type.__dict__["__dict__"].__get__(base):
            return type.__dict__["__dict__"].__get__(base)[name]
    return FAULT


def expected(instance: object, name: str) -> Any:
    """Follow object.__getattribute__, as far as it runs no Python code."""
    cls = type(instance)
    of_class = found_in(cls, name)
    if found_in(cls, "__getattribute__") is own_getattribute:
        return FAULT
    if isinstance(of_class, types.MemberDescriptorType):
        try:
            return of_class.__get__(instance)
        except (AttributeError, TypeError):
            return FAULT
    if hasattr(type(of_class), "__set__") or hasattr(type(of_class), "__delete__"):
        return FAULT
    own = own_dict(instance)
    if name in own:
        return own[name]
    return FAULT if hasattr(type(of_class), "__get__") and of_class is not method else of_class


@functools.cache
def program(name: str) -> Any:
    return fetch.probe().new([("x", "object", 0, ("name", "instance"), attr(name))], False)


def fetched(instance: object, name: str) -> Any:
    """Return the address of what is fetched, or FAULT."""
    to_run, at_place, watch, before = program(name), fetch.probe().at_place, fetch.Watch(), sys.getprofile()
    sys.setprofile(watch)
    try:
        image, faults = at_place(to_run)
    finally:
        sys.setprofile(before)
    assert not watch.seen
    value = fetch.decode(to_run, image)["x"]
    assert (value is FAULT) == bool(faults)
    return value


def change(instance: Any, action: tuple[str, str, object]) -> None:
    """Do something to an instance's attributes that runs no code of its class."""
    kind, name, value = action
    try:
        if kind == "set":
            object.__setattr__(instance, name, value)
        elif kind == "delete":
            object.__delattr__(instance, name)
        elif kind == "fill":
            own_dict(instance).update({f"{name}{i}": i for i in range(40)})
        elif kind == "dict":
            own_dict(instance)
        else:
            object.__setattr__(instance, "__dict__", {name: value})
    except (AttributeError, TypeError, AssertionError):
        pass


ACTIONS = st.tuples(
    st.sampled_from(["set", "set", "set", "set", "delete", "fill", "dict", "replace"]),
    st.sampled_from(NAMES),
    OWN,
)


def make_instance(cls: type) -> Any:
    base: Any = next(base for base in cls.__mro__ if base in BUILT_IN)
    return base.__new__(cls, "module") if base is types.ModuleType else base.__new__(cls)


def check(instance: object) -> None:
    for name in NAMES:
        value, is_there = fetched(instance, name), expected(instance, name)
        if is_there is FAULT:
            assert value is FAULT
        else:
            assert value == Object(type(is_there).__name__, id(is_there))


def test_attributes_of_any_class_are_what_its_dictionaries_and_slots_have() -> None:
    faults = values = 0

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(LEVELS, min_size=1, max_size=4),
        st.sampled_from(BUILT_IN),
        st.lists(st.lists(ACTIONS, max_size=5), max_size=3),
    )
    def run(levels: list[dict[str, Any]], built_in: type, changes: list[list[Any]]) -> None:
        nonlocal faults, values
        for cls in make_classes(levels, built_in):
            instance = make_instance(cls)
            check(instance)
            for actions in changes:
                for action in actions:
                    change(instance, action)
                check(instance)
            for name in NAMES:
                is_fault = expected(instance, name) is FAULT
                faults, values = faults + is_fault, values + (not is_fault)

    run()
    assert faults > EXAMPLES / 4
    assert values > EXAMPLES / 4


def test_changes_of_classes_are_seen() -> None:
    """The same with one hierarchy, whose classes get and lose attributes."""

    @settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(LEVELS, min_size=2, max_size=4),
        st.lists(
            st.tuples(
                st.integers(0, 3),
                st.sampled_from(NAMES),
                st.one_of(st.none(), st.sampled_from(sorted(MAKERS))),
            ),
            max_size=8,
        ),
        st.lists(ACTIONS, max_size=3),
    )
    def run(
        levels: list[dict[str, Any]], steps: list[tuple[int, str, str | None]], actions: list[Any]
    ) -> None:
        classes = make_classes(levels, object)
        instance = make_instance(classes[-1])
        for action in actions:
            change(instance, action)
        for number, name, kind in steps:
            cls = classes[number % len(classes)]
            if kind:
                setattr(cls, name, MAKERS[kind](name))
            elif name in cls.__dict__:
                delattr(cls, name)
            hasattr(cls, "missing")  # CPython gives the class a version
            check(instance)

    run()


def test_cells_of_closures_are_fetched_by_their_names() -> None:
    program = fetch.probe().new(
        [(name, "value", 0, ("name", name), ()) for name in ("instance", "outer", "inner")], False
    )

    def make(outer: int) -> Any:
        def middle(instance: int) -> Any:
            inner = instance + outer

            def innermost() -> Any:
                image, faults = fetch.probe().at_place(program)
                return fetch.decode(program, image), faults, inner, outer

            image, faults = fetch.probe().at_place(program)
            return fetch.decode(program, image), faults, innermost()

        return middle

    outer, faults, within = make(1)(2)
    assert outer == {"instance": 2, "outer": 1, "inner": 3} and not faults
    assert within[:2] == ({"instance": FAULT, "outer": 1, "inner": 3}, 1)
