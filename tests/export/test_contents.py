"""What an export shows of a call: how it ended, values, threads, tasks of event loops, marks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exported import (
    READERS,
    attributes,
    chrome_slices,
    csv_rows,
    figures_of_summary,
    firefox_profile,
    json_rows,
    otlp_spans,
    parquet_rows,
    read_chrome,
    read_perfetto,
    speedscope_slices,
)
from tracefile import RESUME, SUSPEND, Trace, values

pytestmark = pytest.mark.one_python

THREAD = '<i>"w"\n</i>'
LABEL = 'a "quoted", <b>text</b>'


# ---- Perfetto


def test_perfetto_has_processes_threads_and_tasks(recorded: Path, export: Callable[..., Path]) -> None:
    found = read_perfetto(export(recorded, "perfetto", ".pftrace"))
    processes = {uuid: track for uuid, track in found.tracks.items() if track.HasField("process")}
    threads = {uuid: track for uuid, track in found.tracks.items() if track.HasField("thread")}
    assert len(processes) == 2  # the program and its child
    assert len(threads) == 3
    for track in threads.values():
        assert processes[track.parent_uuid].process.pid == track.thread.pid
    assert THREAD in [track.thread.thread_name for track in threads.values()]
    tasks = [track for uuid, track in found.tracks.items() if track.name]
    assert sorted(track.name for track in tasks) == ["task __main__.handler"] * 3 + ["task __main__.main"]
    assert all(track.parent_uuid in processes for track in tasks)


def test_a_task_of_an_event_loop_has_its_awaits_from_begin_to_end(
    recorded: Path, export: Callable[..., Path]
) -> None:
    found = read_perfetto(export(recorded, "perfetto", ".pftrace"))
    for uuid, track in found.tracks.items():
        if track.name != "task __main__.handler":
            continue
        fetch, handler = (one for one in found.slices if one.thread == uuid)
        assert (fetch.name, handler.name) == ("__main__.fetch", "__main__.handler")
        assert handler.begin_ns <= fetch.begin_ns < fetch.end_ns <= handler.end_ns


def test_the_stretches_of_a_call_are_one_flow(
    recorded: Path, export: Callable[..., Path], summary: Callable[..., Any]
) -> None:
    found = read_perfetto(export(recorded, "perfetto", ".pftrace"))
    rows = {row["name"]: row for row in summary(recorded)["functions"]}
    suspends = [row for row in rows.values() if row["resumes"] or row["name"] == "__main__.numbers"]
    # Each call that can be suspended has a flow, through its begin and its resumes.
    assert sum(map(len, found.flows.values())) == sum(row["calls"] + row["resumes"] for row in suspends)
    assert len(found.flows) == sum(row["calls"] for row in suspends)
    begins = {one.begin_ns for one in found.of_threads()}
    assert all(time in begins for times in found.flows.values() for time in times)


def test_perfetto_has_arguments_results_and_how_calls_ended(
    recorded: Path, export: Callable[..., Path]
) -> None:
    slices = read_perfetto(export(recorded, "perfetto", ".pftrace")).of_threads()
    by_name = {one.name: one.values for one in slices if one.values.get("ended") != "suspend"}
    assert by_name["__main__.fib"].keys() >= {"n", "result"}
    assert by_name["__main__.failing"] == {"ended": "raise", "exception": "ValueError"}
    assert {one.values["label"] for one in slices if one.name == "__main__.worker"} == {LABEL, "child"}
    yielded = [one.values.get("yielded") for one in slices if one.name == "__main__.numbers"]
    assert {0, 1, 2} <= set(yielded)


def test_perfetto_has_callers_if_they_were_recorded(tmp_path: Path, export: Callable[..., Path]) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(41)
    task.enter(1000, 0, 0, caller=(1, 77))
    task.leave(1100, 0, 0, calltime=1000)
    (found,) = read_perfetto(export(trace.save(tmp_path / "t.dat"), "perfetto", ".pftrace")).slices
    assert found.values == {"caller": "m.g", "caller line": 77}


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Return a trace with events that are no calls."""
    trace = Trace(["m.f"], lost=3)
    task = trace.task(41)
    task.enter(1_000_000, 0, 0)
    task.message(1_100_000, b'he said "<now>"\n')
    task.wait(1_300_000, 150_000)
    task.overrun(1_400_000, 9)
    task.leave(1_500_000, 0, 0, calltime=1_150_000, lost=3)
    task.function(1_600_000, 0, None)
    return trace.save(tmp_path / "marks.dat")


def test_marks_waits_and_losses_are_on_their_thread(marks: Path, export: Callable[..., Path]) -> None:
    found = read_perfetto(export(marks, "perfetto", ".pftrace"))
    assert [(time, name) for _, time, name, _ in sorted(found.instants, key=lambda one: one[1])] == [
        (1_100_000, 'he said "<now>"\n'),
        (1_400_000, "calls not traced: shadow stack full"),
        (1_500_000, "3 records lost"),
        (1_600_000, "m.f"),
    ]
    wait, call = found.slices
    assert (wait.name, wait.begin_ns, wait.end_ns) == ("waiting for the recorder", 1_150_000, 1_300_000)
    assert (call.name, call.begin_ns, call.end_ns) == ("m.f", 1_000_000, 1_500_000)

    events = [event for event in read_chrome(export(marks, "chrome", ".json")) if event["ph"] in "iX"]
    assert [(event["ts"], event["name"]) for event in sorted(events, key=lambda event: event["ts"])] == [
        (1_000_000, "m.f"),
        (1_100_000, 'he said "<now>"\n'),
        (1_150_000, "waiting for the recorder"),
        (1_400_000, "calls not traced: shadow stack full"),
        (1_500_000, "3 records lost"),
        (1_600_000, "m.f"),
    ]
    (thread,) = firefox_profile(export(marks, "firefox", ".json.gz"))["threads"]
    names = [thread["stringArray"][name] for name in thread["markers"]["name"]]
    assert names == [
        'he said "<now>"\n',
        "waiting for the recorder",
        "calls not traced: shadow stack full",
        "3 records lost",
    ]
    assert thread["markers"]["phase"] == [0, 1, 0, 0]
    (span,) = otlp_spans(export(marks, "otlp", ".otlp.jsonl"))
    assert [event.name for event in span.events] == names[:3]


def test_a_kernels_events_have_their_fields(export: Callable[..., Path]) -> None:
    kernel = Path(__file__).parent.parent / "tracedata" / "data" / "fprobe.dat"
    instants = read_perfetto(export(kernel, "perfetto", ".pftrace")).instants
    assert [name for _, _, name, _ in instants] == ["fprobes:h"] * 5
    assert all((values["ret"], values["count"]) == (5, 5) for _, _, _, values in instants)


# ---- the others


def test_chrome_joins_the_stretches_of_a_call(tmp_path: Path, export: Callable[..., Path]) -> None:
    trace = Trace([("m", "gen", "", 1, 1, [])])
    task = trace.task(41)
    task.enter(1000, 0, 0)
    task.leave(1100, 0, 0, calltime=1000, kind=SUSPEND, start=1000)
    for begin in (2000, 3000):
        task.enter(begin, 0, 0, kind=1, start=1000)
        kind = {"kind": SUSPEND} if begin == 2000 else {}
        task.leave(begin + 100, 0, 0, calltime=begin, start=1000, **kind)
    events = read_chrome(export(trace.save(tmp_path / "t.dat"), "chrome", ".json"))
    flow = [(event["ph"], event["ts"]) for event in events if event["ph"] in "stf"]
    assert flow == [("s", 1000), ("t", 2000), ("f", 3000)]
    assert len({event["id"] for event in events if event["ph"] in "stf"}) == 1


@pytest.mark.parametrize(
    ("form", "suffix", "read"),
    [("csv", ".csv", csv_rows), ("jsonl", ".jsonl", json_rows), ("parquet", ".parquet", parquet_rows)],
)
def test_tables_have_values_and_how_calls_ended(
    form: str,
    suffix: str,
    read: Callable[[Path], list[dict[str, Any]]],
    recorded: Path,
    export: Callable[..., Path],
    summary: Callable[..., Any],
) -> None:
    rows = read(export(recorded, form, suffix))
    figures = {row["name"]: row for row in summary(recorded)["functions"]}
    (failed,) = (row for row in rows if row["function"] == "__main__.failing")
    assert (failed["ended"], failed["exception"]) == ("raise", "ValueError")
    workers = [row for row in rows if row["function"] == "__main__.worker"]
    assert {row["thread"] for row in workers} >= {THREAD}
    labels = [row["arguments"] for row in workers]
    assert [json.loads(text) if isinstance(text, str) else text for text in labels] == [
        {"label": LABEL}, {"label": "child"},
    ]  # fmt: skip
    (closed,) = (row for row in rows if row["ended"] == "close")
    assert closed["function"] == "__main__.numbers"
    fib = [int(row["duration_ns"]) for row in rows if row["function"] == "__main__.fib"]
    assert (min(fib), max(fib)) == (figures["__main__.fib"]["min_ns"], figures["__main__.fib"]["max_ns"])
    assert {row["parent"] for row in rows if row["function"] == "__main__.fetch"} == {"__main__.handler"}


def test_spans_form_trees_and_have_errors(recorded: Path, export: Callable[..., Path]) -> None:
    for form in ("otlp", "otlp-proto"):
        spans = {span.span_id: span for span in otlp_spans(export(recorded, form, READERS[form][0]))}
        for span in spans.values():
            assert (len(span.span_id), len(span.trace_id)) == (8, 16)
            if span.parent_span_id:
                parent = spans[span.parent_span_id]
                assert parent.trace_id == span.trace_id
                assert parent.start_time_unix_nano <= span.start_time_unix_nano
        fetches = [span for span in spans.values() if span.name == "__main__.fetch"]
        assert [spans[span.parent_span_id].name for span in fetches] == ["__main__.handler"] * 3
        (failed,) = (span for span in spans.values() if span.name == "__main__.failing")
        assert (failed.status.code, failed.status.message) == (2, "ValueError")
        assert [event.name for event in failed.events] == ["exception"]
        values_of = attributes(failed)
        assert values_of["code.function.name"] == "__main__.failing"
        assert str(values_of["code.file.path"]).endswith("app.py")
        # The last event is at the time at which the file was last written.
        last = max(span.end_time_unix_nano for span in spans.values())
        assert abs(recorded.stat().st_mtime_ns - last) < 1000


def test_the_spans_of_each_process_are_below_it_and_in_short_messages(
    tmp_path: Path, export: Callable[..., Path]
) -> None:
    trace = Trace(["m.f"])
    tasks = {pid: trace.task(pid, f"<{pid}>", pid=pid) for pid in (41, 42)}
    for n in range(2600):
        tasks[41 + n % 2].enter(1000 + 10 * n, 0, 0)
        tasks[41 + n % 2].leave(1005 + 10 * n, 0, 0, calltime=1000 + 10 * n)
    ids = set()
    found: Counter[int] = Counter()
    for line in export(trace.save(tmp_path / "t.dat"), "otlp", ".otlp.jsonl").read_text().splitlines():
        (message,) = json.loads(line)["resourceSpans"]
        resource = {one["key"]: one["value"] for one in message["resource"]["attributes"]}
        spans = message["scopeSpans"][0]["spans"]
        pid = resource["process.pid"]["intValue"]
        assert 1 <= len(spans) <= 1000
        for span in spans:
            of = {one["key"]: one["value"] for one in span["attributes"]}
            assert (of["thread.id"]["intValue"], of["thread.name"]["stringValue"]) == (pid, f"<{pid}>")
        found[int(pid)] += len(spans)
        ids |= {span["spanId"] for span in spans}
    assert found == {41: 1300, 42: 1300}
    assert len(ids) == 2600


def test_a_mark_is_an_event_of_the_innermost_span_around_it(
    tmp_path: Path, export: Callable[..., Path]
) -> None:
    trace = Trace(["m.outer", "m.inner", ("m", "gen", "/src/m.py", 3, 1, [])])
    task = trace.task(41)
    task.message(900, b"before")
    task.enter(1000, 0, 0)
    task.message(1050, b"outer")
    task.enter(1100, 1, 1)
    task.message(1150, b"inner")
    task.leave(1200, 1, 1, calltime=1100)
    task.enter(1210, 2, 1)
    task.message(1250, b"gen")
    task.leave(1300, 2, 1, calltime=1210, kind=SUSPEND, start=1210)
    task.message(1350, b"again")
    task.enter(1400, 2, 1, kind=RESUME, start=1210)
    task.message(1450, b"resumed")
    task.leave(1480, 2, 1, calltime=1400, start=1210)
    task.leave(1500, 0, 0, calltime=1000)
    task.message(1600, b"after")
    other = trace.task(42, "other", pid=41)
    other.enter(1000, 1, 0)
    other.leave(1550, 1, 0, calltime=1000)
    path = trace.save(tmp_path / "t.dat")
    for form in ("otlp", "otlp-proto"):
        spans = otlp_spans(export(path, form, READERS[form][0]))
        assert sorted((span.name, [event.name for event in span.events]) for span in spans) == [
            ("m.gen", ["gen", "resumed"]),
            ("m.inner", []),
            ("m.inner", ["inner"]),
            ("m.outer", ["outer", "again"]),
        ]


def test_duckdb_reads_parquet(
    recorded: Path, export: Callable[..., Path], summary: Callable[..., Any]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = export(recorded, "parquet", ".parquet")
    query = f"SELECT function, sum(self_ns)::BIGINT FROM '{path}' GROUP BY function"
    assert dict(duckdb.sql(query).fetchall()) == dict(figures_of_summary(summary(recorded)).self_ns)


# ---- names

HOSTILE = "m.<b>&amp;\"',;|\\\r\n\t\x1b[31m\x00\u202e\udc80é\U0001f600"
SHOWN = HOSTILE.replace("\udc80", "\\udc80")


@pytest.mark.parametrize("form", READERS)
def test_a_hostile_name_is_right_or_escaped(form: str, tmp_path: Path, export: Callable[..., Path]) -> None:
    trace = Trace([("", HOSTILE, HOSTILE, 1, 0, [HOSTILE])], instances={})
    task = trace.task(41, HOSTILE)
    task.enter(1000, 0, 0, args=values('é<"\n\x00'))
    task.leave(1100, 0, 0, calltime=1000, result=values(1.5))
    suffix, read = READERS[form]
    found = read(export(trace.save(tmp_path / "t.dat"), form, suffix))
    escaped = SHOWN.replace("\0", "\\x00") if form == "csv" else SHOWN
    assert found.stretches == {escaped: 1}


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t=", "\r=", "\n="])
def test_no_cell_of_csv_is_a_formula(begin: str, tmp_path: Path, export: Callable[..., Path]) -> None:
    formula = f"{begin}1+cmd|'/C calc'!A0"
    trace = Trace([("", formula, "", 1, 0, [formula])], instances={})
    task = trace.task(41, formula)
    task.enter(1000, 0, 0, args=values(formula))
    task.enter(1010, 0, 1, args=values(formula))
    task.leave(1020, 0, 1, calltime=1010, result=values(formula))
    task.leave(1100, 0, 0, calltime=1000, result=values(-5))
    path = trace.save(tmp_path / "t.dat")
    for row in csv_rows(export(path, "csv", ".csv")):
        assert row["function"] == row["thread"] == f"'{formula}"
        for name, cell in row.items():
            assert not cell or cell[0] not in "=+-@\t\r\n" or (name, cell) == ("result", "-5")
    assert {row["function"] for row in json_rows(export(path, "jsonl", ".jsonl"))} == {formula}


def test_a_hostile_argument_is_right_or_escaped(tmp_path: Path, export: Callable[..., Path]) -> None:
    trace = Trace([("m", "f", "", 1, 0, ["a b", "c"])])
    task = trace.task(41)
    task.enter(1000, 0, 0, args=values('<&"\n\x00\x1b', float("nan")))
    task.leave(1100, 0, 0, calltime=1000)
    path = trace.save(tmp_path / "t.dat")
    (one,) = read_perfetto(export(path, "perfetto", ".pftrace")).slices
    assert one.values["a b"] == '<&"\\n\\x00\\x1b'
    (one,) = chrome_slices(export(path, "chrome", ".json"))
    assert one.values == {"a b": '<&"\n\x00\x1b', "c": "nan"}
    (row,) = json_rows(export(path, "jsonl", ".jsonl"))
    assert row["arguments"] == {"a b": '<&"\n\x00\x1b', "c": "nan"}
    (span,) = otlp_spans(export(path, "otlp-proto", ".otlp.pb"))
    assert attributes(span)["funcgraph.argument.a b"] == '<&"\n\x00\x1b'
    (shown,) = speedscope_slices(export(path, "speedscope", ".speedscope.json"))
    assert shown.name == "m.f"


# ---- instances


@pytest.mark.parametrize("form", READERS)
def test_what_two_instances_recorded_of_one_thread_is_kept_apart(
    form: str, export: Callable[..., Path], summary: Callable[..., Any]
) -> None:
    """Slices of two instances overlap: on one track they would not nest."""
    kernel = Path(__file__).parent.parent / "tracedata" / "data" / "two_instances.dat"
    suffix, read = READERS[form]
    assert read(export(kernel, form, suffix)).stretches == figures_of_summary(summary(kernel)).stretches
