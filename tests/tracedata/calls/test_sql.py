"""`Trace.sql` and `funcgraph sql`: tables are what the trace has, and a query can do no harm."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from tracefile import RAISE, RETURN, Task, Trace, head, values

import funcgraph
from funcgraph import cli
from funcgraph.tracedata import Selection, TraceError, TraceFile
from funcgraph.tracedata.sql import MISSING, SqlError
from tracedata.programs import STEPS, Program, Step

pytestmark = [
    pytest.mark.one_python,
    # Not importorskip(): the tests before these would run beside all that they import.
    pytest.mark.skipif(not (find_spec("duckdb") and find_spec("pyarrow")), reason="no extra 'sql'"),
]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "sql.md"
S, US = 1_000_000_000, 1000
HANDLE, RENDER, QUERY, PAY = range(4)
FUNCTIONS = [
    ("shop", "handle", "/shop.py", 1, 0, ["path"]),
    ("shop", "render", "/shop.py", 9, 0, []),
    ("shop", "query", "/shop.py", 20, 0, ["sql"]),
    ("shop", "pay", "/shop.py", 30, 0, []),
]
EVENTS = [["shop", "order", 8, ""], ["shop", "paid", 8, "s32 amount 0 8;string who 0 12"]]


class Shop:
    """Requests of two threads. Each call takes 10 us of its own, in addition to its callees."""

    def __init__(self) -> None:
        self.trace = Trace(FUNCTIONS, event_types=EVENTS)
        self.tasks = [self.trace.task(70 + i, f"worker-{i}", pid=70) for i in range(2)]
        self.now = S
        self.request(0, "/", ["user"])
        self.request(0, "/cart", ["user", "item", "item", "item"], pay=(30, b"ann\0"))
        self.request(1, "/list", ["item"] * 5 + ["user"] * 3)
        self.request(1, "/pay", [], pay=(12, b"bob\0"), fails=True)

    def request(
        self,
        number: int,
        path: str,
        queries: list[str],
        pay: tuple[int, bytes] | None = None,
        fails: bool = False,
    ) -> None:
        task = self.tasks[number]
        begin = self.enter(task, HANDLE, 0, path)
        page = self.enter(task, RENDER, 1)
        for query in queries:
            self.leave(task, QUERY, 2, self.enter(task, QUERY, 2, query))
        self.leave(task, RENDER, 1, page)
        if pay:
            task.add(self.now, head(3000, task.tid))
            paying = self.enter(task, PAY, 1)
            self.now += 10 * US
            amount, who = pay
            task.add(self.now, head(3001, task.tid) + struct.pack("<iI", amount, 16 | len(who) << 16) + who)
            self.leave(task, PAY, 1, paying)
        self.leave(task, HANDLE, 0, begin, RAISE if fails else RETURN, "KeyError" if fails else 200)

    def enter(self, task: Task, function: int, depth: int, *arguments: object) -> int:
        self.now += US
        task.enter(self.now, function, depth, args=values(*arguments) if arguments else b"")
        return self.now

    def leave(
        self, task: Task, function: int, depth: int, begin: int, kind: int = RETURN, result: object = None
    ) -> None:
        self.now += 10 * US
        recorded = b"" if result is None else values(result)
        task.leave(self.now, function, depth, calltime=begin, kind=kind, result=recorded)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Shop().trace.save(tmp_path_factory.mktemp("sql") / "shop.dat")


ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "Which functions take the most time?": [
        ("shop.query", 13, 0.13), ("shop.render", 4, 0.053), ("shop.handle", 4, 0.046), ("shop.pay", 2, 0.04),
    ],
    "Who calls `shop.query` most?": [("shop.render", 13)],
    "Which were the ten slowest requests, and how did they end?": [
        ("path='/list'", 0.109, "return", "200"), ("path='/cart'", 0.086, "return", "200"),
        ("path='/pay'", 0.042, "raise", "'KeyError'"), ("path='/'", 0.032, "return", "200"),
    ],
    "N+1 queries: which requests made the same query several times?": [
        (11, "sql='item'", 5), (4, "sql='item'", 3), (11, "sql='user'", 3),
    ],
    "How much time passes between two events, here from `order` to `paid` in the same thread?": [
        (11.0, 11.0),
    ],
    "What was paid, by whom? Fields of events are JSON:": [("ann", 30), ("bob", 12)],
    "Which exceptions ended calls, and where?": [("'KeyError'", "shop.handle", 1)],
    "How busy was each thread?": [("worker-1", 71, 0.99), ("worker-0", 70, 0.99)],
    "The 99th percentile of each function's durations:": [
        ("shop.handle", 0), ("shop.render", 0), ("shop.pay", 0), ("shop.query", 0),
    ],
}  # fmt: skip


def examples() -> dict[str, str]:
    """Return the questions of the page, each with its query."""
    found = re.findall(
        r"^([^\n]+(?:\n[^\n]+)*)\n\n```sql\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    return {" ".join(question.split()): query for question, query in found}


def test_the_page_has_an_answer_for_each_question() -> None:
    assert list(examples()) == list(ANSWERS)


@pytest.mark.parametrize("question", ANSWERS)
def test_a_documented_query_answers_its_question(shop: Path, question: str) -> None:
    with funcgraph.open(shop) as trace:
        found = list(trace.sql(examples()[question]))
    expected = ANSWERS[question]
    exact = "percentile" not in question and "busy" not in question
    assert [row if exact else row[0] for row in found] == [row if exact else row[0] for row in expected]


def test_the_page_describes_all_columns(shop: Path) -> None:
    page = PAGE.read_text()
    with funcgraph.open(shop) as trace:
        for table in ("calls", "events", "stacks", "functions", "tasks"):
            columns = [name for name, *_ in trace.sql(f"DESCRIBE {table}")]
            described = (
                page.partition(f"| `{table}` |")[2].partition("\n\n")[0]
                or page.partition(f"`{table}` has")[2].partition(
                    "`records`" if table == "tasks" else "`line`"
                )[0]
            )
            missing = [c for c in columns if f"`{c}`" not in described and c not in ("records", "line")]
            assert not missing, f"{table}: {missing}"


@settings(max_examples=10, deadline=None)
@given(steps=STEPS)
def test_counts_and_own_times_are_the_summarys(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.dat"
    Program(steps).trace.save(path)
    with funcgraph.open(path) as trace:
        rows = trace.sql("SELECT function, count(*), sum(resumes), sum(self) FROM calls GROUP BY ALL")
        assert {name: figures for name, *figures in rows} == {
            row.name: [row.calls, row.resumes, row.self_ns] for row in TraceFile(path).summary()
        }
        events = list(trace.sql("SELECT time_ns, kind, function, task, depth FROM events"))
        tasks = {task: number for number, task in enumerate(trace.tasks)}
        assert events == [
            (e.time_ns, e.kind, e.function.name if e.function else None, tasks[e.task], e.depth)
            for e in trace.events()
        ]


def test_functions_of_one_name_are_grouped_by_it(tmp_path: Path) -> None:
    """They have two entries in the dictionary of names."""
    trace = Trace(["m.f", "m.f", "m.g"])
    task = trace.task(69)
    for place, function in enumerate((0, 1, 2, 1)):
        task.leave(S + place, function, 0, calltime=S)
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as read:
        rows = read.sql("SELECT function, count(*) FROM calls GROUP BY function ORDER BY 1")
        assert list(rows) == [("m.f", 3), ("m.g", 1)]
        assert list(read.sql("SELECT count(*) FROM calls WHERE function = 'm.f'")) == [(3,)]


def test_a_selection_and_parameters_narrow_the_question(shop: Path) -> None:
    with funcgraph.open(shop) as trace:
        query = "SELECT count(*) FROM calls WHERE function = ?"
        assert list(trace.sql(query, ["shop.query"])) == [(13,)]
        assert list(trace.sql(query, ["shop.query"], select=Selection(tasks=["worker-1"]))) == [(8,)]
        assert list(trace.sql("SELECT $n AS n", {"n": 3})) == [(3,)]


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{new}'",
        "COPY calls TO '{new}' (FORMAT parquet)",
        "EXPORT DATABASE '{new}'",
        "ATTACH '{new}'",
        "SELECT * FROM '{there}'",
        "SELECT * FROM read_csv('{there}')",
        "SELECT * FROM read_text('{there}')",
        "SELECT * FROM glob('/*')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false; COPY (SELECT 1) TO '{new}'",
        "PRAGMA enable_profiling; SET profiling_output = '{new}'",
        "SELECT getenv('HOME')",
    ],
)
def test_a_query_sees_nothing_but_the_trace(shop: Path, tmp_path: Path, query: str) -> None:
    there = tmp_path / "there.csv"
    there.write_text("secret\n1\n")
    new = tmp_path / "new"
    with funcgraph.open(shop) as trace, pytest.raises(SqlError):
        list(trace.sql(query.format(new=new, there=there)))
    assert list(tmp_path.iterdir()) == [there]


def test_files_are_written_if_that_is_asked_for(shop: Path, tmp_path: Path) -> None:
    with funcgraph.open(shop) as trace:
        query = f"COPY (SELECT count(*) AS n FROM calls) TO '{tmp_path / 'n.csv'}'"
        assert list(trace.sql(query, external=True)) == [(1,)]
    assert (tmp_path / "n.csv").read_text() == "n\n23\n"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main(["sql", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_no_cell_of_csv_is_a_formula(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT '=1+1' AS \"@a\", '\t=1' AS b, -5 AS c, 'x-1' AS d"
    _, out, _ = run(capsys, "-i", shop, "--csv", query)
    assert list(csv.reader(io.StringIO(out, newline=""))) == [
        ["'@a", "b", "c", "d"],
        ["'=1+1", "'\t=1", "-5", "x-1"],
    ]


def test_the_command_prints_tables_csv_and_json(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT function, count(*) AS calls, NULL AS nothing FROM calls GROUP BY ALL ORDER BY 2 DESC, 1"
    status, out, err = run(capsys, shop, query)
    assert (status, err) == (0, "")
    assert out.splitlines()[:2] == ["function     calls  nothing", "shop.query      13"]
    _, out, _ = run(capsys, "-i", shop, "--csv", query)
    assert list(csv.reader(io.StringIO(out)))[:2] == [
        ["function", "calls", "nothing"],
        ["shop.query", "13", ""],
    ]
    _, out, _ = run(capsys, shop, query, "--json")
    assert json.loads(out)[0] == {"function": "shop.query", "calls": 13, "nothing": None}
    assert run(capsys, shop, "SELECT 1 WHERE false", "--json")[1] == "[]\n"
    assert run(capsys, shop, "SELECT count(*) AS n FROM calls", "-g", "shop.pay")[1] == "n\n2\n"


def test_a_hostile_name_does_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "it's\x1b[31m\"; DROP TABLE calls; --\n\udcff"
    trace = Trace([("m", name, "", 1, 0, [])])
    trace.task(69, name).leave(S, 0, 0, calltime=S)
    path = trace.save(tmp_path / "trace.dat")
    status, out, err = run(capsys, path, "SELECT function, name FROM calls JOIN tasks ON tasks.id = task")
    assert (status, err, out.count("\n")) == (0, "", 2)
    assert "\x1b" not in out
    _, out, _ = run(capsys, path, "SELECT function FROM calls", "--json")
    assert json.loads(out) == [{"function": "m." + name.replace("\udcff", "\\udcff")}]


def test_a_wrong_query_is_one_error(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, shop, "SELECT functoin FROM calls")
    assert (status, out) == (2, "")
    assert '"function"' in err
    assert "^" in err
    assert run(capsys, shop, "SELECT 1", "-l", "nobody")[0] == 2
    for words, message in (
        ([shop], f"{shop}: is a file: a query must follow"),
        ([shop, " "], "the query is empty"),
        ([shop, "SELECT \udcff"], r"the query is not UTF-8: 'SELECT \udcff'"),
    ):
        status, out, err = run(capsys, *words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    status, _, err = run(capsys, shop.parent / "missing.fg", "SELECT 1")
    assert (status, err) == (2, f"funcgraph: {shop.parent / 'missing.fg'}: No such file or directory\n")


def test_without_duckdb_one_line_says_what_to_install(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with patch.dict(sys.modules, {"duckdb": None}):
        assert run(capsys, shop, "SELECT 1") == (2, "", f"funcgraph: {MISSING}\n")
        with (
            funcgraph.open(shop) as trace,
            pytest.raises(ImportError, match=r"pip install 'funcgraph\[sql\]'"),
        ):
            trace.sql("SELECT 1")


@pytest.mark.parametrize("words", [(), ("--csv",), ("--json",)])
def test_a_damaged_trace_gives_what_is_whole_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    trace = Trace(["m.f"])
    task = trace.task(69)
    for number in range(3):
        task.leave(S + number, 0, 0, calltime=S)
    task.add(S + 9, head(10, 69))  # too short for the end of a call
    task.leave(S + 10, 0, 0, calltime=S)
    path = trace.save(tmp_path / "trace.dat")
    status, out, err = run(capsys, path, "SELECT count(*) AS n FROM calls", *words)
    assert (status, re.findall(r"\d+", out)) == (2, ["3"])
    assert err.startswith(f"funcgraph: {path}: damaged: ")
    with funcgraph.open(path) as read:
        rows = read.sql("SELECT id FROM calls")
        assert [next(rows), next(rows), next(rows)] == [(1,), (2,), (3,)]
        with pytest.raises(TraceError, match="damaged"):
            next(rows)


def test_each_scan_reads_the_trace_once_and_keeps_nothing(shop: Path) -> None:
    """Memory is bounded: batches are made while DuckDB takes them, and none outlives its turn."""
    alive: dict[str, int] = defaultdict(int)
    real = funcgraph.Trace.call_columns

    def counting(self: funcgraph.Trace, **keywords: Any) -> Any:
        alive["scans"] += 1
        return real(self, **{**keywords, "size": 1})

    with patch.object(funcgraph.Trace, "call_columns", counting), funcgraph.open(shop) as trace:
        assert list(trace.sql("SELECT count(*) FROM calls")) == [(23,)]
        assert alive["scans"] == 1
        assert list(trace.sql("SELECT count(*) FROM calls a JOIN calls b USING (id)")) == [(23,)]
        assert alive["scans"] == 3
