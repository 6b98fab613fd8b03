"""Events in recordings: triggers, blocks that leave nothing, summaries; entries survive fork and kill -9."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph

events = funcgraph.dynamic_events
HERE = __name__

APP = """
    import os, sys, time

    def work(n, name="job"):
        return n * 2

    def slow(n):
        work(n)
        if sys.argv[1] == "fork" and n == 5:
            if not os.fork():
                work(50)
                os._exit(0)
            os.wait()
        if sys.argv[1] == "kill" and n == 5:
            os.kill(os.getpid(), 9)

    for n in range(10):
        slow(n)
"""


def spend(amount: int) -> int:
    return amount


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    assert len(events) == 0 and funcgraph.users() == []
    events.log.clear()


def recorded(fg: Funcgraph) -> list[str]:
    report = fg.run("report", "-i", fg.trace)
    assert report.returncode == 0, report.stderr
    return re.findall(r"\d: (\w+: .*)$", report.stdout, re.MULTILINE)


# ---- triggers


def test_a_trigger_of_the_event_before_it(fg: Funcgraph) -> None:
    app = fg.script(APP)
    work, slow = ("-e", "f:job/work __main__.work n"), ("-e", "f:job/slow __main__.slow n")
    result = fg.record(
        "-q", *work, "-R", "traceoff:1 if n == 2", *slow, "-f", "n > 0", "-R", "traceon if n == 8", app, "x"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert recorded(fg) == [
        "work: (__main__.work) n=0",
        "slow: (__main__.slow) n=1",
        "work: (__main__.work) n=1",
        "slow: (__main__.slow) n=2",
        "work: (__main__.work) n=2",
        "work: (__main__.work) n=8",
        "slow: (__main__.slow) n=9",
        "work: (__main__.work) n=9",
    ]


def test_patterns_beside_an_event_record_these_calls_too(fg: Funcgraph) -> None:
    app = fg.script(APP)
    event = ("-e", "f:job/work __main__.work n", "-f", "n == 3")
    for options, calls in (([], 0), (["-l", "__main__.slow"], 10), (["-l", "__main__.slow", "-p", "nop"], 0)):
        assert fg.record("-q", *event, *options, app, "x").returncode == 0
        text = fg.run("report", "-i", fg.trace).stdout
        assert text.count("work: (__main__.work <- __main__.slow) n=3") + text.count(
            "work: (__main__.work) n=3"
        )
        assert text.count("__main__.slow()") == calls
        fg.trace.unlink()


def test_options_for_calls_beside_an_event_are_not_in_vain(fg: Funcgraph) -> None:
    app = fg.script(APP)
    assert fg.record("-q", "-e", "f:job/work __main__.work n", "--args", app, "x").returncode == 0
    assert "__main__.slow(n=3)" in fg.run("report", "-i", fg.trace).stdout


def test_a_trigger_of_a_static_event(fg: Funcgraph) -> None:
    app = fg.script(
        "for n in range(5):\n    try:\n        raise OSError(n)\n    except OSError:\n        pass\n"
    )
    event = ("-e", "py/raise", "-f", 'type == "OSError"', "-R", 'traceoff:1 if message == "2"')
    assert fg.record("-q", *event, app).returncode == 0
    assert [re.findall(r'message="(\d)"', line) for line in recorded(fg)] == [["0"], ["1"], ["2"]]


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("triggers", "text"),
    [
        ("nothing", "no such trigger: 'nothing'"),
        ("traceoff:x", "must be a number"),
        ("traceoff if m == 1", "Field not found"),
        ("traceoff\ntraceon:3", "one trigger of that kind"),
        ("hist:keys=n", "a recording keeps no histograms"),
        ("!traceoff", "no such trigger"),
    ],
)
def test_a_wrong_trigger_is_refused(triggers: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        funcgraph.record(events=[f"f:w {HERE}.spend n=amount\n{triggers}"])


def test_a_recording_with_a_wrong_trigger_does_not_start(fg: Funcgraph) -> None:
    app = fg.script(APP)
    wrong = fg.record("-R", "traceoff", app, "x")
    assert wrong.returncode == 2 and "argument -R" in wrong.stderr
    wrong = fg.record("-e", "f:w __main__.work n", "-R", "traceoff if m == 1", app, "x")
    assert wrong.returncode == 2 and "Field not found" in wrong.stderr
    assert not fg.trace.exists() and fg.sessions() == []


# ---- blocks


def test_a_block_removes_the_events_that_it_made(tmp_path: Path) -> None:
    own = f"f:block/own {HERE}.spend amount"
    with funcgraph.record(tmp_path / "t.fg", tracer="nop", events=[own]):
        assert events.read() == f"f:block/own {HERE}.spend amount=amount\n"
        spend(1)
    assert events.read() == ""
    with pytest.raises(ZeroDivisionError), funcgraph.record(tmp_path / "t.fg", tracer="nop", events=[own]):
        raise ZeroDivisionError
    assert events.read() == ""


def test_a_block_leaves_what_was_there_and_what_is_used(tmp_path: Path) -> None:
    there, made, used = (f"f:block/{name} {HERE}.spend amount=amount" for name in ("there", "made", "used"))
    events.define(there)
    with funcgraph.Instance("user") as user:
        block = {"events": [there, made, used]}
        with funcgraph.record(
            tmp_path / "t.fg",
            tracer="nop",
            events=[there, made, used],
            instances={"two": {**block, "tracer": "nop"}},
        ):
            user.events["block/used"].enable = True
        assert events.read() == f"{there}\n{used}\n"
        user.events["block/used"].enable = False
    events.clear()


def test_a_block_that_cannot_start_leaves_no_event(tmp_path: Path) -> None:
    events.define(f"f:block/one {HERE}.spend other=amount")
    good, other = f"f:block/good {HERE}.spend amount", f"f:block/one {HERE}.spend amount"
    with (
        pytest.raises(OSError, match="different"),
        funcgraph.record(tmp_path / "t.fg", tracer="nop", events=[good, other]),
    ):
        pass
    assert events.read() == f"f:block/one {HERE}.spend other=amount\n"
    events.clear()


def test_a_trigger_in_a_block(tmp_path: Path) -> None:
    event = f"f:block/spend {HERE}.spend amount if amount != 1\ntraceoff if amount == 3"
    with funcgraph.record(tmp_path / "t.fg", tracer="nop", events=[event]):
        for amount in range(6):
            spend(amount)
    with funcgraph.open(tmp_path / "t.fg") as trace:
        assert [one.fields["amount"] for one in trace.events() if one.type] == [0, 2, 3]


# ---- what survives


def test_entries_survive_a_fork_and_a_kill(fg: Funcgraph) -> None:
    """A return has what was fetched at its entry, in the child too; a killed program leaves what ended."""
    app = fg.script(APP)
    event = ("-e", "f:job/done __main__.slow%return n", "-e", "f:job/work __main__.work n name")
    result = fg.record("-q", *event, app, "fork")
    assert (result.returncode, result.stderr) == (0, "")
    lines = recorded(fg)
    assert [line for line in lines if line.startswith("done")] == [
        f"done: (__main__.<module> <- __main__.slow) n={n}" for n in range(10)
    ]
    assert sorted(line for line in lines if line.startswith("work")) == sorted(
        f"work: (__main__.work) n={n} name='job'" for n in (*range(10), 50)
    )
    result = fg.record("-q", *event, app, "kill")
    assert result.returncode == -signal.SIGKILL
    assert [line for line in recorded(fg) if line.startswith("done")] == [
        f"done: (__main__.<module> <- __main__.slow) n={n}" for n in range(5)
    ]
    assert len([line for line in recorded(fg) if line.startswith("work")]) == 6


# ---- summary


def test_the_summary_counts_the_hits_of_each_event(fg: Funcgraph) -> None:
    app = fg.script(APP)
    command = ("-e", "f:job/work __main__.work n", "-f", "n > 3", "-e", "f:job/end __main__.slow%return")
    assert fg.record("-q", *command, app, "x").returncode == 0
    expected = [{"name": "job/work", "hits": 6}, {"name": "job/end", "hits": 10}]
    summary = fg.summary()
    assert sorted(summary["events"], key=str) == sorted(expected, key=str)
    text = fg.run("summary", "-i", fg.trace).stdout
    assert text == "HITS  EVENT\n  10  job/end\n   6  job/work\n"
    dat = fg.folder / "t.dat"
    assert fg.run("convert", fg.trace, dat).returncode == 0
    assert sorted(fg.summary(dat)["events"], key=str) == sorted(expected, key=str)
    assert fg.record("-q", "-p", "function_graph", *command, app, "x").returncode == 0
    text = fg.run("summary", "-i", fg.trace).stdout
    assert "FUNCTION\n" in text and text.endswith("\nHITS  EVENT\n  10  job/end\n   6  job/work\n")


def test_the_summary_tells_what_was_lost(fg: Funcgraph) -> None:
    """Hits and losses together are all hits."""
    app = fg.script("def work(n): pass\nfor n in range(200_000): work(n)\n")
    result = fg.record("-q", "--drop", "-b", "32", "-e", "f:job/work __main__.work n:u32", app)
    assert result.returncode == 0
    summary = fg.summary()
    assert summary["events"][0]["hits"] + summary["lost"] == 200_000
    if summary["lost"]:
        assert f"{summary['lost']:,} records were lost" in fg.run("summary", "-i", fg.trace).stdout


def test_each_instance_has_its_own_counts(fg: Funcgraph) -> None:
    event = ("-e", "f:job/work __main__.work n", "-f")
    assert fg.record("-q", *event, "n < 3", "-B", "two", *event, "n > 8", fg.script(APP), "x").returncode == 0
    result = fg.run("summary", "--json", "-i", fg.trace)
    buffers = json.loads(result.stdout)["buffers"]
    assert {name: shown["events"] for name, shown in buffers.items()} == {
        "": [{"name": "job/work", "hits": 3}],
        "two": [{"name": "job/work", "hits": 1}],
    }


# ---- large numbers


@pytest.mark.one_python  # for its length
def test_one_event_on_20_000_functions() -> None:
    functions: dict[str, object] = {"__name__": "wide"}
    exec("".join(f"def f{i}(x): return x\n" for i in range(20_000)), functions)
    made = events.define("f:wide/all wide.* $symbol x:u32")
    with funcgraph.Instance("wide", buffer_size_kb=16 << 10) as wide:
        event = wide.events[f"{made.group}/{made.event}"]
        event.trigger = "hist:keys=common_pid:vals=x"
        event.enable = True
        for i in range(20_000):
            functions[f"f{i}"](i)  # type: ignore[operator]
        found = re.findall(r"all: \(wide\.f(\d+)\) arg1=wide\.f(\d+) x=(\d+)", wide.trace())
        assert found == [(str(i),) * 3 for i in range(20_000)]
        assert "Hits: 20000" in event.hist and f"x: {sum(range(20_000)):>10}" in event.hist
        event.enable = False
        event.trigger = "!hist:keys=common_pid:vals=x"
    assert funcgraph.users() == []
    events.clear()
