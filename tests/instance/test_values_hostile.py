"""Values that would harm who reads them: nothing of the program runs, nothing is leaked, nothing breaks."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgraph

WITH_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
MOST_ITEMS, MOST_ATTRIBUTES = 16, 32


def shown(value: object) -> object:
    return value


@pytest.fixture(name="instance")
def fixture_instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance(
        "hostile", tracer="function_graph", filter=[f"{__name__}.shown"], value_depth=2
    ) as instance:
        yield instance


def text_of(instance: funcgraph.Instance, value: object) -> str:
    instance.files["trace"] = ""
    shown(value)
    before, _, rest = instance.trace().partition("shown(value=")
    assert before, rest
    return rest.partition("); /* ret=")[0]


class Trap:
    """Ends the program if any of its methods runs."""

    def __init__(self) -> None:
        self.quiet = 1

    def _spring(self, *args: object) -> Any:
        raise SystemExit("code of the program ran")

    __repr__ = __str__ = __hash__ = __eq__ = __len__ = _spring  # type: ignore[assignment]
    __iter__ = __bool__ = __getattribute__ = __getattr__ = _spring  # type: ignore[assignment]
    __getitem__ = __index__ = __contains__ = _spring
    value = property(_spring)


class TrapDict(dict[Any, Any]):
    __getitem__ = __iter__ = __len__ = items = keys = Trap._spring  # type: ignore[assignment]


class TrapStr(str):
    __str__ = __repr__ = __hash__ = __eq__ = Trap._spring  # type: ignore[assignment]


class TrapMeta(type):
    __getattribute__ = Trap._spring  # type: ignore[assignment]


class Node:
    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


class Slots:
    __slots__ = ("a", "b")


@pytest.mark.skipif(not WITH_GIL, reason="shown by type and address")
def test_no_code_of_the_program_runs(instance: funcgraph.Instance) -> None:
    assert text_of(instance, Trap()) == "Trap(quiet=1)"
    assert text_of(instance, TrapDict(a=1)) == "TrapDict({'a': 1})"
    assert text_of(instance, TrapStr("t")) == "TrapStr('t')"
    assert (
        text_of(instance, [Trap(), {"k": Trap()}])
        == "[Trap(quiet=1), {'k': <Trap at " + hex_of(instance) + ">}]"
    )
    assert text_of(instance, TrapMeta("Made", (), {})) == "<class Made>"


def hex_of(instance: funcgraph.Instance) -> str:
    """Return the address in the latest trace."""
    return instance.trace().partition(" at ")[2].partition(">")[0]


@pytest.mark.skipif(not WITH_GIL, reason="shown by type and address")
def test_cycles_and_deep_nesting_end_at_the_depth(instance: funcgraph.Instance) -> None:
    instance.value_depth = 8
    cycle: list[Any] = []
    cycle.append(cycle)
    assert text_of(instance, cycle) == "[" * 8 + "list(1)" + "]" * 8
    node = Node()
    node.self = node  # type: ignore[attr-defined]
    assert text_of(instance, node).startswith("Node(self=" * 8 + "<Node at 0x")
    deep: object = ()
    for _ in range(100_000):
        deep = (deep,)
    assert text_of(instance, deep) == "(" * 8 + "tuple(1)" + ",)" * 8
    while deep:  # a tuple so deep is freed level by level
        (deep,) = deep  # type: ignore[misc]


@pytest.mark.skipif(not WITH_GIL, reason="shown by type and address")
def test_dictionaries_that_are_replaced_or_emptied(instance: funcgraph.Instance) -> None:
    node = Node(a=1)
    node.__dict__ = {"b": 2, 3: 4}  # type: ignore[dict-item]
    assert text_of(instance, node) == "Node(b=2)"
    node.__dict__ = {}
    assert text_of(instance, node).startswith("<Node at 0x")
    node.__dict__ = TrapDict(c=1)
    assert text_of(instance, node) == "Node(c=1)"
    slots = Slots()
    assert text_of(instance, slots).startswith("<Slots at 0x")
    slots.b = 1
    assert text_of(instance, slots) == "Slots(b=1)"


@pytest.mark.skipif(not WITH_GIL, reason="shown by type and address")
def test_what_is_large_is_cut(instance: funcgraph.Instance) -> None:
    assert text_of(instance, [10**5000]) == "[int(16610 bits)]"
    many = Node(**{f"a{n}": n for n in range(100)})
    shown_attributes = ", ".join(f"a{n}={n}" for n in range(MOST_ATTRIBUTES))
    assert text_of(instance, many) == f"Node({shown_attributes}, ...)"
    text = text_of(instance, {"k" * 500: "v" * 500, "other": 1})
    assert text.startswith("{'" + "k" * 100) and "'...(500): 'vvv" in text and text.endswith("'other': 1}")
    assert len(text_of(instance, [["x" * 200] * 10] * 10)) < 1200
    emptied = dict.fromkeys(range(10_000))
    for key in range(9_999):
        del emptied[key]
    assert text_of(instance, emptied) == "{...}(1)"  # its first places are empty


@pytest.mark.parametrize(
    "make",
    [
        lambda: [object(), {"k": object()}],
        lambda: Node(a=object(), b=[object()]),
        lambda: ValueError(object()),
        lambda: (object(), {object(): object()}),
    ],
)
def test_no_reference_is_kept(instance: funcgraph.Instance, make: Callable[[], object]) -> None:
    """Also of what lies inside."""
    value = make()
    inside = gc.get_referents(value)
    before = [sys.getrefcount(one) for one in (value, *inside)]
    for _ in range(100):
        shown(value)
    assert [sys.getrefcount(one) for one in (value, *inside)] == before


def test_the_recursion_limit_is_the_programs(instance: funcgraph.Instance) -> None:
    def depth(n: int) -> int:
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    instance.set_ftrace_filter = ()  # type: ignore[assignment]
    instance.tracing_on = True
    traced = depth(0)
    instance.tracing_on = False
    assert abs(depth(0) - traced) <= 3


def test_values_that_change_while_they_are_recorded(instance: funcgraph.Instance) -> None:
    """Another thread changes all of them; what is checked is that nothing breaks."""
    node, table, items, bag = Node(a=1), {"a": 1}, [1], {1}
    ended = threading.Event()

    def change() -> None:
        n = 0
        while not ended.is_set():
            n += 1
            node.__dict__ = {f"a{n % 7}": [n]}
            setattr(node, f"b{n % 40}", (n,))
            table[str(n % 300)] = [n]
            items[:] = [(n, str(n))] * (n % 30)
            bag.add((n % 500, 1))
            if n % 100 == 0:
                table.clear()
                bag.clear()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3_000):
            shown((node, table, items, bag))
    finally:
        ended.set()
        thread.join()
    assert "shown(value=(" in instance.trace()


# ---- against a model


def model(value: Any, depth: int) -> str:
    """What is shown of a value, written slowly in Python, as long as there is room."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, bytes):
        return repr(value)
    if not isinstance(value, (list, tuple, dict, set, frozenset, Node)):
        return repr(value)
    if depth == 0:
        if isinstance(value, Node):
            return "<Node>"
        return f"{type(value).__name__}({len(value)})"
    if isinstance(value, Node):
        if not vars(value):
            return "<Node>"
        return f"Node({', '.join(f'{name}={model(one, depth - 1)}' for name, one in vars(value).items())})"
    if isinstance(value, dict):
        parts = [f"{model(key, depth - 1)}: {model(one, depth - 1)}" for key, one in value.items()]
    else:
        parts = [model(one, depth - 1) for one in value]
    cut = f"({len(value)})" if len(parts) > MOST_ITEMS else ""
    inside = ", ".join([*parts[:MOST_ITEMS], *(["..."] if cut else [])])
    if isinstance(value, list):
        return f"[{inside}]{cut}"
    if isinstance(value, tuple):
        return f"({inside},)" if len(value) == 1 else f"({inside}){cut}"
    if isinstance(value, frozenset):
        return f"frozenset({{{inside}}}){cut}" if value else "frozenset()"
    if isinstance(value, set):
        return f"{{{inside}}}{cut}" if value else "set()"
    return f"{{{inside}}}{cut}"


def made(attributes: dict[str, Any]) -> Node:
    """Return an instance of a class of its own: those of one class share the order of their attributes."""
    return type("Node", (Node,), {})(**attributes)  # type: ignore[no-any-return]


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0.5, -1.0, 1e100, float("inf")]),
    st.text("ab'\"\\ 1", max_size=6),
    st.binary(max_size=3).filter(lambda data: all(32 <= byte < 127 for byte in data)),
)
KEYS = st.one_of(st.integers(0, 99), st.text("abc", max_size=3))
NAMES = st.text("abcdef", min_size=1, max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
        st.dictionaries(NAMES, inner, max_size=4).map(made),
    ),
    max_leaves=8,
)


@pytest.mark.skipif(not WITH_GIL, reason="shown by type and address")
def test_nested_values_are_what_the_model_says() -> None:
    import re

    with funcgraph.Instance("model", tracer="function_graph", filter=[f"{__name__}.shown"]) as instance:

        @settings(deadline=None, max_examples=150)
        @given(VALUES, st.integers(1, 5))
        def check(value: object, depth: int) -> None:
            instance.value_depth = depth
            text = re.sub(r"<Node at 0x[0-9a-f]+>", "<Node>", text_of(instance, value))
            if "..." not in text:
                assert text == model(value, depth)

        check()
