"""Large JSON is decoded as json.loads() does it, with the items of one list made one by one."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcgraph.tracedata.description import decode_description
from funcgraph.tracedata.large_json import decode_object

pytestmark = pytest.mark.one_python

leaves = st.none() | st.booleans() | st.integers() | st.text() | st.just("functions")
things = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("functions"), inner),
    max_leaves=20,
)


@given(things, st.sampled_from([None, 1]))
def test_json_is_what_json_loads_makes_of_it(thing: object, indent: int | None) -> None:
    assert decode_object(json.dumps(thing, indent=indent), "functions", lambda item: item) == thing


@given(things, st.data())
def test_damaged_json_is_refused_as_json_loads_does(thing: object, data: st.DataObject) -> None:
    text = json.dumps({"functions": [thing], "other": thing})
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", ",", "}", "]", '"', "x", " "])) + text[at + 1 :]
    try:
        expected = json.loads(damaged)
    except json.JSONDecodeError:
        with pytest.raises(json.JSONDecodeError):
            decode_object(damaged, "functions", lambda item: item)
    else:
        assert decode_object(damaged, "functions", lambda item: item) == expected


def test_only_items_of_the_list_of_that_name_are_made() -> None:
    text = '{"other": {"functions": [1]}, "functions": [2, [3]], "last": [4]}'
    made = decode_object(text, "functions", str)
    assert made == {"other": {"functions": [1]}, "functions": ["2", "[3]"], "last": [4]}


def test_functions_take_less_memory_than_their_json_as_lists() -> None:
    functions = [["module", f"name{number}", "/src/module.py", 1, 0, ["self"]] for number in range(20_000)]
    text = json.dumps({"version": 1, "functions": functions, "tasks": []}).encode()

    def peak(make: object) -> int:
        tracemalloc.start()
        try:
            assert callable(make)
            made = make(text)
            assert made
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(decode_description) < 0.6 * peak(json.loads)
