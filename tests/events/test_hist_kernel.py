"""Histogram triggers are accepted and refused as the kernel does it: each write of its recorded sessions.

The carets are the kernel's, or point at the same word in a later place, or at the place that the kernel does
not know (its caret is then at the start of the command)."""

from __future__ import annotations

import re

import pytest

from funcgraph.events import hist
from funcgraph.events.hist_error import HistError
from tests.events.hist_replay import DATA, EVENTS, SESSIONS, Registry, Replayed, replay

pytestmark = pytest.mark.one_python

_MORE_VALUES = "there may be 8 values, and hitcount"
_FILTER = "the filter's text is parsed by funcgraph.events.filter"

#: Where the answer differs, and why. Each is in docs/reference/events-hist.md, or is not the histogram's.
DIFFERENT = {
    "hist_errors:42": "there may be 8 keys",
    "hist_errors:91": _MORE_VALUES,
    "hist_misc:52": _MORE_VALUES,
    "hist_modifiers:103": _MORE_VALUES,
    "hist_errors_sort_vars:55": _FILTER,
    "hist_errors_sort_vars:61": _FILTER,
    "hist_errors_sort_vars:67": _FILTER,
    "hist_misc:161": "int and pid_t are one type",
    "hist_wakeup:142": "a text has no fixed size",
    "hist_vars2:61": "the kernel refuses an array without a word",
    "hist_actions_part2:10": "the kernel looks at what is left of the trigger that it refused just before",
}

#: How each of these reads back in 7.2, and how it should.
_KERNEL_BUGS = {"common_cpucommon_cpu": "common_cpu", "common_cpucpu": "cpu"}

WRITES = [step for session in SESSIONS for step in replay(session)]


def test_all_writes_of_the_sessions_are_there() -> None:
    assert len(WRITES) == 372
    assert DIFFERENT.keys() <= {step.write.place for step in WRITES}
    refused = [step for step in WRITES if step.write.kernel.entries]
    assert len(refused) > 90


def is_better(command: str, kernel: int, ours: int) -> bool:
    """Return whether our caret is right where the kernel's is at the first place of the word, or unknown."""
    if kernel == 0:
        return 0 < ours <= len(command)
    word = re.match(r"[\w$]+", command[ours:])
    return kernel < ours and word is not None and command.find(word[0]) == kernel


@pytest.mark.parametrize("step", WRITES, ids=lambda step: step.write.place)
def test_each_write_is_answered_as_the_kernel_answers_it(step: Replayed) -> None:
    write, ours = step.write, step.ours
    if write.place in DIFFERENT:
        assert ours != write.kernel or (step.spec and step.spec.info()) != write.info
        return
    assert ours.number == write.kernel.number
    if write.has_log:
        assert [entry[:2] for entry in ours.entries] == [entry[:2] for entry in write.kernel.entries]
        for (*_, caret), (*_, kernel_caret) in zip(ours.entries, write.kernel.entries, strict=True):
            assert caret == kernel_caret or is_better(write.command, kernel_caret, caret)
    if write.info:
        assert step.spec is not None
        expected = write.info
        for bug, right in _KERNEL_BUGS.items():
            expected = expected.replace(bug, right)
        assert step.spec.info() == expected


def test_what_reads_back_is_the_same_trigger() -> None:
    for step in WRITES:
        spec, fields = step.spec, EVENTS.get(step.write.event)
        if spec is None or fields is None or spec.actions or "$" in spec.text:
            continue
        again = hist.parse(spec.text, *step.write.event, fields, Registry())
        assert again == spec._replace(control="")


_LOGGED = re.compile(
    r"^\[ *[\d.]+\] hist:(\w+):(\w+): error: (.*)\n  Command: (hist.*)\n  ( *)\^$", re.MULTILINE
)


def test_errors_that_were_logged_later_are_ours_too() -> None:
    """The log of hist_vars, which was printed after the last of its refusals."""
    text = (DATA / "hist_vars_part2.txt").read_text()
    logged = _LOGGED.findall(text)
    assert len(logged) == 9
    registry = Registry()
    registry.write("hist:keys=common_pid:a=count*2", ("syscalls", "sys_enter_read"))
    for system, event, message, command, caret in logged:
        if "nonexistent" in message:
            continue  # one of the writes above
        with pytest.raises(HistError) as refused:
            hist.parse(command, system, event, EVENTS[system, event], registry)
        assert refused.value.message == message
        kernel_caret = len(caret) - len("Command: ")
        assert refused.value.caret == kernel_caret or is_better(command, kernel_caret, refused.value.caret)


def read_backs() -> list[tuple[str, str, str]]:
    """Return the expressions of hist_vars: what was written, what read back, and the value."""
    text = (DATA / "hist_vars.txt").read_text()
    found = re.findall(r"^a=(\S+)  (?:reads back :a=(\S+)  value: max: +(\d+)|-1 EINVAL)", text, re.MULTILINE)
    assert len(found) == 28
    return found


@pytest.mark.parametrize(("written", "back", "value"), read_backs())
def test_expressions_read_back(written: str, back: str, value: str) -> None:
    del value  # tests/events/test_hist_engine.py
    fields = EVENTS["syscalls", "sys_enter_read"]
    command = f"hist:keys=common_pid:a={written}"
    if not back:
        with pytest.raises(HistError) as refused:
            hist.parse(command, "syscalls", "sys_enter_read", fields)
        assert refused.value.errno == 22
        return
    spec = hist.parse(command, "syscalls", "sys_enter_read", fields)
    assert [variable.text for variable in spec.variables] == [f"a={back}"]


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        ("1+2+3+4+5", "1+"),
        ("count-fd-fd-fd-fd", "count-"),
        ("fd+count*2*3*4*5", "count*2"),
        ("count*2+fd*3+fd", "fd*3"),
        ("-(count-fd-fd-fd)", "count-"),
        ("fd+count*2*3*4", "count*2"),
        ("fd+count*2*3", ""),
        ("-(count-fd-fd)", ""),
    ],
)
def test_the_operand_that_is_too_deep_is_named(expression: str, at: str) -> None:
    """The kernel's parse_expr() goes down the left side first, and -() counts."""
    command = f"hist:keys=common_pid:a={expression}"
    fields = EVENTS["syscalls", "sys_enter_read"]
    if not at:
        hist.parse(command, "syscalls", "sys_enter_read", fields)
        return
    with pytest.raises(HistError, match="Too many subexpressions") as refused:
        hist.parse(command, "syscalls", "sys_enter_read", fields)
    assert refused.value.caret == command.index(at)


def test_what_follows_a_minus_with_parentheses_is_refused() -> None:
    """The caret is where the kernel's is: its selftest trigger-hist-expressions.tc."""
    command = "hist:keys=common_pid:a=-(1)+2"
    with pytest.raises(HistError, match="Unary minus not supported in sub-expressions") as refused:
        hist.parse(command, "syscalls", "sys_enter_read", EVENTS["syscalls", "sys_enter_read"])
    assert refused.value.caret == command.index("1)")
