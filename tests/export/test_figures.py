"""Names, counts and times of each export, as the format's own reader sees them, are those of summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exported import READERS, csv_rows, figures_of_summary
from tracefile import RAISE, SUSPEND, Trace, values

from funcgraph.export.formats import find_format

pytestmark = pytest.mark.one_python

KERNEL = Path(__file__).parent.parent / "tracedata" / "data" / "graph.dat"


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("trace", ["recorded", "thresh"])
def test_counts_and_self_times_are_those_of_summary(
    form: str,
    trace: str,
    request: pytest.FixtureRequest,
    export: Callable[..., Path],
    summary: Callable[..., dict[str, Any]],
) -> None:
    path: Path = request.getfixturevalue(trace)
    suffix, read = READERS[form]
    expected = figures_of_summary(summary(path))
    found = read(export(path, form, suffix))
    assert found.stretches == expected.stretches
    assert +found.self_ns == +expected.self_ns
    assert expected.stretches["__main__.fib"] > (10 if trace == "recorded" else 0)


@pytest.mark.parametrize("form", READERS)
def test_a_selection_is_exported_alone(
    form: str, recorded: Path, export: Callable[..., Path], summary: Callable[..., dict[str, Any]]
) -> None:
    """Broken by an export that reads all events, or depths from outside the selection."""
    suffix, read = READERS[form]
    options = ("-l", "*.fib", "--task", "<i>*")
    expected = figures_of_summary(summary(recorded, *options))
    found = read(export(recorded, form, suffix, *options))
    assert found.stretches == expected.stretches == {"__main__.fib": 15}
    assert found.self_ns == expected.self_ns


@pytest.mark.parametrize("form", READERS)
def test_a_kernels_trace_is_exported(
    form: str, export: Callable[..., Path], summary: Callable[..., dict[str, Any]]
) -> None:
    suffix, read = READERS[form]
    expected = figures_of_summary(summary(KERNEL))
    assert read(export(KERNEL, form, suffix)).stretches == expected.stretches
    assert len(expected.stretches) > 10


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """Return a trace in which ends were lost, a call is in progress at the end, and one is suspended."""
    trace = Trace(["m.main", "m.f", "m.g", ("m", "gen", "/src/m.py", 3, 1, ["n"])], lost=7)
    task = trace.task(41, "one")
    task.enter(1000, 0, 0)
    task.enter(1100, 1, 1)
    task.enter(1200, 2, 2)
    task.enter(1500, 1, 1, lost=5)  # the ends of g and f were lost
    task.leave(1600, 1, 1, calltime=1500, kind=RAISE)
    task.leave(1800, 2, 1, calltime=1700, lost=2)  # its entry was lost
    task.enter(1900, 3, 1, args=values(8))
    task.leave(1950, 3, 1, calltime=1900, kind=SUSPEND, start=1900)
    task.enter(2000, 1, 1)
    other = trace.task(42, "two", pid=41)
    other.enter(1050, 2, 0)
    other.leave(1150, 2, 0, calltime=1050)
    other.enter(2500, 2, 0)
    return trace.save(tmp_path / "lossy.dat")


@pytest.mark.parametrize("form", READERS)
def test_a_call_that_began_before_the_selection_is_whole_or_said_to_be_too_short(
    form: str, command: Callable[..., Any], tmp_path: Path, summary: Callable[..., dict[str, Any]]
) -> None:
    for name in find_format(form).modules:
        pytest.importorskip(name)
    trace = Trace(["m.main", "m.f"])
    task = trace.task(41)
    task.enter(1_000_000, 0, 0)
    for time in (2_000_000, 5_000_000):
        task.enter(time, 1, 1)
        task.leave(time + 1000, 1, 1, calltime=time)
    task.leave(9_000_000, 0, 0, calltime=1_000_000)
    path = trace.save(tmp_path / "t.dat")
    suffix, read = READERS[form]
    output = tmp_path / f"out{suffix}"
    ran = command("export", form, path, "-o", output, "--from", "+0.003")
    expected, found = figures_of_summary(summary(path, "--from", "+0.003")), read(output)
    assert found.stretches == expected.stretches
    assert (found.self_ns == expected.self_ns) != (
        "1 calls whose begin is not there are too short" in ran.err
    )
    assert (found.self_ns == expected.self_ns) == (form not in ("speedscope", "firefox"))


@pytest.mark.parametrize("form", READERS)
def test_what_is_open_is_ended_and_losses_are_told(
    form: str,
    lossy: Path,
    command: Callable[..., Any],
    tmp_path: Path,
    summary: Callable[..., dict[str, Any]],
) -> None:
    """Each reader refuses a begin without an end."""
    suffix, read = READERS[form]
    for name in find_format(form).modules:
        pytest.importorskip(name)
    output = tmp_path / f"out{suffix}"
    ran = command("export", form, lossy, "-o", output)
    assert ran.status == 0
    assert read(output).stretches == figures_of_summary(summary(lossy)).stretches
    assert "7 records were lost" in ran.err
    assert "2 ends of calls were lost" in ran.err
    assert "3 calls were in progress" in ran.err
    assert ran.err.count(find_format(form).lacks) == 1


def test_tables_say_how_a_call_ended_that_has_no_end(lossy: Path, export: Callable[..., Path]) -> None:
    rows = [(row["function"], row["ended"]) for row in csv_rows(export(lossy, "csv", ".csv"))]
    assert sorted(rows) == [
        ("m.f", "lost"), ("m.f", "open"), ("m.f", "raise"), ("m.g", "lost"), ("m.g", "open"),
        ("m.g", "return"), ("m.g", "return"), ("m.gen", "suspended"), ("m.main", "open"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", READERS)
def test_a_trace_that_still_grows_is_exported(
    form: str,
    recorded: Path,
    tmp_path: Path,
    export: Callable[..., Path],
    summary: Callable[..., dict[str, Any]],
) -> None:
    """As if its recorder had been killed: chunks without a directory, and a part of one."""
    part = tmp_path / "trace.fg.part"
    part.write_bytes(recorded.read_bytes()[: recorded.stat().st_size * 2 // 3])
    suffix, read = READERS[form]
    expected = figures_of_summary(summary(part))
    assert read(export(part, form, suffix)).stretches == expected.stretches
    assert expected.stretches


@pytest.mark.parametrize("form", READERS)
def test_a_trace_without_events_is_exported(form: str, tmp_path: Path, export: Callable[..., Path]) -> None:
    empty = Trace(["m.f"]).save(tmp_path / "empty.dat")
    suffix, read = READERS[form]
    assert not read(export(empty, form, suffix)).stretches
