"""Triggers and function commands: what a kernel printed, replayed; and what they do in a program."""

from __future__ import annotations

import contextlib
import errno
import re
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernel_shell
import pytest
from kernel_shell import Shell, lines_of
from replayed import LEFT_OUT, LINES_LEFT_OUT

import funcgraph
from funcgraph.events.trigger import TriggerError

events = funcgraph.dynamic_events
HERE = __name__
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert len(events) == 0 and funcgraph.users() == []


@pytest.fixture
def shell(one: funcgraph.Instance) -> Shell:
    kernel_shell.begin()
    return Shell(one)


# ---- the kernel's transcripts


def replay(shell: Shell, name: str) -> int:
    """Return how many outputs were compared."""
    for line in lines_of(name):
        if not line.is_shell or any(line.section.startswith(section) for section in LEFT_OUT):
            continue
        if (name, line.number) not in LINES_LEFT_OUT:
            shell.run(line)
    return shell.compared


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("triggers.txt", 20),
        ("triggers_errors.txt", 4),
        ("triggers_lifetime.txt", 5),
        ("function_commands.txt", 10),
    ],
)
def test_files_read_back_and_refuse_as_the_kernels(shell: Shell, name: str, least: int) -> None:
    assert replay(shell, name) >= least


@pytest.mark.one_python
def test_wrong_and_strange_triggers_are_taken_as_in_the_kernel(shell: Shell) -> None:
    file = "events/sched/sched_pi_setprio/trigger"
    seen = 0
    for line in lines_of("triggers_errors_part2.txt"):
        if line.is_shell or not line.text.strip():
            continue
        number = shell.write(file, line.text, True)
        assert number == line.errno or line.printed[0].startswith("-1"), line.text
        if not number:
            back = line.printed[0].partition("reads back: ")[2]
            assert shell.instance.files[file] == f"{back}\n", line.text
            assert shell.write(file, f"!{line.text.strip()}", True) == 0
        seen += 1
    assert seen > 30
    with pytest.raises(TriggerError) as caught:
        shell.instance.events["sched/sched_pi_setprio"].trigger = "!traceoff"
    assert caught.value.errno == errno.ENOENT  # the file accepts it, as the kernel's


@pytest.mark.one_python
def test_wrong_function_commands_are_refused_as_in_the_kernel(shell: Shell) -> None:
    seen = 0
    for line in lines_of("function_commands.txt"):
        if line.is_shell or ":mod:" in line.text:
            continue
        assert shell.write("set_ftrace_filter", line.text, True) == line.errno, line.text
        if not line.errno:
            back = [text.strip() for text in line.printed if text.startswith("    ")]
            assert kernel_shell.theirs(shell.instance.files["set_ftrace_filter"]).splitlines() == back
            for command in list(shell.instance.function_commands):
                count = "" if command.left == -1 else ":0"
                shell.instance.function_commands.remove(f"{command.function}:{command.command}{count}")
            shell.instance.set_ftrace_filter = ()
        seen += 1
    assert seen > 12
    assert shell.write("set_ftrace_notrace", "vfs_rmdir:traceoff", True) == errno.EINVAL


# ---- in a program


class RefusedError(Exception):
    pass


def retry(n: int) -> int:
    return step(n)


def step(n: int) -> int:
    return n


def fail(n: int) -> None:
    step(n)
    raise RefusedError(n)


def define(definition: str) -> str:
    made = events.define(definition.replace("HERE", HERE))
    return f"{made.group}/{made.event}"


def calls_in(text: str) -> list[str]:
    return re.findall(rf"{HERE}\.(\w+)\(\)", text)


def test_trace_from_the_third_retry_and_keep_what_led_to_an_exception(one: funcgraph.Instance) -> None:
    one.set_ftrace_filter = f"{HERE}.*"
    one.current_tracer = "function_graph"
    one.tracing_on = False
    called, raised = define("f:app/retry HERE.retry n"), define("f:app/raise HERE.fail%return $exc:object")
    one.events[called].trigger = "traceon:1 if n == 3"
    one.events[raised].trigger = "snapshot:1"
    for n in range(1, 6):
        retry(n)
    with pytest.raises(RefusedError):
        fail(1)
    retry(7)
    with pytest.raises(RefusedError):
        fail(2)
    kept = one.files["snapshot"]
    # The third retry began before the trace did; the call that raises has not ended yet.
    assert calls_in(kept) == ["step", "retry", "step", "retry", "step", "fail", "step"]
    assert calls_in(one.trace())[:2] == ["retry", "step"] and "raised" in one.trace()
    assert one.files[f"events/{raised}/trigger"] == "snapshot:count=0\n"


def test_a_snapshot_has_the_hit_and_the_trace_what_follows(one: funcgraph.Instance) -> None:
    event = one.events[define("f:app/step HERE.step n")]
    event.enable = True
    event.trigger = "snapshot if n == 2"
    for n in (1, 2, 3):
        step(n)
    assert re.findall(r" n=(\d)", one.files["snapshot"]) == ["1", "2"]
    assert re.findall(r" n=(\d)", one.trace()) == ["3"]
    step(2)
    assert re.findall(r" n=(\d)", one.files["snapshot"]) == ["3", "2"]
    one.current_tracer = "function"
    assert re.findall(r" n=(\d)", one.files["snapshot"]) == ["3", "2"]
    one.files["snapshot"] = "0"
    step(2)
    assert "* Snapshot is freed *" in one.files["snapshot"]


def numbers_in(text: str) -> list[str]:
    return re.findall(r" n=(\d)", text)


def swaps_of(one: funcgraph.Instance, take: Callable[[], object]) -> list[tuple[list[str], list[str]]]:
    """Return what snapshot and trace have after each of three snapshots, taken while tracing is off."""
    event = one.events[define("f:app/stepped HERE.step n")]
    event.enable = True
    step(1)
    step(2)
    one.tracing_on = False
    seen = []
    for _ in range(3):
        take()
        seen.append((numbers_in(one.files["snapshot"]), numbers_in(one.trace())))
    return seen


SWAPPED = [(["1", "2"], []), ([], ["1", "2"]), (["1", "2"], [])]


def test_snapshots_after_traceoff_swap_back_and_lose_nothing(one: funcgraph.Instance) -> None:
    one.events[define("f:app/retried HERE.retry n")].trigger = "snapshot"
    assert swaps_of(one, lambda: retry(7)) == SWAPPED


def test_commands_take_snapshots_after_traceoff_as_triggers_do(one: funcgraph.Instance) -> None:
    one.function_commands.add(f"{HERE}.retry:snapshot")
    assert swaps_of(one, lambda: retry(7)) == SWAPPED


def test_the_file_snapshot_swaps_back_while_tracing_is_off(one: funcgraph.Instance) -> None:
    assert swaps_of(one, lambda: one.files.write("snapshot", "1")) == SWAPPED


def test_traceoff_and_snapshot_at_the_same_hits_keep_what_led_to_them(one: funcgraph.Instance) -> None:
    event = one.events[define("f:app/stepped HERE.step n")]
    event.enable = True
    event.trigger = "snapshot if n == 3"
    event.trigger = "traceoff if n == 3"
    for n in (1, 2, 3, 4, 3, 5, 3):
        step(n)
    assert numbers_in(one.files["snapshot"]) == ["1", "2", "3"]


def first_example_of(document: str) -> str:
    """Return the first block of code that the document has."""
    text = (ROOT / "docs" / document).read_text()
    found = re.search(r"(?:^    .*\n)+", text, re.MULTILINE)
    assert found
    return textwrap.dedent(found[0])


def test_the_first_example_of_the_document_ends_with_what_led_to_the_exception(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
        def retry(n): return n
        def pay(n):
            if n == 4:
                raise ValueError(n)
    """
    shop = types.ModuleType("shop")
    exec(compile(textwrap.dedent(source), "shop.py", "exec"), vars(shop))
    monkeypatch.setitem(sys.modules, "shop", shop)

    def serve() -> None:
        for n in range(7):
            shop.retry(n)
            with contextlib.suppress(ValueError):
                shop.pay(n)

    exec(first_example_of("reference/events-triggers.md"), {"funcgraph": funcgraph, "serve": serve})
    kept = re.findall(r"shop\.(\w+)", capsys.readouterr().out)
    assert [name for name in kept if name in ("retry", "pay")] == ["retry", "pay", "retry", "pay"]


def test_no_record_is_lost_around_a_snapshot_of_another_thread(one: funcgraph.Instance) -> None:
    one.buffer_size_kb = 16 << 10
    event = one.events[define("f:app/step HERE.step n")]
    event.enable = True
    event.trigger = "snapshot:1 if n == 9999"

    def work(first: int) -> None:
        for n in range(first, first + 3000):
            step(n)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 12_000, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [re.findall(r" n=(\d+)", text) for text in (one.files["snapshot"], one.trace())]
    assert "9999" in found[0] and "0" in found[0]
    assert sorted(int(n) for n in found[0] + found[1]) == list(range(12_000))


def test_a_stack_names_the_functions_in_progress(one: funcgraph.Instance) -> None:
    event = one.events[define("f:app/step HERE.step n")]
    event.trigger = "stacktrace:2"
    for _ in range(3):
        retry(1)
    stacks = re.findall(rf"<stack trace>\n => {HERE}\.step\n => {HERE}\.retry\n", one.trace())
    assert len(stacks) == 2 and event.trigger == "stacktrace:count=0\n"
    one.set_ftrace_filter = f"{HERE}.retry"
    one.current_tracer = "function_graph"
    event.trigger = "!stacktrace"
    event.trigger = "stacktrace"
    retry(1)
    assert re.search(rf"/\* <stack trace>\n => {HERE}\.step\n => {HERE}\.retry\n", one.trace())


def test_the_option_stacktrace_adds_one_to_each_event(one: funcgraph.Instance) -> None:
    for event in define("f:app/step HERE.step n"), define("f:app/retry HERE.retry n"):
        one.events[event].enable = True
    one.files["options/stacktrace"] = "1"
    retry(1)
    one.files["trace_options"] = "nostacktrace"
    retry(1)
    stacks = re.findall(r": (\w+): .*\n.*: <stack trace>\n => (\S+)\n", one.trace())
    assert stacks == [("retry", f"{HERE}.retry"), ("step", f"{HERE}.step")]
    assert one.trace().count(": step: ") == 2


def test_a_stack_is_in_a_trace_dat(one: funcgraph.Instance, tmp_path: Any) -> None:
    one.events[define("f:app/step HERE.step n")].trigger = "stacktrace"
    retry(1)
    one.save(tmp_path / "t.dat")
    with funcgraph.open(tmp_path / "t.dat") as trace:
        assert [event.kind for event in trace.events()] == ["stack"]


def test_an_event_that_fired_stays_as_it_is_when_the_trigger_goes(one: funcgraph.Instance) -> None:
    event, other = (
        one.events[define("f:app/retry HERE.retry n")],
        one.events[define("f:app/step HERE.step n")],
    )
    file = f"events/{other.name}/enable"
    event.trigger = "enable_event:app:step:1 if n == 2"
    assert (one.files[file], other.enable) == ("0*\n", False)
    with pytest.raises(OSError, match="in use") as caught:
        events.delete("-:app/step")
    assert caught.value.errno == errno.EBUSY
    retry(1)
    retry(2)
    assert (one.files[file], other.enable) == ("1*\n", True)
    assert re.findall(r"step: .* n=(\d)", one.trace()) == ["2"]
    event.trigger = "!disable_event:app:step"  # of one kind with it
    assert one.files[file] == "1\n"
    event.trigger = "disable_event:app:step"
    retry(3)
    assert one.files[file] == "0*\n"
    event.trigger = "!disable_event:app:step"
    assert one.files[file] == "0\n"
    events.delete("-:app/step")


def test_hits_pause_histograms_of_another_event(one: funcgraph.Instance) -> None:
    event, counted = (
        one.events[define("f:app/retry HERE.retry n")],
        one.events[define("f:app/fail HERE.fail n")],
    )
    counted.trigger = "hist:keys=n:pause"
    event.trigger = "enable_hist:app:fail if n == 1"
    define("f:app/step HERE.step n")
    one.events["app/step"].trigger = "disable_hist:app:fail if n == 100"
    for n in (5, 6):
        with pytest.raises(RefusedError):
            fail(n)
        retry(1)
    assert "[active]" in counted.trigger and counted.hist.count("{ n:") == 1
    step(100)
    assert "[paused]" in counted.trigger


def test_a_trigger_acts_in_its_instance_alone(one: funcgraph.Instance) -> None:
    name = define("f:app/step HERE.step n")
    with funcgraph.Instance("two") as two:
        two.events[name].enable = True
        one.events[name].trigger = "traceoff"
        one.events[name].trigger = "snapshot"
        step(1)
        assert (one.tracing_on, two.tracing_on) == (False, True)
        assert "step:" in two.trace() and "* Snapshot is freed *" in two.files["snapshot"]


def test_exactly_as_often_in_all_threads(one: funcgraph.Instance) -> None:
    one.buffer_size_kb = 16 << 10
    one.function_commands.add(f"{HERE}.s*p:stacktrace:777")
    threads = [threading.Thread(target=lambda: [step(n) for n in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.trace().count("<stack trace>") == 777
    (command,) = one.function_commands
    assert (command.function, command.command, command.left, command.event) == (
        f"{HERE}.step",
        "stacktrace",
        0,
        "",
    )
    assert str(command) == f"{HERE}.step:stacktrace:count=0"


def test_commands_of_several_functions_count_each_and_go_one_by_one(one: funcgraph.Instance) -> None:
    commands = one.function_commands
    commands.add(f"{HERE}.[rs]*:snapshot:3")
    commands.add(f"{HERE}.step:snapshot:9")  # it has that command: the count stays
    counts = {command.function.rpartition(".")[2]: command.left for command in commands}
    assert counts["step"] == counts["retry"] == 3
    retry(1)
    step(1)
    commands.remove(f"{HERE}.step:snapshot:0")
    counts = {command.function.rpartition(".")[2]: command.left for command in commands}
    assert counts["retry"] == 2 and "step" not in counts
    retry(1)
    assert {c.left for c in commands if c.function.endswith("retry")} == {1}
    with pytest.raises(OSError, match="not set") as caught:
        commands.remove(f"{HERE}.step:snapshot:0")
    assert caught.value.errno == errno.ENODEV


def test_a_command_holds_the_event_that_it_enables(one: funcgraph.Instance) -> None:
    define("f:app/step HERE.step n")
    one.function_commands.add(f"{HERE}.retry:enable_event:app:step:1")
    with pytest.raises(OSError):
        events.delete("-:app/step")
    retry(4)
    assert re.findall(r"step: .* n=(\d)", one.trace()) == ["4"]
    one.files.write("set_ftrace_filter", f"!{HERE}.retry:enable_event:app:step:0", append=True)
    assert one.files["events/app/step/enable"] == "1\n"
    one.events["app/step"].enable = False
    events.delete("-:app/step")


def test_a_dump_prints_the_trace_and_ends_the_recording(
    one: funcgraph.Instance, capfd: pytest.CaptureFixture[str]
) -> None:
    one.set_ftrace_filter = f"{HERE}.*"
    one.current_tracer = "function_graph"
    one.function_commands.add(f"{HERE}.step:dump")
    retry(1)
    assert calls_in(capfd.readouterr().err) == ["retry", "step"] and not one.tracing_on
    one.tracing_on = True
    retry(1)
    assert capfd.readouterr().err == ""  # once
    one.function_commands.remove(f"{HERE}.step:dump")
    one.function_commands.add(f"{HERE}.step:cpudump")
    thread = threading.Thread(target=lambda: step(1))
    thread.start()
    thread.join()
    assert calls_in(capfd.readouterr().err) == ["step"]  # of that thread alone


@pytest.mark.parametrize(
    "command",
    [
        "traceoff:3",
        "traceoff",
        "snapshot:0",
        "stacktrace:5",
        "dump",
        "cpudump",
        "enable_event:app:stepped:2",
        "disable_event:app:stepped",
    ],
)
def test_a_command_is_removed_as_it_reads_back(one: funcgraph.Instance, command: str) -> None:
    define("f:app/stepped HERE.step n")
    one.function_commands.add(f"{HERE}.retry:{command}")
    (line,) = one.function_commands.text().splitlines()
    assert line.endswith(("unlimited", f"count={command[-1]}", "dump:count=1"))
    one.files.write("set_ftrace_filter", f"!{line}", append=True)
    assert len(one.function_commands) == 0


def test_a_command_without_count_is_not_removed_as_one_with_count(one: funcgraph.Instance) -> None:
    one.function_commands.add(f"{HERE}.retry:stacktrace")
    with pytest.raises(OSError) as caught:
        one.function_commands.remove(f"{HERE}.retry:stacktrace:count=0")
    assert caught.value.errno == errno.ENODEV
    for wrong in ("count=", "count=x", "unlimited:1"):
        with pytest.raises(OSError) as caught:
            one.function_commands.remove(f"{HERE}.retry:stacktrace:{wrong}")
        assert caught.value.errno == errno.EINVAL


def test_sym_has_the_address_that_the_list_of_functions_has(one: funcgraph.Instance) -> None:
    event = one.events[define("f:app/stepped HERE.step n who=$symbol")]
    event.trigger = "hist:keys=who.sym"
    event.trigger = "hist:keys=who"
    step(1)
    listed = one.files["available_filter_functions_addrs"].splitlines()
    (address,) = (line.split()[0] for line in listed if line.endswith(f" {HERE}.step"))
    assert re.findall(r"who: \[(\w+)\] (\S+)", event.hist) == [(address.removeprefix("0x"), f"{HERE}.step")]
    assert re.findall(r"who: +(\d+) }", event.hist) == [str(int(address, 16))]
