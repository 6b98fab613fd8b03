"""Sessions with histograms' actions, variables of other events and named tables that a kernel ran, run again
with the engine: what is accepted, what is refused and how, what each file and the trace then hold."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import funcgraph
from tests.events.session import Shell, Step, same, steps

#: Steps whose answer differs, and why.
DIFFERENT = {
    "synthetic:163": "all are deleted or none; the kernel deletes until it comes to one in use",
    "hist_actions_part2:10": "the kernel looks at what is left of the trigger that it refused just before",
}

#: Files that an instance does not have, or that have other events in them.
_NOT_THERE = ("/format", "set_event", "show_event", "events/synthetic/enable")


@pytest.fixture
def shell() -> Iterator[Shell]:
    with funcgraph.Instance("session") as instance:
        yield Shell(instance)
    funcgraph.dynamic_events.clear()
    funcgraph.dynamic_events.log.clear()


def check(shell: Shell, session: list[Step]) -> int:
    """Run the steps; return how many of them have been compared."""
    compared = 0
    for step in session:
        if any(file in step.command for file in _NOT_THERE):
            continue
        ours = shell.run(step.command)
        if ours is None or step.place in DIFFERENT:
            continue
        assert same(ours, list(step.printed)), (step.place, step.command, ours, step.printed)
        compared += 1
    return compared


def test_actions(shell: Shell) -> None:
    session = list(steps("hist_actions"))
    assert check(shell, session) > 40


def test_variables_of_another_event(shell: Shell) -> None:
    sections = "a variable of another event, by key", "a variable is read once", "the variable is in use"
    session = [step for step in steps("hist_vars") if step.section.startswith(sections)]
    assert check(shell, session) > 12


def test_variables_with_the_same_name(shell: Shell) -> None:
    section = "a variable of the same name on two events"
    assert check(shell, [step for step in steps("hist_vars2") if step.section.startswith(section)]) == 8


def test_the_wakeup_latency_example(shell: Shell) -> None:
    session = [step for step in steps("hist_wakeup") if step.section == "the wakeup latency example whole"]
    session = [step for step in session if "wakeup_latency/hist" not in step.command]
    assert check(shell, session) > 8


def test_deletion_in_the_wrong_order(shell: Shell) -> None:
    example, deletion = "the wakeup latency example whole", "deletion in the wrong order"
    session = [step for step in steps("hist_wakeup") if step.section in (example, deletion)]
    writes = [step for step in session if step.section == deletion or step.command.startswith("echo")]
    assert check(shell, writes) > 12


def test_a_table_with_a_name(shell: Shell) -> None:
    assert check(shell, list(steps("hist_named"))) > 25


def test_definitions(shell: Shell) -> None:
    session = [step for step in steps("synthetic") if not step.section.startswith("format")]
    at = next(place for place, step in enumerate(session) if step.section == "redefinition")
    compared = check(shell, session[:at])
    for step in session[:at]:  # without showing it, the session defines them again
        if re.match(r"echo 'e[13468] ", step.command) and not step.printed:
            shell.run(step.command)
    assert compared + check(shell, session[at:]) > 30
