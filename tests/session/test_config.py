"""Reading the session's config file returns the written values, whatever text they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcgraph.session import config, options

pytestmark = pytest.mark.one_python

KEYS = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
# Any text that a file name or an argument can hold, including lone surrogates (bytes that are not UTF-8).
VALUES = st.text(st.characters(exclude_characters="\0"), max_size=20)


@given(st.dictionaries(KEYS, st.lists(VALUES, min_size=1, max_size=4), max_size=5))
def test_parse_gives_back_what_dump_wrote(values: dict[str, list[str]]) -> None:
    assert config.parse(config.dump(values)) == values


@pytest.mark.parametrize("text", ["novalue", "key=a\\", "a=b\nc", "key=\\x41"])
def test_damaged_text_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"config: line \d: .*: must be key=value"):
        config.parse(text)


def values_of(table: dict[str, object]) -> dict[str, st.SearchStrategy[object]]:
    return {
        name: st.lists(VALUES, max_size=3)
        if isinstance(default, tuple)
        else st.booleans()
        if isinstance(default, bool)
        else st.integers(0, 2**40)
        if isinstance(default, int)
        else VALUES
        for name, default in table.items()
    }


INSTANCES = st.lists(
    st.fixed_dictionaries({"name": VALUES, **values_of(options.DEFAULTS)}), min_size=1, max_size=3
)


@given(st.fixed_dictionaries({**values_of(options.RECORDING), "instances": INSTANCES}))
def test_settings_come_back_with_their_kinds(settings: dict[str, object]) -> None:
    text = config.dump(options.to_config(settings))
    assert options.from_config(config.parse(text)) == settings


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        options.from_config({"0.buffer_kb": ["many"]})
