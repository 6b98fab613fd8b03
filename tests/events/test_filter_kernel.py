"""A filter that the kernel refused is refused with its message, error number and caret.

One that it accepted is accepted, and lets as many events pass.

The folder data has what a Linux kernel (7.2) printed.
"""

from __future__ import annotations

import errno
import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from event_image import Field, Image
from filter_capture import EVENTS, Row, long_rows, rows
from filter_engine import Engine

from funcgraph.events.filter import Fields, FilterError, clears, parse, parse_for_each

pytestmark = pytest.mark.one_python

#: The functions of the kernel's texts.
FUNCTIONS = {"hrtimer_wakeup": 1, "tick_nohz_handler": 2, "load_elf_phdrs": 3, "load_elf_binary": 4}

#: Filters whose outcome is another one here, and why.
OTHERWISE = {
    **dict.fromkeys(
        (
            "cpumask & CPUS{1}",
            "cpumask == CPUS{0-1}",
            "cpumask != CPUS{0}",
            "cpumask & 1",
            "cpumask > CPUS{0}",
        ),
        "no field here is a set of processors",
    ),
    **dict.fromkeys(
        ("hrtimer.function == hrtimer_wakeup", "now.function == hrtimer_wakeup"),
        "a function is what a symbol is; addresses of functions in numbers are the kernel's",
    ),
    **dict.fromkeys(
        ("pid == 1 && ", "pid == 1 &&", "pid == 1 ||"),
        "later kernels refuse what ends with an operator: their selftest event-filter-incomplete.tc",
    ),
    'comm ~ "*abc"': "the kernel never finds the end of a text in an array of characters; we do",
    **dict.fromkeys(
        ('filename ~ "/tmp*"', 'filename == "/etc"'),
        "the kernel takes a pointer into the program for one of its own; a text is a text here",
    ),
}

ROWS = rows()
REFUSED = [row for row in ROWS if row.message and row.text not in OTHERWISE]
ACCEPTED = [row for row in ROWS if not row.message and row.text not in OTHERWISE]


def fields_of(event: str) -> Fields:
    return Fields(
        EVENTS[event], functions=lambda name: [FUNCTIONS[name]] if name in FUNCTIONS else [], processors=2
    )


def test_the_texts_are_read_whole() -> None:
    assert (len(REFUSED), len(ACCEPTED)) == (98, 65)
    assert {row.text for row in ROWS} >= OTHERWISE.keys()
    assert {row.event for row in ROWS} == EVENTS.keys()


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row.where} {row.text[:40]}")
def test_what_the_kernel_refused_is_refused_in_its_words(row: Row) -> None:
    with pytest.raises(FilterError) as caught:
        parse(row.text, fields_of(row.event))
    error = caught.value
    assert (error.message, error.caret, error.command) == (row.message, row.caret, row.text)
    assert not row.errno or errno.errorcode[error.errno] == row.errno
    assert error.component == "event filter parse error"


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: f"{row.where} {row.text[:40]}")
def test_what_the_kernel_accepted_is_accepted(row: Row) -> None:
    if clears(row.text):
        assert row.text == "0"
    else:
        assert parse(row.text, fields_of(row.event)).text == row.text.rstrip(" ")


@pytest.mark.parametrize("row", long_rows(), ids=lambda row: f"{row.text[:30]}, {len(row.text)}")
def test_limits_are_the_kernels(row: Any) -> None:
    fields = fields_of("sched_waking")
    if not row.refused:
        parse(row.text, fields)
        return
    with pytest.raises(FilterError) as caught:
        parse(row.text, fields)
    assert caught.value.errno == errno.EINVAL
    assert caught.value.message == (row.message or "Filter too long")
    assert bool(caught.value.component) == bool(row.message)  # error_log


# ---- which events pass


def _task(name: str) -> dict[str, Any]:
    return {"comm": name.encode().ljust(16, b"\0"), "pid": 9, "prio": 120, "group_dead": 1, "target_cpu": 0}


#: What the programs of the texts did: the thread's name and the fields of each event.
ACTIVITY: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "sys_enter_read": [
        ("work", {"fd": 3, "buf": 0x4A9300, "count": count})
        for count, times in ((64, 3), (1000, 2), (4096, 4))
        for _ in range(times)
    ],
    "sched_process_exit": [(name, _task(name)) for name in ("abcdef", "abc", "xabc")],
    "sys_enter_openat": [
        ("work", {"dfd": 4294967196, "filename": name, "flags": 0}) for name in ("/etc", "/tmp", "/tmp/none")
    ],
}
#: How many others there were of these depends on the machine.
FUNCTION_EVENTS = [("idle", {"hrtimer": 1, "now": 5, "function": number}) for number in (1, 1, 2)]
COUNTED = [row for row in ROWS if row.events is not None and row.event in ACTIVITY]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("filter"))


def passing(
    engine: Engine, text: str, event: str, activity: Sequence[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    program = parse(text, fields_of(event)).program
    found = []
    for name, values in activity:
        engine.name_task(name)
        if engine.matches(program, Image(EVENTS[event], values)):
            found.append(values)
    engine.name_task(None)
    return found


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: f"{row.where} {row.text[:40]}")
def test_as_many_events_pass_as_in_the_kernel(engine: Engine, row: Row) -> None:
    found = len(passing(engine, row.text, row.event, ACTIVITY[row.event]))
    if row.text in OTHERWISE:
        assert row.events == 0 and found > 0
    else:
        assert found == row.events


def test_events_are_counted_for_most_filters() -> None:
    """Broken by: a form of the texts that is no longer read."""
    assert Counter(row.event for row in COUNTED) >= Counter(
        {"sys_enter_read": 25, "sched_process_exit": 14, "sys_enter_openat": 5}
    )


def test_a_function_is_found_by_its_name(engine: Engine) -> None:
    def numbers(text: str) -> list[int]:
        found = passing(engine, text, "hrtimer_expire_entry", FUNCTION_EVENTS)
        return [values["function"] for values in found]

    assert numbers("function.function == hrtimer_wakeup") == [1, 1]
    assert numbers("function.function != hrtimer_wakeup") == [2]
    assert numbers("(function.function == tick_nohz_handler) && now == 5") == [2]


# ---- where ours differs, or is written otherwise


@pytest.mark.parametrize(
    ("written", "reads"),
    [
        ("pid == 1\n", "pid == 1"),
        ("pid\t==\t2\n", "pid\t==\t2"),
        ("  pid   ==   1   &&   prio==2  \n", "  pid   ==   1   &&   prio==2"),
        ("\npid == 1", "pid == 1"),
    ],
)
def test_it_reads_back_as_written_but_for_the_blanks_at_its_end(written: str, reads: str) -> None:
    assert parse(written, fields_of("sched_waking")).text == reads


def test_only_0_clears() -> None:
    assert clears("0") and clears(" 0\n")
    assert not any(clears(text) for text in ("", "00", "none", "0x0", "pid == 0"))


def test_a_systems_filter_is_set_where_its_fields_are() -> None:
    events = {name: fields_of(name) for name in ("sched_waking", "sched_switch", "sched_process_exit")}
    assert parse_for_each("next_pid > 3", events).keys() == {"sched_switch"}
    assert parse_for_each("pid > 7", events).keys() == {"sched_waking", "sched_process_exit"}
    assert parse_for_each("common_pid != 0", events).keys() == events.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nosuch == 1", "Field not found"),
        ("pid ~ 5", "Illegal operation for field type"),
        ("(pid == 1", "Too many '('"),
        ("", "Error"),
        ("none", "Field not found"),
    ],
)
def test_a_systems_filter_that_fits_no_event_is_refused(text: str, message: str) -> None:
    events = {name: fields_of(name) for name in ("sched_switch", "sched_waking")}
    with pytest.raises(FilterError) as caught:
        parse_for_each(text, events)
    assert caught.value.message == message
    with pytest.raises(FilterError):
        parse_for_each(text, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count == 00000000000000000000017", ""),  # 23 characters
        ("count == 000000000000000000000017", "Operand too long"),
        ("count == 0", ""),
        ("count == -0", "Illegal integer value"),
        ("count == 18446744073709551615", ""),
        ("count == 18446744073709551616", "Illegal integer value"),
        ("cpu == -0x8000000000000000", ""),
        ("cpu == 9223372036854775808", "Illegal integer value"),
        ("count == 08", "Illegal integer value"),
        ("count == 0x", "Illegal integer value"),
        ("count == 0b1", "Illegal integer value"),
        ("cpu & CPUS{1}", ""),
        ("cpu & CPUS{2}", "Invalid cpulist"),
        ("cpu & CPUS{1-0}", "Invalid cpulist"),
        ("cpu & CPUS{0-1:1/0}", "Invalid cpulist"),
        ("cpu & CPUS{0,}", ""),
        ("count != = 3", "Invalid value (did you forget quotes)?"),
        ("!= 3", "Error"),
        ("~ 3", "Error"),
        ("!~ 3", "Error"),
        ("count == 1 && !", "No filter found"),
        ("count == 1 || !!", "No filter found"),
        ("count == 1 && ! ", "No filter found"),
        ("count == 1 &&", "No filter found"),
        ("count == 1 ||", "No filter found"),
        ("count == 1 && count == 2 ||", "No filter found"),
        ("!(count == 1 || count == 2) && ", "No filter found"),
    ],
)
def test_edges_of_numbers_and_processors(text: str, message: str) -> None:
    """Known of the kernel, but in no text."""
    if not message:
        parse(text, fields_of("sys_enter_read"))
        return
    with pytest.raises(FilterError) as caught:
        parse(text, fields_of("sys_enter_read"))
    assert caught.value.message == message


def test_a_field_of_the_event_goes_before_one_that_every_event_has() -> None:
    fields = Fields([Field("comm", "s32"), Field("CPU", "string")])
    parse('comm == 3 && CPU ~ "x*" && COMM == "a" && cpu == 1', fields)


def test_an_error_can_be_pickled() -> None:
    """Broken by: an __init__ that does not take the exception's own arguments."""
    with pytest.raises(FilterError) as caught:
        parse("pid == x", fields_of("sched_waking"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value) and str(again) == str(caught.value)


def test_an_error_shows_where() -> None:
    with pytest.raises(ValueError) as caught:
        parse("pid == 1 && nosuch == 2", fields_of("sched_waking"))
    assert str(caught.value).splitlines() == [
        "Field not found (Invalid argument)",
        "  pid == 1 && nosuch == 2",
        "                     ^",
        "fields: comm, pid, prio, target_cpu",
    ]
