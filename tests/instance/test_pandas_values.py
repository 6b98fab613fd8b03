"""Promise: with value_depth, frames, series and indexes of pandas are shown by their shapes, without a call
of pandas' code; what is not as pandas has it is shown as any instance.

Nightly with pandas itself; else with classes of the same names, which hold the same objects.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from sizes import NIGHTLY

import funcgraph

pytestmark = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="objects may change meanwhile"
)


def shown(value: object) -> object:
    return value


@pytest.fixture(name="instance")
def fixture_instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance(
        "pandas", tracer="function_graph", filter=[f"{__name__}.shown"], value_depth=1
    ) as instance:
        yield instance


def text_of(instance: funcgraph.Instance, value: object) -> str:
    instance.files["trace"] = ""
    shown(value)
    found = re.search(r"shown\(value=(.*)\); /\* ret=(.*) \*/$", instance.trace(), re.MULTILINE)
    assert found, instance.trace()
    assert found[1] == found[2]
    return found[1]


# ---- classes of the same names


def made(name: str, slots: tuple[str, ...] = (), **attributes: Any) -> Any:
    """Return an instance of a class that could be one of pandas."""
    space = {"__module__": "pandas.core", **({"__slots__": slots} if slots else {})}
    instance = type(name, (), space)()
    for attribute, value in attributes.items():
        setattr(instance, attribute, value)
    return instance


def range_of(n: int) -> Any:
    return made("Index", _range=range(n))


@pytest.mark.parametrize("slots", [(), ("axes", "blocks", "cached")], ids=["attributes", "members"])
def test_a_frame_of_two_axes(instance: funcgraph.Instance, slots: tuple[str, ...]) -> None:
    manager = made("BlockManager", slots, axes=[range_of(3), range_of(1000)], blocks=(made("Block"),))
    if slots:
        manager.cached = (1, 2)
    assert text_of(instance, made("DataFrame", _mgr=manager)) == "DataFrame(shape=(1000, 3))"
    assert text_of(instance, [made("Series", _mgr=manager)]) == "[Series(shape=(3,))]"
    assert text_of(instance, range_of(7)) == "Index(shape=(7,))"


def test_what_is_not_as_expected_is_an_instance(instance: funcgraph.Instance) -> None:
    managers = [
        None,
        made("BlockManager", axes=7),
        made("BlockManager", axes=[], blocks=()),
        made("BlockManager", axes=[range_of(1), made("Index")], blocks=()),
        made("BlockManager", axes=[range_of(1), 7], blocks=(7,)),
        made("BlockManager", ("axes", "other", "blocks"), axes=[range_of(1)], other=[range_of(2)], blocks=()),
        type("BlockManager", (), {"axes": [range_of(1)] * 2, "blocks": ()})(),
    ]
    for manager in managers:
        assert text_of(instance, made("DataFrame", _mgr=manager)).startswith("DataFrame(_mgr="), manager
    assert text_of(instance, made("DataFrame", other=1)) == "DataFrame(other=1)"
    for index in (made("Index", _data=7), made("Index", _range=range(2**80)), made("Index", _codes=[7])):
        assert text_of(instance, index).startswith("Index(_")


def test_a_class_of_another_package_is_its_attributes(instance: funcgraph.Instance) -> None:
    frame = type("DataFrame", (), {})()
    frame._mgr = made("BlockManager", axes=[range_of(3), range_of(4)], blocks=())
    assert text_of(instance, frame).startswith("DataFrame(_mgr=")


# ---- pandas


def frames(pandas: Any) -> Iterator[Any]:
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": [1.0, 2.0, 3.0], "c": ["x", "y", "z"]})
    yield from (frame, frame[frame["a"] > 1], frame.T, frame.set_index(["a", "b"]), frame.groupby("a").sum())
    yield from (pandas.DataFrame(), pandas.DataFrame(index=range(5)), pandas.DataFrame(columns=["a"]))
    yield type("Orders", (pandas.DataFrame,), {})({"a": [1]})
    yield pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64")})
    yield pandas.DataFrame({i: [0.5] * 4 for i in range(100)})
    dates = pandas.date_range("2020", periods=3)
    for values in ([1, 2], [0.5], ["a", "b"], [], dates, dates.tz_localize("UTC"), [None, "x"]):
        yield from (pandas.Series(values), pandas.Series(values).astype("category"))
    yield from (frame.index, dates, frame.set_index(["a", "b"]).index, pandas.Index([1, 2]))


@pytest.mark.skipif(not NIGHTLY, reason="pandas: nightly")
def test_pandas_itself(instance: funcgraph.Instance) -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    for value in frames(pandas):
        shape = f"shape={value.shape}"
        if value.ndim == 1 and isinstance(value.dtype, numpy.dtype) and shows_dtype(value, numpy):
            shape += f", dtype={value.dtype}"
        assert text_of(instance, value) == f"{type(value).__name__}({shape})"


def shows_dtype(value: Any, numpy: Any) -> bool:
    """Return whether the values are an array of numpy, which has their data type."""
    held = value._mgr.blocks[0].values if hasattr(value, "_mgr") else vars(value).get("_data")
    return type(held) is numpy.ndarray
