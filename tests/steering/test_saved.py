"""The procedures that give a client an instance's buffer: parts, the end, and what nobody fetches."""

from __future__ import annotations

from base64 import b64decode

import pytest
from work import pay

import funcgraph
from funcgraph.control import saved

pytestmark = pytest.mark.one_python


def fetched(number: int, size: int) -> bytes:
    data = b""
    while part := saved.saved_part(number, len(data)):
        data += b64decode(part)
    assert len(data) == size
    return data


def test_the_parts_make_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with funcgraph.Instance("saved", tracer="function_graph", filter=["work.*"]) as instance:
        for amount in range(100):
            pay(amount)
        made = saved.save("saved")
        whole = fetched(made["number"], made["bytes"])
        monkeypatch.setattr(saved, "MOST_BYTES", 100)
        assert fetched(made["number"], made["bytes"]) == whole
        saved.saved_end(made["number"])
        with pytest.raises(OSError, match="no saved trace"):
            saved.saved_part(made["number"], 0)
        with pytest.raises(OSError, match="no snapshot was taken"):
            saved.save("saved", snapshot=True)
        assert instance.trace().count("work.pay") == 100  # the buffer stays


def test_what_nobody_fetches_makes_room_for_others() -> None:
    with funcgraph.Instance("saved"):
        numbers = [saved.save("saved")["number"] for _ in range(5)]
        with pytest.raises(OSError, match="no saved trace"):
            saved.saved_part(numbers[0], 0)
        for number in numbers[1:]:
            assert saved.saved_part(number, 0)
            saved.saved_end(number)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(OSError, match="no such instance: 'nonsense'"):
        saved.save("nonsense")
    with funcgraph.Instance("saved"):
        number = saved.save("saved")["number"]
        with pytest.raises(OSError, match="invalid offset -1"):
            saved.saved_part(number, -1)
        saved.saved_end(number)
        saved.saved_end(number)
