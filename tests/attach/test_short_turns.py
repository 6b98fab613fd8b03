"""While an attacher's code runs, the GIL changes hands quickly; afterwards as the program has set it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from funcgraph.attach.turns import with_short_gil_turns

_SHORT_S, _OWN_S = 0.001, 0.02


@pytest.fixture(autouse=True)
def _interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_OWN_S)
    yield
    sys.setswitchinterval(before)


def test_the_setting_is_back_at_the_end() -> None:
    assert with_short_gil_turns(sys.getswitchinterval)() < _SHORT_S
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


def test_the_setting_is_back_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError):
        with_short_gil_turns(lambda: 1 // 0)()
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


def test_what_the_program_sets_meanwhile_stays() -> None:
    with_short_gil_turns(sys.setswitchinterval)(0.5)
    assert sys.getswitchinterval() == pytest.approx(0.5)


def test_a_program_with_shorter_turns_keeps_them() -> None:
    sys.setswitchinterval(1e-5)
    assert with_short_gil_turns(sys.getswitchinterval)() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == pytest.approx(1e-5)


def test_one_in_another_restores_the_programs_setting() -> None:
    assert with_short_gil_turns(with_short_gil_turns(sys.getswitchinterval))() < _SHORT_S
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)
