"""Promise: the page is told whether a trace meets an expectation, as `funcgraph expect` says it; what it is
given of a call, a time or all is met; and an expectation, whatever it has in it, costs a bounded effort."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from funcgraph.view import expectation_panel
from funcgraph.view.served import Served
from view.servers import LEAF, MAIN, US, Server
from view.test_view_answers import asked, refused, shown
from view.test_view_queries import opened

pytestmark = pytest.mark.one_python

DATA = Path(__file__).parents[1] / "tracedata" / "data"
THREADS = "functions: app.main app.leaf\nthread main:\napp.main\n  app.leaf x6\n"


@pytest.fixture(scope="module")
def small(trace_path: Path) -> Iterator[Served]:
    with opened(trace_path) as served:
        yield served


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"of": "all"}, []),
        ({"of": "all", "thread": 1, "levels": 2}, ["--max-depth", "2", "--task", "101"]),
        ({"of": "all", "patterns": "app.* time.*"}, ["-l", "app.*", "-l", "time.*"]),
        ({"of": "call", "lane": 1, "time": 2 * US, "depth": 2}, ["--call", "app.leaf:2"]),
        ({"of": "range", "begin": US, "end": 9 * US}, ["--from", "1.000001000", "--to", "1.000009000"]),
    ],
)
def test_what_is_written_of_a_part_is_met(small: Served, part: dict[str, object], words: list[str]) -> None:
    written = asked(small, "expectation", **part)
    thread = {name: part[name] for name in ("thread",) if name in part}
    answer = asked(small, "expect", text=written["text"], **thread)
    assert answer["holds"] and answer["difference"] is None and answer["calls"] > 0
    assert shlex.split(written["command"]) == [
        "funcgraph",
        "expect",
        "calls.txt",
        "--write",
        *words,
        small.path,
    ]
    task = ["--task", "101"] if thread else []
    assert shlex.split(answer["command"]) == ["funcgraph", "expect", "calls.txt", *task, small.path]


def test_the_first_difference_leads_to_the_calls_around_it(small: Served) -> None:
    assert asked(small, "expect", text=THREADS)["holds"]
    answer = asked(small, "expect", text=THREADS.replace("x6", "x4\n  app.leaf = 3"))
    found = answer["difference"]
    assert not answer["holds"] and (found["title"], found["tid"]) == ("another result", 100)
    assert found["expected"] == [{"line": 5, "text": "app.leaf = 3"}]
    [around] = found["path"]
    places = [shown(small, one["evidence"]) for one in (around, *found["before"], found["got"])]
    assert [place["function"] for place in places] == [MAIN, LEAF, LEAF, LEAF]
    assert [place["begin_ns"] for place in places] == [0, 10 * US, 13 * US, 18 * US]
    none = asked(small, "expect", text=THREADS.replace("x6", "x7"))["difference"]
    assert none["got"] is None and shown(small, none["around"]["evidence"])["function"] == MAIN
    with patch.object(expectation_panel, "_MOST_SHOWN", 0):
        cut = asked(small, "expect", text=THREADS.replace("x6", "x7"))["difference"]
    assert (cut["path"], cut["more_path"], cut["expected"], cut["more_expected"]) == ([], 1, [], 1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("app.main(", "line 1: '(' without its ')'"),
        ("app.other", "'app.other': no function of the trace matches"),
        ("app.main", "calls of several threads: main (100), <script>"),
        ("thread x:\napp.main", "no thread 'x' with such calls"),
        ("a\0b", "the expectation has a control character: \\x00"),
        ("\x1b[31m", "the expectation has a control character: \\x1b"),
        ("# " + "x" * 70_000, "text must have at most 65,536 characters, got 70,002"),
        ("\n".join(f"f{number}" for number in range(600)), "it is about 1,200 functions"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(small: Served, text: str, error: str) -> None:
    message = refused(small, "expect", text=text)
    assert message.startswith(error) and "\n" not in message and message.isprintable()


def test_calls_that_are_written_and_steps_are_bounded(small: Served) -> None:
    """Calls that are compared are not kept, so that there may be any number of them."""
    with patch.object(expectation_panel, "_MOST_CALLS", 11):
        assert "22 calls are too many to compare here, at most 11" in refused(small, "expectation")
        assert asked(small, "expect", text=THREADS.replace("app.main", "app.leaf"))["calls"] == 12
        assert asked(small, "expectation", thread=0)["lines"] == 9  # the thread has 11
        assert "16 calls" in refused(small, "expectation", of="range", begin=US, end=17 * US)
    with patch.object(expectation_panel, "_MOST_CALLS", 10):
        assert "choose a shorter part" in refused(small, "expectation", of="call", lane=0, time=0, depth=0)
    with patch.object(expectation_panel, "_MOST_STEPS", 5):
        assert "too many ways" in refused(small, "expect", text=THREADS)
    with patch.object(expectation_panel, "MOST_TEXT_BYTES", 20):
        assert "at most 20 are shown here: choose functions" in refused(small, "expectation", of="all")


def test_a_kernels_thread_is_one_thread_on_all_its_cpus(tmp_path: Path) -> None:
    with opened(DATA / "graph.dat") as served:
        written = asked(served, "expectation", levels=1, patterns="vfs_*")
        assert asked(served, "expect", text=written["text"])["holds"]
        names = [line for line in written["text"].splitlines() if line.startswith("thread ")]
        assert (
            len(names) == len(set(names)) == len({lane.task.tid for lane in served.index().lanes()})
            or not names
        )


def test_the_text_is_the_body_of_its_request(server: Server) -> None:
    path = "/api/expect?thread=0"
    assert server.send("/api/expect", THREADS.encode()).json()["holds"]
    assert server.send(path, THREADS.replace("x6", "x5").encode()).json()["difference"]["what"] == "call"
    for body, status in ((b"\xff", 400), (b"x" * 65_537, 413), (b"", 400)):
        answer = server.send(path, body)
        assert (answer.status, list(answer.json())) == (status, ["error"])
    assert server.send(f"{path}&text=a", b"a").status == 400
    assert server.request(path).status == 405 and server.request(path).body == b""
    for headers in (
        {"authorization": None},
        {"origin": "http://evil.example"},
        {"sec_fetch_site": "cross-site"},
    ):
        assert server.send(path, b"a", **headers).status == 403
    assert server.send(path, b"a", host="evil.example").status == 421
    assert server.send("/api/values", b"a").status == server.send("/", b"a").status == 405
