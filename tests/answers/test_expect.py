"""Promise: an expectation is met by exactly the calls that it describes: order, number, nesting, values with
wildcards, `...` for anything between; the first difference is shown, and what is written is met."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import RAISE, Trace, values

import funcgraph
from funcgraph.answers import written_expectation
from funcgraph.answers.expectation import (
    Difference,
    ExpectationError,
    RecordedCall,
    match_calls,
    parse_expectation,
)
from funcgraph.answers.expectation_writing import expectation_text
from funcgraph.answers.named_call import find_call
from funcgraph.answers.trace_check import check_trace
from funcgraph.answers.written_expectation import write_call, write_expectation
from funcgraph.tracedata import SelectionError

S = 1_000_000_000


def call(name: str, *children: RecordedCall, arguments: str = "", result: str = "") -> RecordedCall:
    return RecordedCall(name, arguments, result, "return", 0, list(children))


def difference(text: str, *calls: RecordedCall) -> Difference | None:
    return match_calls(parse_expectation(text).sections[0].calls, calls)


A, B, C = (call(name) for name in "abc")

MET = [
    ("a\nb\nc", [A, B, C]),
    ("...\nb\n...", [A, B, C]),
    ("...\nb\n...", [B]),
    ("a\n...", [A, B, C]),
    ("...\nc", [A, C, B, C]),
    ("a x3", [A, A, A]),
    ("a x2..3\nb", [A, A, B]),
    ("a x0..\nb", [B]),
    ("a x0..\nb", [A] * 50 + [B]),
    ("a x1..2\na", [A, A]),
    ("b x0\na", [A]),
    ("*\n?", [A, B]),
    ("a", [call("a", B, C)]),
    ("a()", [call("a", B, arguments="", result="3")]),
    ("a\n  b\n  c", [call("a", B, C)]),
    ("a\n  ...\n  c", [call("a", B, C)]),
    ("a\n  (nothing)", [A]),
    ("a x2\n  b", [call("a", B), call("a", B)]),
    ("a(n=1, ...)", [call("a", arguments="n=1, m='x, y'")]),
    ("a(n=*, m='x, *')", [call("a", arguments="n=1, m='x, y'")]),
    ("a(n=1) = dict(?)", [call("a", arguments="n=1", result="dict(3)")]),
    ("save\nsave", [call("save"), call("shop.Cart.save")]),
    ("# a comment\n\na  # no\n".replace("  # no", ""), [A]),
    ("a ! ValueError", [RecordedCall("a", "", "ValueError", "raise")]),
    ("a !", [RecordedCall("a", "", "ValueError", "raise")]),
]


@pytest.mark.parametrize(("text", "calls"), MET, ids=[repr(row[0]) for row in MET])
def test_calls_that_meet_it(text: str, calls: list[RecordedCall]) -> None:
    assert difference(text, *calls) is None


BROKEN = [
    ("a\nb", [A], "call", "", None),
    ("a", [A, B], "call", "", "b"),
    ("save", [call("shop.unsave")], "call", "", "shop.unsave"),
    ("a\nc", [A, B, C], "call", "", "b"),
    ("a x2", [A], "call", "", None),
    ("a x2", [A, A, A], "call", "", "a"),
    ("a x0\nb", [A, B], "call", "", "a"),
    ("a\n  (nothing)", [call("a", B)], "call", "a", "b"),
    ("a\n  b", [call("a", B, C)], "call", "a", "c"),
    ("a\n  b\n    c", [call("a", call("b", A))], "call", "a b", "a"),
    ("a(n=1)", [call("a", arguments="n=2")], "arguments", "", "a"),
    ("a(n=1)", [call("a", arguments="n=1, m=2")], "arguments", "", "a"),
    ("a(n=1)", [A], "arguments", "", "a"),
    ("a = 3", [call("a", result="4")], "result", "", "a"),
    ("a = 3", [RecordedCall("a", "", "3", "raise")], "result", "", "a"),
    ("a ! KeyError", [RecordedCall("a", "", "ValueError", "raise")], "result", "", "a"),
    ("a !", [A], "result", "", "a"),
    ("...\na = 3", [B, call("a", result="4")], "call", "", None),
]


@pytest.mark.parametrize(
    ("text", "calls", "what", "path", "got"), BROKEN, ids=[repr(row[0]) for row in BROKEN]
)
def test_calls_that_do_not(
    text: str, calls: list[RecordedCall], what: str, path: str, got: str | None
) -> None:
    found = difference(text, *calls)
    assert found is not None
    assert found.what == what
    assert [one.function for one in found.path] == path.split()
    assert (found.got.function if found.got else None) == got


WRONG = [
    ("", "there is no call in it"),
    ("# a\n", "there is no call in it"),
    ("a(n", r"line 1: '\(' without its '\)'"),
    ("a(n)", "line 1: argument 'n': must be NAME=VALUE"),
    ("a b", "line 1: 'b' after the call"),
    ("a =", "line 1: '=' after the call"),
    ("a x3..2", "line 1: 'x3..2' ends before it begins"),
    ("a\n    b\n  c", "line 3: its indentation is that of no line above"),
    ("a\n\tb", "line 2: a tab"),
    ("...\n  a", r"line 2: nothing can be indented below '\.\.\.'"),
    ("a\n  b\n  (nothing)", r"line 3: '\(nothing\)' must be alone below a call"),
    ("\n".join(" " * depth + "a" for depth in range(300)), "line 201: more than 200 levels"),
]


@pytest.mark.parametrize(("text", "error"), WRONG, ids=[repr(row[0][:20]) for row in WRONG])
def test_a_wrong_line_is_named(text: str, error: str) -> None:
    with pytest.raises(ExpectationError, match=error):
        parse_expectation(text)


NAMES = st.sampled_from(["m.f", "m.<locals>.g", "m.h[0]", "m.*", "a\\b"])
VALUES = st.sampled_from(["", "n=1", "n='a, (b', m=[1, 2]", "o=<T at 0x7f1c>", "s='\\'*?['"])
RESULTS = st.sampled_from(["", "3", "'x ! y'", "dict(3)", "'= x3'", "<T at 0x1>"])
CALLS = st.recursive(
    st.builds(RecordedCall, NAMES, VALUES, RESULTS, st.sampled_from(["return", "raise"])),
    lambda inner: st.builds(
        RecordedCall, NAMES, VALUES, RESULTS, st.just("return"), st.just(0), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(calls=st.lists(CALLS, min_size=1, max_size=5), other=CALLS)
def test_what_is_written_is_met_and_by_no_longer_sequence(
    calls: list[RecordedCall], other: RecordedCall
) -> None:
    expectation = parse_expectation(expectation_text(["*"], [("", calls)]))
    expected = expectation.sections[0].calls
    assert match_calls(expected, calls) is None
    assert match_calls(expected, [*calls, other]) is not None
    assert match_calls(expected, calls[:-1]) is not None


def write_trace(path: Path, price: int = 14, *, fails: bool = False) -> Path:
    trace = Trace(["shop.main", ("shop", "load", "/shop.py", 3, 0, ["path"]), "shop.price", "os.stat"])
    task = trace.task(69, "work")
    task.enter(S, 0, 0)
    task.enter(S + 1, 1, 1, args=values("a.json"))
    task.enter(S + 2, 3, 2)
    task.leave(S + 3, 3, 2, calltime=S + 2)
    task.leave(S + 4, 1, 1, calltime=S + 1, result=values(None))
    for i in range(1_000):
        task.enter(S + 10 * i + 10, 2, 1)
        last = price if i == 998 else 14
        task.leave(S + 10 * i + 11, 2, 1, calltime=S + 10 * i + 10, result=values(last))
    kind = {"kind": RAISE} if fails else {}
    task.leave(S + 20_000, 0, 0, calltime=S, result=values("OSError" if fails else 0), **kind)
    return trace.save(path)


TEXT = "shop.main\n  shop.load(path='*.json')\n  shop.price = 14 x1000\n"


def test_a_trace_is_checked_without_functions_that_are_not_named(tmp_path: Path) -> None:
    with funcgraph.open(write_trace(tmp_path / "a.dat")) as trace:
        assert check_trace(parse_expectation(TEXT), trace) is None
        found = check_trace(parse_expectation(f"functions: *\n{TEXT}"), trace)
        assert found is None  # what shop.load calls is free
        found = check_trace(
            parse_expectation("functions: *\n" + TEXT.replace("json')", "json')\n    (nothing)")), trace
        )
    assert found is not None
    assert str(found.difference.got) == "os.stat()"


def test_a_late_difference_is_found(tmp_path: Path) -> None:
    with funcgraph.open(write_trace(tmp_path / "a.dat", price=15)) as trace:
        found = check_trace(parse_expectation(TEXT), trace)
    assert found is not None
    assert found.task.tid == 69
    assert (found.difference.what, found.difference.time_ns) == ("result", S + 9990)
    assert [str(one) for one in found.difference.before] == ["shop.price() = 14"] * 2


def test_the_command_has_an_exit_status_and_shows_the_difference(tmp_path: Path) -> None:
    fg = Funcgraph(tmp_path, tmp_path)
    good, bad = write_trace(tmp_path / "a.dat"), write_trace(tmp_path / "b.dat", price=15)
    written = fg.run("expect", "calls.txt", good, "--write", "-l", "shop.*")
    assert (written.returncode, written.stderr) == (0, "funcgraph: calls.txt: 3 lines\n")
    assert fg.run("expect", "calls.txt", good).returncode == 0
    found = fg.run("expect", "calls.txt", bad)
    assert found.returncode == 1
    lines = found.stdout.splitlines()
    assert lines[0] == "calls.txt: another result in work-69"
    assert "-   shop.price() = 14 x1000   (line 4)" in lines
    assert "+   shop.price() = 15" in lines
    report = fg.run(*lines[-1].removeprefix("from there on: funcgraph ").split())
    assert "shop.price(); /* ret=15 */" in report.stdout
    answer = json.loads(fg.run("expect", "calls.txt", bad, "--json").stdout)
    assert answer["difference"]["expected"] == [{"line": 4, "text": "shop.price() = 14 x1000"}]
    (tmp_path / "wrong.txt").write_text("a(")
    wrong = fg.run("expect", "wrong.txt", good)
    assert (wrong.returncode, wrong.stderr) == (2, "funcgraph: wrong.txt: line 1: '(' without its ')'\n")


def test_the_functions_of_a_part_are_found_in_that_part_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace is read once to write a part of it, and that part before. A reading that chooses functions
    begins at the trace's beginning, as callers decide which calls are shown."""
    trace = Trace(["m.f", "m.g"])
    task = trace.task(69, "main")
    for begin, function in ((0, 0), (10, 1), (20, 0)):
        task.enter(S + begin, function, 0)
        task.leave(S + begin + 5, function, 0, calltime=S + begin)
    readings = []
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        read = opened.call_columns
        monkeypatch.setattr(
            opened, "call_columns", lambda **given: readings.append(given["select"]) or read(**given)
        )
        text = write_expectation(opened, begin="1.000000010", end="1.000000012")
        assert text == "functions: m.g\nm.g\n"
        assert [one.chooses_functions for one in readings] == [False, True]
        assert readings[0].begin is not None
        readings.clear()
        write_call(opened, find_call(opened, "m.g:1"))
        assert [one.chooses_functions for one in readings] == [True, False, True]


def test_calls_that_are_too_many_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by: all of them in memory, for a file that nobody reads."""
    trace = Trace(["m.main", "m.f"])
    task = trace.task(69, "main")
    task.enter(S, 0, 0)
    for begin in range(S + 10, S + 100, 10):
        task.enter(begin, 1, 1)
        task.leave(begin + 5, 1, 1, calltime=begin)
    task.leave(S + 200, 0, 0, calltime=S)
    monkeypatch.setattr(written_expectation, "MOST_CALLS", 4)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        for words in ({}, {"begin": "1.000000010"}, {"functions": ["m.f"]}):
            with pytest.raises(SelectionError, match=r"^more than 4 calls: choose functions, or"):
                write_expectation(opened, **words)
        with pytest.raises(SelectionError, match=r"^more than 4 calls"):
            write_call(opened, find_call(opened, "m.main:1"))
        assert write_expectation(opened, ["m.main"]) == "functions: m.main\nm.main\n"
        text = write_expectation(opened, ["*"], begin="1.000000020", end="1.000000040")
        assert text == "functions: *\nm.main\n  ...\n  m.f x3\n  ...\n"


def test_a_part_of_a_trace_is_written_with_dots_around_it(tmp_path: Path) -> None:
    """Of one call, also in a recursion, and of a time. Broken by functions that are outside of it alone."""
    trace = Trace(["m.main", "m.f", "m.g"])
    task = trace.task(69, "main")
    calls = [(0, 90, 0, 0), (10, 80, 1, 1), (20, 30, 2, 2), (40, 70, 1, 2), (50, 60, 2, 3), (82, 85, 2, 1)]
    times = sorted([(b, 1, c) for c in calls for b in c[:1]] + [(c[1], 0, c) for c in calls])
    for now, begins, (begin, _, function, depth) in times:
        if begins:
            task.enter(S + now, function, depth)
        else:
            task.leave(S + now, function, depth, calltime=S + begin)
    fg = Funcgraph(tmp_path, tmp_path)
    path = trace.save(tmp_path / "a.dat")
    for words, text in (
        (("--call", "m.f:2"), "functions: m.f m.g\nm.f\n  ...\n  m.f\n    m.g\n...\n"),
        (("--call", "m.f:1", "--max-depth", "1"), "functions: m.f m.g\nm.f\n...\n"),
        (("--call", "main@1.000000055", "-l", "*"), None),
        (("--call", "m.g:-1"), "functions: m.g\n...\nm.g\n"),
        (("--from", "1.000000040", "--to", "1.000000082", "-l", "m.[fg]"),
         "functions: m.[fg]\nm.f\n  ...\n  m.f\n    m.g\nm.g\n"),
        (("--to", "1.000000010"), "functions: m.main m.f\nm.main\n  m.f\n    ...\n"),
    ):  # fmt: skip
        written = fg.run("expect", "calls.txt", path, "--write", *words)
        assert written.returncode == 0, written.stderr
        found = (tmp_path / "calls.txt").read_text()
        assert text in (None, found), (words, found)
        assert fg.run("expect", "calls.txt", path).returncode == 0, (words, found)
    for words, error in (
        (
            ("--write", "--call", "m.g:1", "-l", "m.f"),
            "m.g:1: its function is none of those that are looked at",
        ),
        (("--write", "--call", "m.g:1", "--to", "1"), "--call: not with --from, --to or --task"),
        (("--call", "m.g:1"), "--call: only with --write"),
        (("--write", "--from", "+5"), "no call of these functions begins in this part"),
    ):
        refused = fg.run("expect", "calls.txt", path, *words)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1) and error in refused.stderr


def test_names_that_would_be_other_lines_are_written_so_that_they_match(tmp_path: Path) -> None:
    names = [
        "m.f(int, char)",
        "m.#x y",
        "#c",
        "functions:",
        "...",
        "thread x:",
        "a\nb\u2028c",
        "m.\u202e\\\x1b",
    ]
    calls = [RecordedCall(name, "", "3") for name in names]
    text = expectation_text(["*"], [("a\u202e b\n:", calls)])
    assert text.count("\n") == len(names) + 2 and all(map(str.isprintable, text.splitlines()))
    [section] = parse_expectation(text).sections
    assert match_calls(section.calls, calls) is None
    for place in range(len(names)):
        others = [*calls[:place], call("other"), *calls[place + 1 :]]
        assert match_calls(section.calls, others) is not None, names[place]


def test_a_comparison_has_a_bound(tmp_path: Path) -> None:
    """Lines that leave all open are tried in each combination: places grow with their number."""
    expected = parse_expectation("a x0..1000\n" * 200 + "b").sections[0].calls
    with pytest.raises(ExpectationError, match="in too many ways"):
        match_calls(expected, [A] * 1000, most_steps=100_000)
    assert match_calls(parse_expectation("a x0..\nb").sections[0].calls, [A] * 1000 + [B], 10_000) is None


MANY = """\
def f(n):
    return n

def hold():
    yield

held = hold()
next(held)

def main():
    for n in range(1_300_000):
        f(n if n != 1_234_567 else -1)

main()
"""
MANY_LINES = (
    "functions: __main__.*\n*\n  __main__.hold\n  __main__.main\n    __main__.f(n=[0-9]*) = * x1300000\n"
)


WAITING_LINES = """\
functions: __main__.f __main__.hold
__main__.hold
__main__.f x1234567
__main__.f(n=-1)
__main__.f x65432
"""
COMPARE_MANY = f"""\
import resource
import funcgraph
from funcgraph.answers.expectation import parse_expectation
from funcgraph.answers.trace_check import check_trace

def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

with funcgraph.open("trace.fg") as trace:
    check_trace(parse_expectation("functions: *\\n*"), trace)  # what reading takes at least
    before_kib = peak_kib()
    found = check_trace(parse_expectation({MANY_LINES!r}), trace)
    grown_kib = peak_kib() - before_kib
    print(check_trace(parse_expectation({WAITING_LINES!r}), trace), peak_kib() - before_kib < 64 << 10)
difference = found.difference
print(difference.what, difference.got, [one.arguments for one in difference.before])
print([one.function for one in difference.path], grown_kib < 32 << 10, sep="\\n")
"""


def test_a_difference_late_in_many_calls_is_found_in_little_memory(fg: Funcgraph) -> None:
    """Broken by: an object, or some bytes that are kept of each call: 50 of each are 64 MiB; also by more
    than some bytes if all calls wait for a coroutine that began before them."""
    recorded = fg.record("-q", "-l", "__main__.*", "--args", "--retval", fg.script(MANY))
    assert recorded.returncode == 0, recorded.stderr
    compared = fg.plain(sys.executable, fg.script(COMPARE_MANY, "compare.py"))
    assert compared.stdout.splitlines() == [
        "None True",
        "arguments __main__.f(n=-1) = -1 ['n=1234565', 'n=1234566']",
        "['__main__.<module>', '__main__.main']",
        "True",
    ], compared.stderr


def test_hostile_lines_cost_a_bounded_effort() -> None:
    """10,000 lines, 200 levels, wide counts: each call is compared with the places at which it may be, and
    places that follow each other are one."""
    many = [call("a")] * 300
    assert match_calls(parse_expectation("a x0..1\n" * 10_000).sections[0].calls, many, 20_000_000) is None
    wide = parse_expectation("a x0..999999999\n" * 3 + "* x0..999999999\n").sections[0].calls
    assert match_calls(wide, many, 300 * 16) is None
    dots = parse_expectation("...\n* x1..50\n" * 50).sections[0].calls
    assert match_calls(dots, many, 300 * 2_000) is None
    with pytest.raises(ExpectationError, match="in too many ways"):
        match_calls(dots, many, 300 * 20)
    chain = call("a")
    for _ in range(199):
        chain = call("a", chain)
    text = "\n".join("  " * depth + "a" for depth in range(200))
    assert match_calls(parse_expectation(text).sections[0].calls, [chain], 10_000) is None
    chain.children[0].children[0].children.append(B)
    found = difference(text, chain)
    assert found is not None and (len(found.path), found.got) == (3, B)


def test_threads_have_sections(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"])
    for number, name in enumerate(("main", "worker")):
        task = trace.task(69 + number, name)
        task.enter(S + number, number, 0)
        task.leave(S + 10 + number, number, 0, calltime=S + number)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as read:
        assert check_trace(parse_expectation("thread main:\nm.f\nthread w*:\nm.g"), read) is None
        assert check_trace(parse_expectation("functions: *\nthread 69:\nm.g"), read) is not None
        assert check_trace(parse_expectation("m.f"), read) is None
        written = write_expectation(read, ["*"])
        assert written == "functions: *\nthread main:\nm.f\nthread worker:\nm.g\n"
        with pytest.raises(SelectionError, match=r"calls of several threads: main .69., worker .70."):
            check_trace(parse_expectation("functions: *\nm.f"), read)
        with pytest.raises(SelectionError, match="no thread 'x' with such calls"):
            check_trace(parse_expectation("functions: *\nthread x:\nm.f"), read)
