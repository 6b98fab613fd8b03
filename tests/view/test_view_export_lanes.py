"""Promise: an exported page has the lanes of CPUs, tasks and greenlets, and what led to a call, as the server
has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from builds import needs_gil
from exported import head_of

from funcgraph.tracedata.selection import Selection
from funcgraph.view import export_links, export_runs, task_lanes
from funcgraph.view.export_page import export_page
from funcgraph.view.served import Served
from view.pages import ViewPage
from view.test_view_queries import ask
from view.test_view_tasks import recorded

pytestmark = pytest.mark.one_python

Open = Callable[..., ViewPage]
Question = tuple[str, dict[str, Any]]
DATA = Path(__file__).parents[1] / "tracedata" / "data"
HANDLES = ("-l", "asyncio.events.Handle.__init__", "-l", "asyncio.events.Handle._run", "--args")
EVENTS = ("-e", "asyncio:task_create", "-e", "asyncio:task_switch", "-l", "threading.Thread.start")


@contextmanager
def open_trace(path: Path) -> Iterator[Served]:
    """Open a trace for an export, which makes the index itself."""
    served = Served(0, str(path))
    served.make_index()
    try:
        yield served
    finally:
        served.close()


def exported(served: Served, selection: Selection | None = None) -> str:
    return export_page(served, selection or Selection())[0]


def embedded(page: ViewPage, text: str, questions: list[Question]) -> list[Any]:
    """Return what the modules of an exported page answer."""
    data = text.partition('id="embedded-trace">')[2].partition("<")[0]
    found: list[Any] = page.page.evaluate(
        """async ([data, questions]) => {
            const {answersOf} = await import('/page/export/embedded_api.js');
            const {openEmbedded} = await import('/page/export/embedded_trace.js');
            const trace = await openEmbedded(data), answers = answersOf(trace);
            const all = {...answers, spans: (question) => trace.spans(question)};
            return questions.map(([name, question]) => JSON.parse(JSON.stringify(all[name](question),
                (key, value) => ArrayBuffer.isView(value) ? [...value] : value)));
        }""",
        [data, questions],
    )
    return found


def numbers(served: Served, text: str) -> dict[int, int]:
    """Return the number in the page of each lane."""
    head, index = head_of(text), served.index()
    threads = {lane.number: place for place, lane in enumerate(index.lanes())}
    rows = [lane for lane in ask(served, "lanes")["lanes"] if task_lanes.is_task(lane["number"])]
    key = ("kind", "name", "instance", "begin_ns", "spans")
    places = {tuple(row[name] for name in key): row["number"] for row in head["runs"]}
    return threads | {row["number"]: places[tuple(row[name] for name in key)] for row in rows}


def test_the_lanes_of_cpus_are_those_of_the_server(opened: Open) -> None:
    """Broken by rows that are not cut at the ends of a run, or by levels that are those of the thread."""
    page = opened()
    for name in ("graph.dat", "two_instances.dat"):
        with open_trace(DATA / name) as served:
            text = exported(served)
            places = numbers(served, text)
            cpus = [lane for lane in ask(served, "lanes")["lanes"] if lane["kind"] == "cpu"]
            whole = {"begin": 0, "end": served.duration_ns + 1}
            questions: list[Question] = [("lanes", {})]
            expected: list[Any] = []
            for cpu in cpus:
                lane = {"lane": cpu["number"]}
                rows = spans_of(served, cpu["number"])
                questions.append(("spans", {**lane, **whole, "pixels": 2**50}))
                expected.append(rows)
                for depth, begin, *_ in rows[:: max(len(rows) // 6, 1)]:
                    questions.append(("call", {**lane, "time": begin, "depth": depth}))
                questions += [("marks", {**lane, **whole}), ("tree", {"lanes": cpu["number"]})]
            found = embedded(page, text, [(one, in_page(question, places)) for one, question in questions])
            lanes = {row["number"]: row for row in found[0]["lanes"]}
            for cpu in cpus:
                row = lanes[places[cpu["number"]]]
                same = ("kind", "name", "tid", "calls", "spans", "depths", "ran_ns", "begin_ns", "end_ns")
                assert {one: row[one] for one in same} == {one: cpu[one] for one in same}
            for (asked, question), answer in list(zip(questions, found, strict=True))[1:]:
                if asked == "spans":
                    columns = zip(*(answer[one] for one in COLUMNS), strict=True)
                    assert [tuple(row[:-1]) for row in columns if row[-1]] == expected.pop(0)
                elif asked == "call":
                    call = in_page(ask(served, asked, **question)["call"], places)
                    assert call_key(answer["call"]) == call_key(call)
                elif asked == "tree":
                    assert paths(answer) == paths(ask(served, asked, **question))
                else:
                    assert answer == ask(served, asked, **question)


COLUMNS = ("depth", "begin", "end", "function", "ended", "resumed", "busy")


def spans_of(served: Served, lane: int) -> list[tuple[int, ...]]:
    part = (served.begin_ns, served.begin_ns + served.duration_ns + 1)
    rows = task_lanes.spans(served, task_lanes.task_lane(served, lane), *part, 2**32 - 1, (0, 1000))
    columns = (rows.depth, rows.begin_ns, rows.end_ns, rows.function, rows.ended, rows.resumed, rows.busy_ns)
    table = [row[:-1] for row in zip(*columns, strict=True) if row[-1]]  # a run without length is a cell
    found = [(row[0], row[1] - part[0], row[2] - part[0], *row[3:]) for row in table]
    return sorted((*row[:3], served.canonical(row[3]), *row[4:]) for row in found)


def in_page(value: Any, places: dict[int, int]) -> Any:
    """Return a question or an answer with the page's numbers of lanes."""
    if isinstance(value, list):
        return [in_page(one, places) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: places[one] if key in ("lane", "lanes", "thread") else in_page(one, places)
        for key, one in value.items()
    }


def call_key(call: dict[str, Any]) -> tuple[Any, ...]:
    head = tuple(call[name] for name in ("lane", "depth", "begin_ns", "end_ns", "function"))
    return (*head, [(one["lane"], one["depth"], one["begin_ns"]) for one in call.get("parents", ())])


def paths(answer: dict[str, Any]) -> dict[tuple[int, ...], list[int]]:
    found: list[tuple[int, ...]] = []
    for parent, function, *_ in answer["nodes"]:
        found.append((*(found[parent] if parent >= 0 else ()), function))
    return {path: node[2:] for path, node in zip(found, answer["nodes"], strict=True)}


@pytest.fixture(scope="module")
def callbacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("callbacks"), *HANDLES, *EVENTS, program="callbacks")


@needs_gil("asyncio's events are EOPNOTSUPP")
def test_what_led_to_a_call_is_what_the_server_says(opened: Open, callbacks: Path) -> None:
    """Of each function's first and last call. Broken by addresses of handles that are used again."""
    page = opened()
    with open_trace(callbacks) as served:
        text = exported(served)
        places = numbers(served, text)
        mine = {row["name"]: row["number"] for row in head_of(text)["functions"]}
        questions: list[Question] = []
        for number, function in enumerate(served.functions):
            for direction, time in (("next", 0), ("previous", 2**40)):
                call = ask(served, "step", function=number, time=time, direction=direction)["call"]
                if call and function.module == "__main__":
                    place = {"lane": call["lane"], "time": call["begin_ns"], "depth": call["depth"]}
                    questions.append(("flows", place))
        task = next(row["number"] for row in ask(served, "lanes")["lanes"] if row["kind"] == "task")
        questions.append(("flows", {"lane": task, "time": task_begin(served, task), "depth": 0}))
        found = embedded(page, text, [(name, in_page(place, places)) for name, place in questions])
        kinds = set()
        for (_, place), answer in zip(questions, found, strict=True):
            flows = in_page(ask(served, "flows", **place)["flows"], places)
            flows = [flow for flow in flows if flow["call"]]
            for flow in flows:
                flow["call"]["function"] = mine[served.functions[flow["call"]["function"]].name]
            assert [(one["kind"], one["time_ns"], one["call"]) for one in answer["flows"]] == [
                (one["kind"], one["time_ns"], one["call"]) for one in flows
            ], place
            kinds |= {flow["kind"] for flow in flows}
        assert {"scheduled", "started"} <= kinds


def task_begin(served: Served, number: int) -> int:
    return task_lanes.task_lane(served, number).root.begin_ns - served.begin_ns


@needs_gil("asyncio's events are EOPNOTSUPP")
def test_a_part_has_the_runs_and_links_that_are_in_it(callbacks: Path) -> None:
    with open_trace(callbacks) as served:
        whole = head_of(exported(served))
        assert [row["kind"] for row in whole["runs"]] == ["task"] and len(whole["links"]["scheduled"]) > 4
        none = head_of(exported(served, Selection(functions=["__main__.at_once"])))
        assert (none["runs"], none["trace"]["calls"]) == ([], 1), "the root is not there"
        main = head_of(exported(served, Selection(functions=["__main__.*"])))
        assert main["runs"][0]["name"] == "main" and main["runs"][0]["spans"] == whole["runs"][0]["spans"]
        begin = served.begin_ns + whole["links"]["scheduled"][-1][1]
        late = head_of(exported(served, Selection(begin=f"{begin // 10**9}.{begin % 10**9:09}")))
        assert len(late["links"]["scheduled"]) < len(whole["links"]["scheduled"])
        with patch.object(export_runs, "_MOST_RUNS", 0), patch.object(export_links, "_MOST_CALLBACKS", 1):
            text, remarks = export_page(served, Selection())
        assert head_of(text)["runs"] == [] and len(head_of(text)["links"]["scheduled"]) == 1
        assert remarks == [
            "lanes of tasks or CPUs that are left out: 1",
            "what scheduled a callback is in it for the first 1 callbacks alone",
        ]


def test_a_kernels_page_shows_its_cpus_and_the_tree_of_one(opened: Open, tmp_path: Path) -> None:
    """The page of the server, and one that is exported. Broken by the tree of the chosen call's thread."""
    page = opened()
    path = tmp_path / "kernel.html"
    with open_trace(DATA / "two_instances.dat") as served:  # the server's trace 3
        text = exported(served)
        cpu = next(row for row in ask(served, "lanes")["lanes"] if row["kind"] == "cpu")
        place = numbers(served, text)[cpu["number"]]
        path.write_text(text)
    for number in (cpu["number"], place):
        page.open(f"trace=3&tab=table&only=1&call={number},{cpu['begin_ns']},0")
        labels = page.page.locator("#labels").inner_text()
        assert "CPUs" in labels and "CPU 0" in labels and "CPU 1" in labels
        page.loaded()
        rows = page.page.locator("#tabpanel tbody tr")
        [row] = rows.all_inner_texts()
        assert row.startswith("vfs_write") and "79.4" in row, "the thread has more calls, on both CPUs"
        page.address = path.as_uri()
    page.screenshot("exported-cpus")
