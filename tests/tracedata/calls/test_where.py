"""`--where`: the calls whose values meet an event filter, with calls around and below them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from builds import HAS_GIL
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import TRACE_EXAMPLES
from tracefile import RAISE, Trace, deep, value, values
from valued_calls import STEPS as VALUED_STEPS
from valued_calls import Call, Run, Stretch
from valued_calls import Step as ValuedStep

import funcgraph
from funcgraph import answers, cli
from funcgraph.tracedata import Selection, SelectionError
from tracedata.calls.test_selection import lost_records
from tracedata.programs import STEPS, Program, Step

S = 1_000_000_000

# A filter, and what it means for a call of the model. What is not known of a call is not equal to anything.
FILTERS: dict[str, Callable[[Call], bool]] = {
    "n == 1": lambda call: call.argument == 1,
    "n > 0 && ret == 0": lambda call: call.argument > 0 and call.result == 0,
    "ret != 1": lambda call: call.result != 1,
    "raised": lambda call: call.raised is not None,
    'exc ~ "OS*" || n == 2': lambda call: call.argument == 2 or (call.raised or "  ")[0] == "OSError",
    "duration >= 0.03": lambda call: call.ended and call.ran >= 30,
    "!(duration >= 0)": lambda call: not call.ended,
    "own < 0.022": lambda call: call.ended and call.own < 22,
}


def expected(run: Run, meets: Callable[[Call], bool], callers: int, below: bool) -> list[tuple[int, int]]:
    """Return the times and depths of the events that are shown."""
    chosen = {stretch for call in run.calls if meets(call) for stretch in call.stretches}
    shown = {
        stretch for one in chosen for stretch in (one, *(one.around[-callers:] if callers else ()))
    } | {
        stretch
        for call in run.calls
        for stretch in call.stretches
        if below and any(around in chosen for around in stretch.around)
    }  # fmt: skip

    def depth(stretch: Stretch) -> int:
        return sum(around in shown for around in stretch.around)

    times = [(time, depth(one)) for one in shown for time in (one.begin, one.end) if time is not None]
    return sorted(times)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(
    steps=VALUED_STEPS,
    text=st.sampled_from(list(FILTERS)),
    callers=st.integers(0, 2),
    below=st.booleans(),
)
def test_the_calls_that_a_filter_accepts_are_shown(
    tmp_path_factory: pytest.TempPathFactory, steps: list[ValuedStep], text: str, callers: int, below: bool
) -> None:
    """Broken by: a call that another one's mark, value or time goes to, however calls stop and go on."""
    run = Run(steps)
    if not run.calls:
        return
    path = run.trace.save(tmp_path_factory.getbasetemp() / "where.dat")
    selection = Selection(where=text, callers=callers, below=below)
    with funcgraph.open(path) as trace:
        found = [(event.time_ns, event.depth) for event in trace.events(select=selection)]
    assert found == expected(run, FILTERS[text], callers, below)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS, dropped=st.sets(st.integers(0, 60), max_size=3), task=st.sampled_from([(), ("t1",)]))
def test_a_filter_for_all_calls_leaves_what_a_pattern_for_all_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], dropped: set[int], task: tuple[str, ...]
) -> None:
    """Also if records were lost, and if one task is read. Broken by: marks that are counted otherwise than
    the events that they belong to."""
    with lost_records(dropped):
        program = Program(steps)
    path = program.trace.save(tmp_path_factory.getbasetemp() / "all.dat")
    with funcgraph.open(path) as trace:
        if task and not any(one.name == "t1" for one in trace.tasks):
            return
        plain, where = (
            [(event.time_ns, event.kind, event.depth) for event in trace.events(select=selection)]
            for selection in (
                Selection(tasks=task, functions=("*",)),
                Selection(tasks=task, where="raised || !raised"),
            )
        )
    assert where == plain


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """m.a(x='1,a') { m.b(y=5) { m.c(x=b'1,b') raises } } and m.c() without values, twice."""
    trace = Trace([("m", "a", "", 1, 0, ["x"]), ("m", "b", "", 2, 0, ["y"]), ("m", "c", "", 3, 0, ["x"])])
    task = trace.task(69, "work")
    for start in (S, 2 * S):
        task.enter(start, 0, 0, args=values("1,a"))
        task.enter(start + 10, 1, 1, args=values(5))
        task.enter(start + 20, 2, 2, args=values(b"1,b"))
        task.leave(start + 1020, 2, 2, calltime=start + 20, result=values(None))
        task.leave(start + 1030, 1, 1, calltime=start + 10, result=values(0))
        task.leave(start + 1040, 0, 0, calltime=start, result=values(1))
        task.enter(start + 1050, 2, 0)
        task.leave(start + 1060, 2, 0, calltime=start + 1050)
    return trace.save(tmp_path / "trace.dat")


def names(path: Path, **selection: object) -> list[str]:
    with funcgraph.open(path) as trace:
        calls = trace.calls(select=Selection(**selection))  # type: ignore[arg-type]
        return [call.function.name if call.function else "" for call in calls]


def test_it_is_joined_with_the_other_choices(nested: Path) -> None:
    assert names(nested, where='x ~ "1,*"') == ["m.c", "m.a"] * 2
    assert names(nested, where='x ~ "1,*"', functions=("m.a",)) == ["m.a"] * 2
    assert names(nested, where='x ~ "1,*"', graph=("m.b",)) == ["m.c"] * 2
    assert names(nested, where='x ~ "1,*"', end="+0.5") == ["m.c", "m.a"]
    assert names(nested, where="duration >= 1.03") == ["m.a"] * 2
    assert names(nested, where="own > 0.5") == ["m.c"] * 2
    assert names(nested, where="y == 5", callers=1, below=True) == ["m.c", "m.b", "m.a"] * 2
    assert names(nested, where="x == None || common_pid == 70") == []
    with funcgraph.open(nested) as trace:
        found = answers.values(trace, "m.*", select=Selection(where="y == 5"))
        assert [one.function.name for one in found] == ["m.b"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"where": "z == 3"}, r"--where 'z == 3': Field not found \(Invalid argument\)\n  z == 3\n    \^\n"),
        ({"where": "x >"}, r"Invalid value .*\n  x >\n      \^"),
        ({"where": ""}, "a filter is needed"),
        ({"where": "CPU == 1"}, "a trace has no CPU"),
        ({"where": "raised.n"}, r"  raised.n\n         \^\nraised has no attributes\Z"),
        ({"where": "x.n.m == 1"}, r"  x.n.m == 1\n      \^\nattributes of attributes are not compared\Z"),
        ({"where": "x. == 1"}, r"Invalid operator"),
        ({"where": "raised", "callers": -1}, "--callers -1: must be 0 to"),
        ({"callers": 1}, "--callers N and --below need --where"),
        ({"below": True}, "--callers N and --below need --where"),
    ],
)
def test_a_bad_filter_is_refused_with_its_place(
    nested: Path, selection: dict[str, object], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        names(nested, **selection)


# ---- attributes

#: A recorded value -> what is known of it; None: nothing is.
ATTRIBUTES: dict[bytes, object] = {
    value(0): 0,
    value(2): 2,
    value("a"): "a",
    value("ab"): "ab",
    value(None): "None",
    deep("date", ("", value(1))): "date",  # an object is compared by its type's name
    b"\x16": None,  # redacted
    b"\x17": None,  # (fault)
}
OWNERS = {"cart": "cart", "ret": "ret", "result": "ret", "exc": "exc", "exception": "exc"}
INSTANCES = st.dictionaries(st.sampled_from(("user", "total", "n")), st.sampled_from(list(ATTRIBUTES)))
COMPARISONS: dict[str, Callable[[object], bool]] = {
    "== 2": lambda known: known == 2,
    "< 2": lambda known: known == 0,
    "!= 2": lambda known: known != 2,
    '== "a"': lambda known: known == "a",
    '~ "a*"': lambda known: known in ("a", "ab"),
    '== "date"': lambda known: known == "date",
    "== None": lambda known: known == "None",
}


class Valued(NamedTuple):
    """A call of m.f(cart, n) or m.g(n, cart): attributes of its cart, and of its result or exception."""

    is_g: bool
    cart: dict[str, bytes]
    outcome: dict[str, bytes]
    raises: bool

    def known(self, owner: str, attribute: str) -> object:
        instance = self.cart if owner == "cart" else self.outcome
        if owner != "cart" and self.raises != (owner == "exc"):
            return None
        return ATTRIBUTES.get(instance.get(attribute, b""))

    def names(self, owner: str) -> set[str] | None:
        """Return the attributes that a value has; None: the call has no such value."""
        if owner != "cart" and self.raises != (owner == "exc"):
            return None
        return set(self.cart if owner == "cart" else self.outcome)


VALUED = st.lists(st.builds(Valued, st.booleans(), INSTANCES, INSTANCES, st.booleans()), max_size=12)


def valued_trace(path: Path, calls: list[Valued]) -> Path:
    trace = Trace([("m", "f", "", 1, 0, ["cart", "n"]), ("m", "g", "", 2, 0, ["n", "cart"])])
    task = trace.task(69)
    for number, call in enumerate(calls):
        begin = S + 100 * number
        cart = deep("Cart", *call.cart.items())
        task.enter(begin, call.is_g, 0, args=value(1) + cart if call.is_g else cart + value(1))
        kind = RAISE if call.raises else 0
        result = deep("End", *call.outcome.items())
        task.leave(begin + 10, call.is_g, 0, calltime=begin, kind=kind, result=result)
    return trace.save(path)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(
    calls=VALUED,
    owner=st.sampled_from(list(OWNERS)),
    attribute=st.sampled_from(("user", "total", "n", "absent")),
    comparison=st.sampled_from(list(COMPARISONS)),
)
def test_attributes_are_compared_as_the_fields_that_they_are(
    tmp_path_factory: pytest.TempPathFactory,
    calls: list[Valued],
    owner: str,
    attribute: str,
    comparison: str,
) -> None:
    """Whatever place the owner has among the arguments. What is absent, or could not be read, is not known.
    An attribute that none of the values has is an error.
    Broken by: an attribute of another value of the call, or of one of the same beginning."""
    path = valued_trace(tmp_path_factory.getbasetemp() / "attributes.dat", calls)
    expected = [
        S + 100 * number
        for number, call in enumerate(calls)
        if COMPARISONS[comparison](call.known(OWNERS[owner], attribute))
    ]
    with funcgraph.open(path) as trace:
        select = Selection(where=f"{owner}.{attribute} {comparison}")
        there = [found for call in calls if (found := call.names(OWNERS[owner])) is not None]
        if there and not any(attribute in found for found in there):
            with pytest.raises(SelectionError, match=f"'{owner}' has an attribute '{attribute}'; "):
                list(trace.events(select=select))
            return
        assert [event.time_ns for event in trace.events(select=select) if event.kind == "entry"] == expected


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(calls=VALUED)
def test_filters_have_the_names_by_which_values_groups_calls(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Valued]
) -> None:
    """A filter chooses as many calls as have the value in its group."""
    path = valued_trace(tmp_path_factory.getbasetemp() / "names.dat", calls)
    with funcgraph.open(path) as trace:
        for found in answers.values(trace, "m.*") if calls else ():
            for field in found.fields:
                for group in field.groups if "." in field.name and not field.by_size else ():
                    if group.text in ("0", "2", "'a'", "'ab'", "None"):
                        select = Selection(
                            functions=(found.function.name,), where=f"{field.name} == {group.text}"
                        )
                        assert len(list(trace.calls(select=select))) == group.calls


def test_outcomes_have_two_names_in_answers_and_filters(tmp_path: Path) -> None:
    call = Valued(False, {"user": value(2)}, {"total": value(2)}, False)
    with funcgraph.open(valued_trace(tmp_path / "t.dat", [call])) as trace:
        (found,) = answers.values(trace, "m.f")
        assert found.field("ret.total") is found.field("result.total") is not None
        assert found.field("ret") is found.field("result") is not None
        assert found.field("exc.total") is found.field("ret.user") is None
    own = Trace([("m", "h", "", 1, 0, ["result"])])
    task = own.task(69)
    task.enter(S, 0, 0, args=value(1))
    task.leave(S + 10, 0, 0, calltime=S, result=value(2))
    path = own.save(tmp_path / "own.dat")
    assert names(path, where="result == 1 && ret == 2") == ["m.h"]  # an argument goes first


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("cart.usr == 1", "'cart' has an attribute 'usr'; there are: total, user; did you mean 'user'?"),
        ("ret.totl == 1", "'ret' has an attribute 'totl'; there are: total; did you mean 'total'?"),
        ("cart.user == 1 || ret.x == 1", "'ret' has an attribute 'x'; there are: total"),
        ("n.real == 1", "'n' has an attribute 'real'; none has any"),
    ],
)
def test_an_attribute_that_no_recorded_value_has_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, message: str
) -> None:
    """In Python and on the command line. Broken: a misspelt name chose nothing, in silence."""
    calls = [
        Valued(False, {"total": value(2)}, {"total": value(2)}, False),
        Valued(True, {"user": value(1)}, {}, True),
    ]
    path = valued_trace(tmp_path / "t.dat", calls)
    text = f"--where '{where}': no recorded value of {message}"
    with funcgraph.open(path) as trace:
        for read in (trace.events, trace.calls, trace.columns, trace.call_columns):
            with pytest.raises(SelectionError) as caught:
                list(read(select=Selection(where=where)))
            assert str(caught.value) == text
        with pytest.raises(SelectionError):
            answers.values(trace, "m.f", select=Selection(where=where))
    for command in ("report", "summary", "repeat", "exceptions"):
        assert cli.main([command, "--where", where, str(path)]) == 2
        assert capsys.readouterr() == ("", f"funcgraph: {path}: {text}\n")


def test_an_attribute_that_one_value_has_or_could_have_is_no_error(tmp_path: Path) -> None:
    """Of several functions one has it; or no call has such a value."""
    one = Valued(False, {"total": value(2)}, {"total": value(2)}, False)
    path = valued_trace(tmp_path / "t.dat", [one, Valued(True, {"user": value(1)}, {}, False)])
    assert names(path, where="cart.user == 1") == ["m.g"]
    assert names(path, where="exc.code == 1") == []
    assert names(path, functions=("m.g",), where="cart.user == 2") == []


def test_a_filter_has_at_most_32_attributes(tmp_path: Path) -> None:
    call = Valued(False, {f"a{n}": value(n) for n in range(33)}, {}, False)
    path = valued_trace(tmp_path / "t.dat", [call])
    terms = [f"cart.a{n} == {n}" for n in range(33)]
    assert names(path, where=" && ".join([*terms[:32], *terms[:32]])) == ["m.f"]
    with pytest.raises(SelectionError, match="more than 32 attributes"):
        names(path, where=" && ".join(terms))
    with funcgraph.open(path) as trace:
        reading = trace.reading(Selection(where="cart.a1 == 1"))
        assert reading.selection is not None
        *others, (marks, made, callers, below, check) = reading.selection
        for attributes in ([(0, b"a")] * 33, [(-3, b"a")], [(0, b"a" * 256)]):
            selection = (*others, (marks, [(*made[0][:2], attributes)], callers, below, check))
            with pytest.raises(ValueError, match="attribute"):
                reading.reader.columns(reading.tasks, True, 9, selection)


PROGRAM = """
def price(sku, amount):
    if sku == "bad":
        raise ValueError(sku)
    return len(sku) * amount

def total(order):
    return sum(map(price, order, range(len(order))))  # before CPython 3.12 a comprehension is a call

def query(sql):
    return total(["2"])

total(["1,a", "2,b", "1,zz"])
try:
    total(["bad"])
except ValueError:
    pass
query("SELECT " + "x" * 100 + " FROM needle")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("where")
    (folder / "shop.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-l", "__main__.*"]
    for name, flags in (("full.fg", ["--args", "--retval", "--values", "1"]), ("bare.fg", [])):
        subprocess.run([*command, "-o", name, *flags, "shop.py"], cwd=folder, check=True, capture_output=True)
    return folder


def report(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    flags = ["--no-pager", "-O", "nofuncgraph-duration", "-O", "nofuncgraph-overhead"]
    status = cli.main(["report", *flags, *words])
    out, err = capfd.readouterr()
    assert (status == 0) == (not err)
    return [line.strip() for line in out.splitlines() if not line.startswith("#")], err


def test_a_report_of_a_real_program_shows_these_calls_alone(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = str(recorded / "full.fg")
    price = "__main__.price(sku='1,a', amount=0); /* ret=0 */"
    assert report(capfd, trace, "--where", 'ret == 0 && sku ~ "1,*"')[0] == [price]
    lines = report(capfd, trace, "--where", 'sku == "1,a"', "--callers", "1")[0]
    order = "['1,a', '2,b', '1,zz']" if HAS_GIL else "list(3)"
    assert lines == [f"__main__.total(order={order}) {{", price, "} /* __main__.total ret=11 */"]
    assert len(report(capfd, trace, "--where", 'exc == "ValueError"')[0]) == 3
    below = report(capfd, trace, "--where", 'sql ~ "*needle"', "--below")[0]
    assert [line.split("(")[0] for line in below][:3] == [
        "__main__.query",
        "__main__.total",
        "__main__.price",
    ]
    status = cli.main(["summary", trace, "--where", "raised"])
    assert status == 0 and "__main__.price" in capfd.readouterr().out


def test_what_was_not_recorded_is_said_with_its_flag(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = str(recorded / "bare.fg")
    assert len(report(capfd, trace, "--where", "raised")[0]) == 3
    for text, flag in (
        ('sku ~ "1"', "--args"),
        ("ret == 0", "--retval"),
        ("sku.size == 0", "--args --values 1"),
        ("result.size == 0", "--retval --values 1"),
    ):
        assert (
            f"are not recorded: funcgraph record {flag} shop.py" in report(capfd, trace, "--where", text)[1]
        )
