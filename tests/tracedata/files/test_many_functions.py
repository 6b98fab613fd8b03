"""A trace that names very many functions takes little memory: 4 MB can name 1.5 million."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from many_symbols import with_symbols
from ringfile import add_ring, leaf
from tracereader import Desk

import funcgraph
from funcgraph import _tracedata
from funcgraph.export import export_trace
from funcgraph.tracedata.description import Function, decode_description
from funcgraph.tracedata.large_json import MOST_MADE
from funcgraph.tracedata.large_list import MOST_KEPT, LargeList, numbers_of
from funcgraph.tracedata.opened import file_of
from funcgraph.tracedata.selection import Selection
from funcgraph.view.export_page import export_page
from funcgraph.view.served import Served

pytestmark = pytest.mark.one_python

S = 1_000_000_000
MANY = MOST_MADE + 10_000
# Exports a trace, and prints how much memory that took.
PEAK = """
import resource, sys
from funcgraph.export import export_trace
export_trace(*sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a trace with 50 calls of `m.f`."""
    desk = Desk(tmp_path_factory.mktemp("many"))
    ring = desk.ring()
    ring.process(1, "python", "app.py")
    ring.function(0, "m.f")
    ring.task(1, 4711, "main")
    ring.put(1, b"".join(leaf(S + 1000 * i, 0, 0, 100 + i) for i in range(50)))
    recorder = desk.recorder()
    recorder.finish(add_ring(recorder, ring.path))
    recorder.complete(json.dumps({"command": ["app.py"]}))
    recorder.close()
    return desk.part.read_bytes()


@pytest.fixture(scope="module")
def many(whole: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.fg"
    path.write_bytes(with_symbols(whole, MANY))
    return path


@pytest.fixture(scope="module")
def few(whole: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("few") / "many.fg"  # pages have the name
    path.write_bytes(with_symbols(whole, 0))
    return path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Return how many functions are kept of all lists."""
    lists: list[LargeList[object]] = []
    begin = LargeList.__init__

    def note(self: LargeList[object], size: int, make: Callable[[int], object]) -> None:
        begin(self, size, make)
        lists.append(self)

    monkeypatch.setattr(LargeList, "__init__", note)
    yield lambda: sum(len(one._kept) for one in lists)
    assert lists


def test_they_have_the_names_that_the_trace_has(many: Path) -> None:
    with funcgraph.open(many) as trace:
        functions = trace.functions
        assert len(functions) == MANY + 1
        assert functions[0] == trace.functions[-MANY - 1] == next(iter(functions))
        assert functions[0].name == "m.f"
        expected = [Function("", f"f{10 + n:x}", "", 1, 0, ()) for n in range(MANY)]
        assert list(functions)[1:] == functions[1:] == expected
        assert functions[MANY] == expected[-1]
        with pytest.raises(IndexError):
            functions[MANY + 1]


def test_only_those_that_are_looked_at_are_made(many: Path, made: Callable[[], int], tmp_path: Path) -> None:
    with funcgraph.open(many) as trace:
        assert made() == 0
        for event in trace.events():
            assert event.function is not None
        assert made() == 1
    export_trace(many, tmp_path / "t.html")
    assert made() == 2
    served = Served(0, str(many))
    export_page(served, Selection())
    served.close()
    assert made() <= 4


def test_pages_and_figures_are_those_of_a_trace_without_them(many: Path, few: Path, tmp_path: Path) -> None:
    found = []
    for path in (many, few):
        export_trace(path, tmp_path / "t.html")
        with funcgraph.open(path) as trace:
            calls = [(call.function, call.begin_ns, call.duration_ns) for call in trace.calls()]
            lanes = [lane.calls for lane in trace.lanes()]
            rows = [(row.name, row.calls, row.total_ns) for row in file_of(trace).summary()]
            text = b"".join(file_of(trace).report())
        served = Served(0, str(path))
        page, _ = export_page(served, Selection())
        served.close()
        found.append(((tmp_path / "t.html").read_text(), calls, lanes, rows, text, len(page) // 1000))
    assert found[0] == found[1]
    assert len(found[0][1]) == 50


def test_a_reader_takes_little_memory_for_each(whole: bytes, few: Path, tmp_path: Path) -> None:
    count = 200_000
    path = tmp_path / "many.fg"
    path.write_bytes(with_symbols(whole, count))
    peaks = []
    for one in (few, path):
        command = [sys.executable, "-c", PEAK, one, tmp_path / "t.html"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 200 * count  # 300 MB for 1.5 million; it was 700


class Rows:
    """Rows of functions that say a wrong number of them."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        return iter([("m.f", "", 0), ("m.g", "", 0)])


@pytest.mark.parametrize(("size", "text"), [(1, "more functions"), (3, "fewer functions")])
def test_rows_that_are_not_as_many_as_they_say_are_refused(few: Path, size: int, text: str) -> None:
    reader = _tracedata.Reader(few)
    with pytest.raises(ValueError, match=rf"{text} than their len\(\) says"):
        reader.set_names(Rows(size), [], True)
    reader.set_names(Rows(2), [], True)


def test_a_reader_lists_few_functions_and_gives_many_one_by_one(few: Path, many: Path) -> None:
    assert _tracedata.Reader(few).nr_unlisted == 0
    reader = _tracedata.Reader(many)
    assert reader.nr_unlisted == MANY + 1
    assert json.loads(reader.meta or b"")["functions"] == []
    assert json.loads(reader.function(0)) == ["m", "f", "/src/m.py", 1, 0, []]
    for number in (-1, MANY + 1, 2**70):
        with pytest.raises(IndexError):
            reader.function(number)


# ---- functions that JSON lists, as in a trace.dat


def test_json_of_very_many_functions_is_decoded_when_somebody_looks() -> None:
    rows = [["m", f"f{n}", "m.py", n, 0, ["a"]] for n in range(MANY)]
    functions = decode_description(
        json.dumps({"version": 1, "functions": rows, "tasks": []}).encode()
    ).functions
    assert isinstance(functions, LargeList)
    assert len(functions) == MANY
    assert functions[MANY - 1] == Function("m", f"f{MANY - 1}", "m.py", MANY - 1, 0, ("a",))
    assert [one.line for one in islice(functions, 5)] == [0, 1, 2, 3, 4]


def test_a_wrong_one_of_very_many_is_found_when_the_trace_is_opened() -> None:
    rows = [["m", f"f{n}", "m.py", n, 0, ["a"]] for n in range(MANY)]
    rows[-1] = ["m", "f", "m.py", -1, 0, []]
    with pytest.raises(funcgraph.TraceError, match="-1 is not a number"):
        decode_description(json.dumps({"version": 1, "functions": rows, "tasks": []}).encode())


# ---- the list


def test_a_list_keeps_a_bounded_number_of_items() -> None:
    items = LargeList(3 * MOST_KEPT, str)
    for number in range(len(items)):
        assert items[number] == str(number)
    assert len(items._kept) <= MOST_KEPT
    assert items[-1] is items[len(items) - 1]


def test_the_first_of_each_key_is_found() -> None:
    items = LargeList(MANY, lambda number: number % (MANY // 2))
    numbers = numbers_of(items, str)
    assert not isinstance(numbers, dict)
    assert len(numbers) == MANY // 2
    assert dict(numbers) == {str(number): number for number in range(MANY // 2)}
    assert "x" not in numbers
    assert numbers_of(["a", "b", "a"], str.upper) == {"A": 0, "B": 1}
