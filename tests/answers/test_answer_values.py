"""`funcgraph values`: what was planted is ranked first, and figures are those of a slow count."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from builds import needs_gil
from tracefile import RAISE, Trace, deep, value, values

import funcgraph
from funcgraph import answers
from funcgraph.tracedata import SelectionError

S = 1_000_000_000

PROGRAM = """
    import time
    class Box: pass
    def price(kind, n, item, flag):
        if kind == "bulk":
            time.sleep(0.05)  # far above what a busy machine does to one call
        if flag == 3:
            raise ValueError(flag)
        return [0] * n
    for i in range(60):
        try:
            price("bulk" if i % 6 == 0 else "single", i, Box(), i % 5)
        except ValueError:
            pass
"""


def test_a_planted_value_is_found_in_a_recorded_program(fg: Any) -> None:
    """Broken by: another argument, or none, that is ranked first."""
    assert fg.record("--args", "--retval", fg.script(PROGRAM)).returncode == 0
    with funcgraph.open(fg.trace) as trace:
        (found,) = answers.values(trace, "__main__.price")
    assert (found.all.calls, found.all.raised, found.open) == (60, 12, 0)
    slow, raising = found.ranked("slow")[0], found.ranked("raise")[0]
    assert slow.name == "kind" and (slow.slow_share or 0) > 0.5
    assert {group.text: group.calls for group in slow.groups} == {"'bulk'": 10, "'single'": 50}
    assert raising.name == "flag" and (raising.raise_share or 0) > 0.9
    assert {group.text: group.raised for group in raising.groups if group.raised} == {"3": 12}
    item = next(field for field in found.fields if field.name == "item")
    assert [group.text for group in item.groups] == ["<Box>"]  # whatever its address
    assert (item.slow_share or 0) < 1e-6 and not item.raise_share
    done = fg.run("values", "__main__.price")
    assert done.returncode == 0 and "'bulk'" in done.stdout
    assert max(map(len, done.stdout.splitlines()[2:20])) <= 80
    command = done.stdout.rstrip().splitlines()[-1].split()
    shown = fg.run(*command[1:])
    assert "__main__.price(kind='bulk'" in shown.stdout


@pytest.mark.one_python
def test_what_is_not_recorded_is_said_with_the_command(fg: Any) -> None:
    assert fg.record(fg.script("def f(n):\n    return n\nf(1)\n")).returncode == 0
    done = fg.run("values", "__main__.f")
    assert "no argument, result or exception of it is recorded" in done.stdout
    assert "arguments and results are not recorded: funcgraph record --args --retval" in done.stdout
    assert fg.run("values", "nothing").returncode == 2
    assert fg.run("values", "__main__.f", "--by", "x").returncode == 2


def planted(calls: list[tuple[bytes, int, bool]], names: list[str]) -> Trace:
    """Return a trace of calls of one function: values, duration, whether it raises."""
    trace = Trace([("m", "f", "/m.py", 3, 0, names)])
    task = trace.task(69)
    at = S
    for recorded, duration, raises in calls:
        task.enter(at, 0, 0, args=recorded)
        result = values(ValueError()) if raises else values(None)
        task.leave(at + duration, 0, 0, calltime=at, kind=RAISE if raises else 0, result=result)
        at += duration + 10
    return trace


@pytest.mark.one_python
def test_a_value_that_is_different_in_each_call_explains_nothing(tmp_path: Path) -> None:
    """Broken by: a share that is not corrected for the number of groups."""
    calls = [(values(f"id-{i:03}", i % 2), 100 if i % 2 else 900_000, False) for i in range(40)]
    path = planted(calls, ["name", "odd"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    best, *others = found.ranked("slow")
    assert best.name == "odd" and best.slow_share == pytest.approx(1)
    assert all((field.slow_share or 0) < 0.1 for field in others)


@pytest.mark.one_python
def test_numbers_with_many_values_are_grouped_by_size(tmp_path: Path) -> None:
    calls = [(values(n), 10 * n + 1, False) for n in range(300)]
    path = planted(calls, ["n"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    n = next(field for field in found.fields if field.name == "n")
    assert n.by_size and (n.slow_share or 0) > 0.9
    assert {group.text: group.calls for group in n.groups} == {
        "0": 1, "1": 1, **{f"{2**i}..{2**(i + 1) - 1}": 2**i for i in range(1, 8)}, "256..511": 44,
    }  # fmt: skip


@pytest.mark.one_python
def test_a_few_values_are_shown_whatever_the_durations(tmp_path: Path) -> None:
    """Broken by: durations that two values share by chance, so that their type alone explains more."""
    calls = []
    for n in range(40):
        box = deep("Box", ("n", value(n // 4 % 2))) if n % 4 == 3 else values(None)
        fast = 300 if n % 4 == 3 else 100
        calls.append((box, 400 if n % 8 in (0, 1, 6) else fast, False))
    path = planted(calls, ["box"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    assert {group.text: group.calls for group in found.fields[0].groups} == {
        "None": 30, "Box(n=0)": 5, "Box(n=1)": 5,
    }  # fmt: skip


@pytest.mark.one_python
def test_values_with_parts_are_grouped_by_these(tmp_path: Path) -> None:
    """Broken by: all instances as one size, 1; by addresses in them; by long values cut in a part."""
    shapes = [deep("ndarray", ("shape", deep("", ("", value(n)), form=2))) for n in (10, 500)]
    boxes = [
        deep(
            "Box", ("item", value(Path())[:1] + struct.pack("<Q", n) + value(Path())[9:]), ("n", value(n % 2))
        )
        for n in range(40)
    ]
    long = [deep("", *[("", value("x" * 40 + str(n)))] * 16, form=1) for n in range(2)]
    calls = [(shapes[n % 2] + boxes[n] + long[n % 2], 900 if n % 2 else 9, False) for n in range(40)]
    path = planted(calls, ["array", "box", "list"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    fields = {field.name: {group.text: group.calls for group in field.groups} for field in found.fields}
    assert list(fields) == ["array", "array.shape", "box", "box.item", "box.n", "list", "result"]
    array, box, items = fields["array"], fields["box"], fields["list"]
    assert array == {"ndarray(shape=(10,))": 20, "ndarray(shape=(500,))": 20}
    assert box == {"Box(item=<PosixPath>, n=0)": 20, "Box(item=<PosixPath>, n=1)": 20}
    assert items == {"list(16)": 40}
    assert found.ranked("slow")[0].slow_share == pytest.approx(1)


@pytest.mark.one_python
def test_exceptions_are_grouped_by_their_values(tmp_path: Path) -> None:
    """With parts by what each was made of, without by its type. Broken by a result as one of the groups."""
    trace = Trace([("m", "f", "/m.py", 3, 0, ["n"])])
    task = trace.task(69)
    user, cart = (deep("KeyError", ("", value(name))) for name in ("user", "cart"))
    raised = [user] * 4 + [cart] * 3 + [values(OSError())] * 3
    for number, result in enumerate([*raised, user]):
        begin = S + 1000 * number
        kind = RAISE if number < len(raised) else 0
        task.enter(begin, 0, 0, args=values(number))
        task.leave(begin + 100 + number, 0, 0, calltime=begin, kind=kind, result=result)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        (found,) = answers.values(opened, "m.f")
    exception = next(field for field in found.fields if field.name == "exception")
    groups = {group.text: (group.calls, group.raised, group.total_ns) for group in exception.groups}
    assert groups == {
        "KeyError('user')": (4, 4, 406), "KeyError('cart')": (3, 3, 315), "<OSError>": (3, 3, 324),
    }  # fmt: skip


@needs_gil("attributes are not read, another thread may change them")
def test_an_attribute_tells_what_objects_that_all_differ_do_not(fg: Any) -> None:
    """Of an argument, the result and an exception. Broken by a part that is taken for a name."""
    fg.record(
        "--values",
        "1",
        fg.script(
            """
            from dataclasses import dataclass
            @dataclass
            class Cart:
                number: int
                user: str
                items: list
            @dataclass
            class Bill:
                number: int
                paid: bool
            class Refused(Exception): pass
            def order(cart):
                if cart.number % 4 == 3:
                    raise Refused(cart.number % 8, "no")
                return Bill(cart.number, cart.user == "eve")
            for number in range(40):
                try:
                    order(Cart(number, "eve" if number % 5 == 0 else "ann", [number] * 3))
                except Refused:
                    pass
            """
        ),
    )
    with funcgraph.open(fg.trace) as trace:
        (found,) = answers.values(trace, "__main__.order")
    fields = {field.name: field for field in found.fields}
    assert list(fields) == [
        "cart", "cart.number", "cart.user", "cart.items",
        "result", "result.number", "result.paid", "exception",
    ]  # fmt: skip
    assert {group.text: group.calls for group in fields["cart.user"].groups} == {"'eve'": 8, "'ann'": 32}
    assert {group.text: group.calls for group in fields["result.paid"].groups} == {"True": 6, "False": 24}
    raised = {"Refused(3, 'no')": 5, "Refused(7, 'no')": 5}
    assert {group.text: group.calls for group in fields["exception"].groups} == raised
    assert fields["cart.user"].kind == "argument" and fields["cart.user"].raise_share is not None
    shown = fg.run("values", "__main__.order", "--by", "cart.user").stdout
    assert "2 values of cart.user:" in shown and "'eve'" in shown


@pytest.mark.one_python
def test_more_attributes_than_are_kept_leave_the_values_whole(tmp_path: Path) -> None:
    boxes = [deep("Box", *[(f"a{i:02}", value(n % 2)) for i in range(40)]) for n in range(40)]
    calls = [(box, 900 if n % 2 else 9, False) for n, box in enumerate(boxes)]
    path = planted(calls, ["box"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    names = [field.name for field in found.fields if field.name.startswith("box.")]
    assert names == [f"box.a{i:02}" for i in range(32)]
    assert all(sum(group.calls for group in field.groups) == 40 for field in found.fields)
    assert found.ranked("slow")[0].slow_share == pytest.approx(1)


@pytest.mark.one_python
def test_more_values_than_are_kept_are_one_group(tmp_path: Path) -> None:
    """Broken by: memory that grows with the number of values, or calls that are lost."""
    calls = [(values(f"{i}"), 5, False) for i in range(5000)]
    path = planted(calls, ["s"]).save(tmp_path / "a.dat")
    with funcgraph.open(path) as trace:
        (found,) = answers.values(trace, "m.f")
    field = found.fields[0]
    assert field.by_size and sum(group.calls for group in field.groups) == 5000


@pytest.mark.one_python
def test_hostile_values_harm_neither_terminal_nor_reader(fg: Any) -> None:
    """Broken by: escape sequences that reach a terminal, or a record that ends inside of a value."""
    escape = "\x1b[2J\u202e"
    calls = [(values(escape, 2**70, float("nan"), [1]), 5, False)] * 3
    calls += [(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x30ab", 5, False), (b"\x63", 5, False)]
    planted(calls, ["a\x1b[31m", "b", "c", "d"]).save(fg.folder / "trace.dat")
    for words in (["values", "m.f"], ["values", "m.f", "--json"], ["repeat", "--least", "2"]):
        done = fg.run(*words, "-i", "trace.dat")
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert (
        json.loads(fg.run("values", "m.f", "--json", "-i", "trace.dat").stdout)["functions"][0]["calls"] == 5
    )


@pytest.mark.one_python
def test_calls_that_did_not_end_are_counted_and_named(fg: Any) -> None:
    trace = planted([(values(1), 10, False)], ["n"])
    trace.tasks[0].enter(2 * S, 0, 0, args=values(2))
    trace.save(fg.folder / "trace.dat")
    done = fg.run("values", "m.f", "-i", "trace.dat")
    assert "1 call did not end in the trace" in done.stdout
    with funcgraph.open(fg.folder / "trace.dat") as opened:
        (found,) = answers.values(opened, "m.f")
        with pytest.raises(SelectionError, match=r"similar names: m\.f"):
            answers.values(opened, "m.ff")
    assert (found.all.calls, found.all.timed, found.open) == (2, 1, 1)


@pytest.mark.one_python
def test_a_function_is_named_exactly_whatever_its_name_holds(tmp_path: Path) -> None:
    """A lone surrogate is in no pattern; and too many functions of one name are no damage of the file."""
    odd = Trace(
        [("m", "f\udc80*", "/m.py", 1, 0, []), *[("m", "g", "/m.py", n, 0, []) for n in range(2, 67)]]
    )
    task = odd.task(100, pid=100)
    for number in range(66):
        task.enter(S + 10 * number, number, 0)
        task.leave(S + 10 * number + 5, number, 0, calltime=S + 10 * number)
    with funcgraph.open(odd.save(tmp_path / "trace.dat")) as trace:
        (found,) = answers.values(trace, "m.f\udc80*")
        assert found.all.calls == 1
        with pytest.raises(SelectionError, match=r"'m\.g': more than 64 functions were called"):
            answers.values(trace, "m.g")
