"""Promise: the page is told what `funcgraph.answers` says of the same part, with evidence that leads to the
very call, and the command that prints it; a question without an answer is no damage of the trace."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tracefile import DISCARDED, RESUME, SUSPEND, Trace, values

from funcgraph.answers.value_text import value_text
from funcgraph.view import answer_panels
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from view.servers import BEGIN, EVIL, HOSTILE, LEAF, MAIN, US
from view.test_view_queries import ask, opened

pytestmark = pytest.mark.one_python

DATA = Path(__file__).parents[1] / "tracedata" / "data"
TEXTS = [f"<script>{n}\x1b" for n in range(3)]


@pytest.fixture(scope="module")
def small(trace_path: Path) -> Iterator[Served]:
    with opened(trace_path) as served:
        yield served


def asked(served: Served, question: str, **parameters: object) -> Any:
    """Return an answer as a page gets it."""
    return json.loads(json.dumps(ask(served, question, **parameters), allow_nan=False))


def shown(served: Served, spot: Any) -> Any:
    """Return the call to which some evidence leads."""
    place = {name: spot[name] for name in ("lane", "begin", "end", "function")}
    return asked(served, "evidence", **place)["call"]


def refused(served: Served, question: str, **parameters: object) -> str:
    with pytest.raises(RequestError) as error:
        ask(served, question, **parameters)
    assert served.state()[0] != "damaged", "a question that cannot be answered is no damage of the trace"
    return error.value.message


# ---- why


def test_the_parts_of_a_call_add_up_and_lead_to_it(small: Served) -> None:
    answer = asked(small, "why", function=MAIN, of="slowest")
    assert sum(row["slow_ns"] for row in answer["rows"]) == answer["total_ns"][0] == 75 * US
    assert answer["rest"] is None and answer["typical"] is None
    call = shown(small, answer["evidence"])
    assert (call["function"], call["begin_ns"], call["end_ns"], call["depth"]) == (MAIN, 0, 75 * US, 0)
    assert shlex.split(answer["command"]) == ["funcgraph", "why", "app.main", "--slowest", "-i", small.path]
    assert [row["number"] for row in answer["rows"] if row["kind"] == "callee"] == [EVIL]


def test_slow_calls_are_beside_typical_ones(small: Served) -> None:
    """Both sides add up for a call; broken by leaving the typical parts out that slow calls have not."""
    answer = asked(small, "why", function=LEAF)
    for side, total in zip(("slow", "typical"), answer["total_ns"], strict=True):
        assert sum(row[f"{side}_ns"] for row in answer["rows"]) == total == 2 * US
    one_lane = asked(small, "why", function=LEAF, thread=1)
    assert (answer["calls"], one_lane["calls"]) == (12, 6)
    assert "--task 101" in one_lane["command"] and "--task" not in answer["command"]
    with patch.object(answer_panels, "_MOST_ROWS", 0):
        cut = asked(small, "why", function=LEAF)
    assert cut["rest"] == {"rows": 1, "slow_ns": 2 * US, "typical_ns": 2 * US}


def test_why_is_of_the_chosen_call_whatever_its_name(small: Served) -> None:
    answer = asked(small, "why", of="call", lane=1, time=17 * US, depth=1)
    assert answer["call"]["begin_ns"] == BEGIN + 17 * US and answer["call"]["tid"] == 101
    name, _, number = shlex.split(answer["command"])[2].rpartition(":")
    assert name == f"app.{HOSTILE}" and int(number) == answer["call"]["number"]
    assert shown(small, answer["evidence"])["begin_ns"] == 17 * US
    assert "no call" in refused(small, "why", of="call", lane=1, time=10**9)


def test_a_resumed_call_is_the_one_that_began_before(tmp_path: Path) -> None:
    trace = Trace([("app", "gen", "/a.py", 1, 0, []), ("app", "f", "/a.py", 5, 0, [])])
    task = trace.task(100, "main", pid=100)
    task.enter(BEGIN, 0, 0)
    task.leave(BEGIN + 10, 0, 0, calltime=BEGIN, kind=SUSPEND, start=BEGIN)
    task.enter(BEGIN + 20, 1, 0)
    task.enter(BEGIN + 30, 0, 1, kind=RESUME, start=BEGIN)
    task.leave(BEGIN + 45, 0, 1, calltime=BEGIN + 30, start=BEGIN)
    task.leave(BEGIN + 50, 1, 0, calltime=BEGIN + 20)
    with opened(trace.save(tmp_path / "t.dat")) as served:
        answer = asked(served, "why", of="call", lane=0, time=35, depth=1)
    assert (answer["call"]["begin_ns"], answer["call"]["end_ns"]) == (BEGIN, BEGIN + 45)
    assert {row["kind"]: row["slow_ns"] for row in answer["rows"]} == {"own": 25, "suspended": 20}


def test_two_calls_are_compared_up_to_where_they_differ(small: Served, tmp_path: Path) -> None:
    def compared(first: int, second: int, depth: int = 1) -> dict[str, int]:
        place = {"lane": 0, "time": second, "depth": depth}
        return {**place, "first_lane": 0, "first_time": first, "first_depth": depth}

    answer = asked(small, "compare", **compared(US, 9 * US))
    assert (answer["difference"]["what"], answer["parting"]) == ("arguments", None)
    steps = [shown(small, spot)["begin_ns"] for spot in answer["evidence"]]
    assert steps == [US, 9 * US] == [spot["begin"] for spot in answer["difference"]["evidence"]]
    words = shlex.split(answer["command"])
    assert (
        words[:2] == ["funcgraph", "compare"] and [word[:-2] for word in words[2:4]] == [f"app.{HOSTILE}"] * 2
    )
    assert "another one of its function" in refused(small, "compare", **compared(US, US))
    assert "two functions" in refused(small, "compare", **{**compared(US, 9 * US), "first_depth": 0})
    trace = Trace([("app", name, "/a.py", line, 0, []) for line, name in enumerate("fgh", 1)])
    task = trace.task(100, "main", pid=100)
    for begin, callee in ((BEGIN, 1), (BEGIN + 100, 2)):
        task.enter(begin, 0, 0)
        for number, after in ((1, 10), (callee, 30)):
            task.enter(begin + after, number, 1)
            task.leave(begin + after + 10, number, 1, calltime=begin + after)
        task.leave(begin + 50, 0, 0, calltime=begin)
    with opened(trace.save(tmp_path / "t.dat")) as served:
        answer = asked(served, "compare", **compared(0, 100, 0))
        calls = [shown(served, spot) for spot in answer["parting"]["evidence"]]
    assert [(call["function"], call["begin_ns"]) for call in calls] == [(1, 30), (2, 130)]
    assert sorted((row["function"], row["a"], row["b"]) for row in answer["counts"]) == [
        ("app.g", 2, 1), ("app.h", 0, 1),
    ]  # fmt: skip


# ---- values


def test_values_are_those_of_a_part_and_lead_to_their_slowest_call(small: Served) -> None:
    answer = asked(small, "values", function=EVIL)
    assert (answer["name"], answer["calls"], answer["raised"]) == (f"app.{HOSTILE}", 6, 2)
    [field] = [one for one in answer["fields"] if one["kind"] == "argument"]
    assert (field["name"], field["count"], field["by_size"]) == ("value", 3, False)
    assert sorted(group["value"] for group in field["values"]) == [value_text(text) for text in TEXTS]
    for group in field["values"]:
        call = shown(small, group["evidence"])
        detail = asked(small, "call", lane=call["lane"], time=call["begin_ns"], depth=call["depth"])["call"]
        assert [["value", group["value"]]] == detail["arguments"]
        assert sum(group["durations"]) == group["timed"] == 2
        assert "funcgraph report --task" in group["evidence"]["report"]
    part = asked(small, "values", function=EVIL, begin=9 * US, end=17 * US - 1, thread=0)
    assert part["calls"] == 1
    words = shlex.split(part["command"])
    assert words[:3] == ["funcgraph", "values", f"app.{HOSTILE}"] and words[-1] == small.path
    assert words[words.index("--from") + 1] == "1.000009000" and words[words.index("--task") + 1] == "100"


def test_only_so_many_values_are_sent(small: Served) -> None:
    with patch.object(answer_panels, "_MOST_VALUES", 2):
        answer = asked(small, "values", function=EVIL)
    assert [(len(one["values"]), one["count"]) for one in answer["fields"] if one["kind"] == "argument"] == [
        (2, 3)
    ]


def test_what_was_not_recorded_is_told_with_the_command_that_records_it(small: Served) -> None:
    meta = {"instances": {"": {"args": False, "retval": False}}, "command": ["shop.py"]}
    with patch.object(small.trace, "meta", meta):
        assert "funcgraph record --args --retval shop.py" in asked(small, "values", function=MAIN)["notes"][0]
        answer = asked(small, "repeat")
    assert not answer["has_arguments"] and not answer["has_results"]


# ---- which function


def test_a_typed_name_is_a_function_or_a_choice(small: Served) -> None:
    assert asked(small, "values", name="app.leaf")["number"] == LEAF
    assert asked(small, "values", name="LEA")["number"] == LEAF
    several = asked(small, "why", name="app.")
    assert (several["choices"], several["count"]) == ([MAIN, EVIL, LEAF], 3)
    assert refused(small, "why", name="<nothing>\x1b") == (
        "no function of the trace has '<nothing>\\x1b' in its name"
    )
    assert "must not be empty" in refused(small, "values", name="")
    assert "no function 99" in refused(small, "values", function=99)
    assert "no call" in refused(small, "values", function=LEAF, begin=10**6, end=10**7)


def test_a_name_of_too_many_functions_is_no_damage(tmp_path: Path) -> None:
    """A module has many lambdas. Broken by a TraceError, after which nothing of the trace is answered."""
    trace = Trace([("app", "<lambda>", "/a.py", line, 0, []) for line in range(1, 71)])
    task = trace.task(100, "main", pid=100)
    for number in range(70):
        task.enter(BEGIN + 10 * number, number, 0)
        task.leave(BEGIN + 10 * number + 5, number, 0, calltime=BEGIN + 10 * number)
    with opened(trace.save(tmp_path / "t.dat")) as served:
        assert "more than 64 functions were called" in refused(served, "values", function=0)


# ---- repeat, exceptions


def test_repetitions_lead_to_the_call_below_which_they_are(small: Served) -> None:
    answer = asked(small, "repeat", least=2)
    [leaf] = [row for row in answer["below"] if row["number"] == LEAF and row["below_number"] == EVIL]
    assert (leaf["calls"], leaf["most"], leaf["runs"]) == (12, 2, 6)
    assert shown(small, leaf["evidence"])["function"] == EVIL
    assert [(one["count"], one["handler"]) for one in answer["swallowed"]] == [(2, "app.main")]
    assert "--least=2" in answer["command"]
    part = asked(small, "repeat", least=2, begin=0, end=9 * US - 1, thread=0)
    assert [(row["calls"], row["runs"]) for row in part["below"] if row["number"] == LEAF] == [(2, 1)]
    with patch.object(answer_panels, "_MOST_ROWS", 0):
        cut = asked(small, "repeat", least=2)
    assert cut["below"] == [] and cut["counts"]["below"] == len(answer["below"])
    assert "from 2 to" in refused(small, "repeat", least=1)


def test_discarded_results_lead_to_the_longest_call(tmp_path: Path) -> None:
    trace = Trace([("app", name, "/a.py", line, 0, []) for line, name in enumerate(("main", "f"), 1)])
    task = trace.task(100, "main", pid=100)
    task.enter(BEGIN, 0, 0)
    for begin, ns in ((BEGIN + 100, 20), (BEGIN + 200, 30), (BEGIN + 300, 10)):
        task.enter(begin, 1, 1)
        task.leave(begin + ns, 1, 1, calltime=begin, result=values(1) + DISCARDED)
    task.leave(BEGIN + 900, 0, 0, calltime=BEGIN)
    meta = {"instances": {"": {"args": False, "retval": True}}}
    with opened(trace.save(tmp_path / "t.dat")) as served, patch.object(served.trace, "meta", meta):
        answer = asked(served, "repeat", least=3)
        assert answer["has_results"] and not answer["has_arguments"]
        [row] = answer["discarded"]
        assert (row["function"], row["number"], row["results"], row["total_ns"]) == ("app.f", 1, 3, 60)
        assert shown(served, row["evidence"])["begin_ns"] == 200
        with patch.object(answer_panels, "_MOST_ROWS", 0):
            cut = asked(served, "repeat", least=3)
    assert cut["discarded"] == [] and cut["counts"]["discarded"] == 1


def test_an_exception_is_followed_through_the_calls_that_it_ended(small: Served) -> None:
    answer = asked(small, "exceptions", number=2)
    [group] = answer["groups"]
    assert (group["count"], group["number"], group["became"]) == (2, EVIL, "handled in app.main")
    one = answer["one"]
    assert (one["number"], one["type"], one["time_ns"]) == (2, "KeyError", 24 * US)
    [frame] = one["frames"]
    assert (frame["number"], frame["call"]["begin_ns"], frame["call"]["ended"]) == (EVIL, 17 * US, "raise")
    assert (one["handler_number"], one["handler_call"]["function"]) == (MAIN, MAIN)
    assert frame["call"]["lane"] == one["handler_call"]["lane"] == one["evidence"]["lane"]
    assert shlex.split(answer["command"]) == ["funcgraph", "exceptions", "--nth", "2", small.path]
    part = asked(small, "exceptions", begin=0, end=17 * US)
    assert (part["exceptions"], part["groups"], part["head"]) == (0, [], part["head"])
    assert refused(small, "exceptions", number=3).startswith("this part of the trace has 2 exceptions")


def test_an_exception_that_passes_calls_leads_to_each(tmp_path: Path) -> None:
    """The same function is there twice; broken by looking for a frame from the first call on again."""
    trace = Trace([("app", name, "/a.py", line, 0, []) for line, name in enumerate("fgh", 1)])
    task, error = trace.task(100, "main", pid=100), values(KeyError)
    for depth, number in enumerate((0, 1, 1, 2)):
        task.enter(BEGIN + depth, number, depth)
    for depth, number in ((3, 2), (2, 1), (1, 1)):
        task.leave(BEGIN + 20 - depth, number, depth, calltime=BEGIN + depth, kind=1, result=error)
    task.leave(BEGIN + 30, 0, 0, calltime=BEGIN)
    with opened(trace.save(tmp_path / "t.dat")) as served:
        one = asked(served, "exceptions", number=1)["one"]
        with patch.object(answer_panels, "_MOST_ROWS", 1):
            cut = asked(served, "exceptions", number=1)["one"]
    assert [frame["call"]["depth"] for frame in one["frames"]] == [3, 2, 1]
    assert one["handler_call"]["depth"] == cut["handler_call"]["depth"] == 0
    assert (len(cut["frames"]), cut["more_frames"], one["more_frames"]) == (1, 2, 0)


# ---- what cannot be answered


def test_a_kernels_trace_has_no_values_but_times() -> None:
    with opened(DATA / "two_instances.dat") as served:
        for question, parameters in (("values", {"function": 0}), ("repeat", {}), ("exceptions", {})):
            assert "kernel's trace has no" in refused(served, question, **parameters)
        assert asked(served, "why", function=0)["calls"] > 0


def test_a_clock_that_counts_has_no_durations(small: Served) -> None:
    with patch.object(small, "has_times", False):
        assert "counts" in refused(small, "why", function=MAIN)


def test_a_live_recording_has_no_file_for_a_command(small: Served) -> None:
    with patch.object(Served, "is_live", True):
        answers = [asked(small, "why", function=MAIN), asked(small, "values", function=EVIL)]
        answers += [asked(small, "repeat"), asked(small, "exceptions", number=1)]
    for answer in answers:
        assert answer["command"] == "" and "-o FILE keeps one" in answer["notes"][-1]
    assert answers[0]["evidence"]["report"] == "" and answers[3]["one"]["evidence"]["report"] == ""


def test_evidence_that_is_not_there_is_none(small: Served) -> None:
    assert asked(small, "evidence", lane=0, begin=10**9, end=10**9 + 1) == {"call": None}
    assert asked(small, "evidence", lane=0, begin=0, end=75 * US)["call"]["function"] == MAIN
    assert "no lane 9" in refused(small, "evidence", lane=9, begin=0, end=1)


def test_of_calls_that_begin_at_the_same_time_the_right_one_is_shown(tmp_path: Path) -> None:
    """A coarse clock gives many calls one time. Broken by taking the innermost."""
    trace = Trace([("app", name, "/a.py", line, 0, []) for line, name in enumerate("fg", 1)])
    task = trace.task(100, "main", pid=100)
    calls = [(0, 50), (1, 40), (1, 30)]
    for depth, (number, _) in enumerate(calls):
        task.enter(BEGIN, number, depth)
    for depth, (number, end) in reversed(list(enumerate(calls))):
        task.leave(BEGIN + end, number, depth, calltime=BEGIN)
    with opened(trace.save(tmp_path / "t.dat")) as served:
        found = [
            asked(served, "evidence", lane=0, begin=0, end=end, function=number)["call"]["depth"]
            for number, end in calls
        ]
    assert found == [0, 1, 2]
