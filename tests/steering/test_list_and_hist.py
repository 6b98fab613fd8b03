"""What `list` lists of a process; `hist` sets up, shows and removes."""

from __future__ import annotations

import pytest
from work import pay

import funcgraph
from funcgraph import cli
from funcgraph.command_support.messages import CommandError
from steering.conftest import Verb

pytestmark = pytest.mark.one_python


# ---- list


def test_list_prints_each_kind(verb: Verb, top: funcgraph.Instance) -> None:
    assert "function_graph" in verb("list", "-t").split() and verb("list", "-t") == verb("list", "-p")
    assert "py:raise\n" in verb("list", "-e") and verb("list", "-e", "^raise$") == "py:raise\n"
    assert "py\n" in verb("list", "-s")
    assert (
        "nofuncgraph-tail\n" in verb("list", "-o")
        and verb("list", "-o", "graph-tail") == "nofuncgraph-tail\n"
    )
    assert "[mono]" in verb("list", "-C")
    assert verb("list", "-B") == "No buffer instances defined\n"
    funcgraph.Instance("a")
    assert verb("list", "-B") == "a\n"
    assert "Supported compression" in verb("list", "-c")


def test_list_prints_functions_and_how_many(verb: Verb) -> None:
    assert verb("list", "-f", "work.*") == "work.pay\nwork.price\n2 functions\n"
    assert verb("list", "-f", "work.pa") == "work.pay\n1 function\n"  # as trace-cmd: somewhere in the name
    assert verb("list", "-f", "work.*", "--count") == "2 functions\n"
    every = verb("list", "-f").splitlines()
    assert every[-1] == f"{len(every) - 1:,} functions" and "work.pay" in every


def test_list_shows_formats_filters_and_triggers(verb: Verb) -> None:
    verb("set", "-e", "py:raise", "-f", 'type ~ "Key*"', "-R", "traceoff")
    text = verb("list", "-e", "py:raise", "-F")
    assert text.startswith("system: py\nname: raise\n") and "print fmt" not in text
    assert "print fmt" in verb("list", "-e", "py:raise", "-F", "--full")
    assert verb("list", "-e", "py:raise", "-l").splitlines()[:2] == ["py:raise", 'type ~ "Key*"']
    assert verb("list", "-e", "py:raise", "-R").splitlines()[:2] == ["py:raise", "traceoff:unlimited"]
    with pytest.raises(CommandError, match="need an event"):
        cli.run(["list", "-F"])


def test_list_without_options_lists_as_trace_cmd(verb: Verb) -> None:
    text = verb("list")
    parts = ("event systems:\n", "\nevents:\n", "\ntracers:\n", "\noptions:\n")
    assert [text.count(part) for part in parts] == [1, 1, 1, 1]


# ---- hist


def test_hist_sets_up_shows_empties_and_removes(verb: Verb, top: funcgraph.Instance) -> None:
    verb("set", "-e", "f:orders/paid work.pay amount")
    verb("hist", "orders:paid", "keys=amount:sort=amount")
    for amount in (3, 3, 4):
        pay(amount)
    text = verb("hist", "orders:paid")
    assert "{ amount:          3 } hitcount:          2" in text
    assert verb("hist").split() == text.split()
    verb("hist", "--pause", "paid")
    pay(3)
    assert "hitcount:          2" in verb("hist", "paid")
    verb("hist", "--continue", "paid")
    verb("hist", "--clear", "paid")
    assert "{ amount:" not in verb("hist", "paid")
    verb("hist", "-r", "paid")
    assert verb("hist") == "" and "hist:" not in top.events["orders/paid"].trigger
    verb("reset")


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["-r"], "which event"), (["--clear", "py:raise", "keys=type"], "give no TRIGGER")],
)
def test_hist_refuses_what_has_no_sense(words: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        cli.run(["hist", *words])


def test_hist_takes_one_event(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["hist", "py", "keys=x"]) == 2
    assert "'py' names" in capsys.readouterr().err
