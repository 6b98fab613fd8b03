"""Promise: a test can say which calls it expects, in the language of `funcgraph expect`, and a difference is
shown as pytest shows differences; the same holds without pytest."""

from __future__ import annotations

import threading
import unittest

import pytest
from builds import needs_gil
from test_pytest_plugin import project, run  # noqa: F401

import funcgraph.testing
from funcgraph.answers.expectation import ExpectationError
from funcgraph.testing.call_record import LostCallsError
from funcgraph.tracedata import SelectionError

pytest_plugins = ["pytester"]


class Cart:
    def save(self, amount: int) -> bool:
        if amount < 0:
            raise OSError("disk full")
        return True


def validate(n: int) -> bool:
    return n > 0


def order(n: int) -> bool:
    validate(n)
    return Cart().save(n)


OWN = f"{__name__}.[Cov]*"


@pytest.mark.funcgraph(filter=OWN)
def test_the_fixture_compares_calls_so_far(calls: funcgraph.testing.Calls) -> None:
    assert len(calls) == 0
    order(3)
    assert (
        calls
        == """
        validate(n=3) = True
        save(amount=3, ...)
    """
    )
    assert calls != "validate\nsave(amount=4, ...)"
    order(4)
    assert calls.of("save") == "save(amount=3, ...)\nsave(amount=4, ...)"
    assert len(calls.of("save")) == 2
    assert calls.of("save")[1].result == "True"
    assert [call.function.rpartition(".")[2] for call in calls] == ["order", "validate", "save"] * 2
    assert calls == "order x2"
    assert calls == str(calls)
    calls.of("*.order", "*.save").expect("order\n  save\norder\n  save\n")


def test_nothing_is_expected_of_functions_that_were_not_called() -> None:
    with funcgraph.testing.calls(OWN) as calls:
        validate(1)
    assert calls == "save x0"
    assert calls == "validate\nsave x0"
    assert not calls.of("save")
    assert calls.difference("save") == ["no call:", "- save   (line 1)", "+ no further call"]


@needs_gil("items of containers are not read")
def test_a_difference_is_shown_as_pytest_shows_it(project: pytest.Pytester) -> None:  # noqa: F811
    tests = "import pytest, shop\npytestmark = pytest.mark.funcgraph(filter='shop.*')\n"
    tests += (
        "def test_equal(calls):\n    shop.order(3)\n    assert calls == 'validate\\nsave(amount=4, ...)'\n"
    )
    tests += "def test_expect(calls):\n    shop.order(3)\n    calls.expect('validate\\norder')\n"
    result = run(project, tests, "-vv")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: assert calls == expectation: other arguments:",
            "E         *shop.validate(n=3) = True",
            "E         - save(amount=4, ...)   (line 2)",
            "E         + shop.Cart.save(self=<Cart at *>, amount=3) = {'paid': 3}",
            "E       AssertionError: another call:",
            "E       - validate   (line 1)",
            "E       + shop.order(n=3) = {'paid': 3}",
        ]
    )
    assert "call_sequence.py" not in str(result.stdout)


def test_the_text_of_calls_is_an_expectation() -> None:
    with funcgraph.testing.calls(OWN) as calls:
        order(3)
        order(3)
    assert str(calls.of("*.validate", "*.order")).splitlines() == [
        "functions: *.validate *.order",
        f"{__name__}.order(n=3) = True x2",
        f"  {__name__}.validate(n=3) = True",
    ]


def test_a_wrong_expectation_is_an_error() -> None:
    with funcgraph.testing.calls(OWN) as calls, pytest.raises(ExpectationError, match="line 1"):
        assert calls == "order("


def test_lost_calls_are_no_answer() -> None:
    """Broken by: comparing what is left."""
    with funcgraph.testing.calls(OWN, buffer_kb=64) as calls:
        for _ in range(10000):
            validate(1)
    with pytest.raises(LostCallsError, match=r"\d+ records of calls were lost: .* buffer_kb"):
        len(calls)


def test_calls_of_several_threads_need_a_name() -> None:
    with funcgraph.testing.calls(OWN) as calls:
        thread = threading.Thread(target=validate, args=(1,), name="worker")
        thread.start()
        thread.join()
        order(2)
    assert len(calls.of("validate")) == 2
    with pytest.raises(SelectionError, match="thread NAME"):
        assert calls == "validate x2"
    assert calls == "thread worker:\n  validate(n=1)"


@needs_gil("texts of exceptions are not read")
def test_unittest_has_the_calls_in_the_failure() -> None:
    class Case(unittest.TestCase):
        def test_order(self) -> None:
            with funcgraph.testing.calls(OWN) as calls:
                order(3)
            calls.expect("save(amount=4, ...)")

        def test_error(self) -> None:
            with funcgraph.testing.calls(OWN):
                order(-1)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    (failure,), (error,) = result.failures, result.errors
    assert "- save(amount=4, ...)   (line 1)" in failure[1]
    assert "funcgraph: the function graph" in error[1]
    assert f"}} /* {__name__}.order raised OSError('disk full') */" in error[1]
