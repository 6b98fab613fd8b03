"""Promise: answers about calls and call trees are those of a slow model that looks at all calls; what is done
to a tree loses no time but what is left out on purpose."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracedata.calls.test_call_index import Model, Stretch
from tracedata.programs import STEPS, Program, Step

from funcgraph.page import path_tree
from funcgraph.page.path_tree import NO_PARENT, OTHERS, PathTree
from funcgraph.tracedata.description import Function
from funcgraph.view import window_tree
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import QUESTIONS
from funcgraph.view.served import Served
from funcgraph.view.source_lines import source_of
from view.servers import BEGIN, EVIL, LEAF, MAIN, SLEEP, US

pytestmark = pytest.mark.one_python


@contextmanager
def opened(path: Path) -> Iterator[Served]:
    served = Served(0, str(path))
    served.start()
    try:
        yield served
    finally:
        served.index()
        served.close()


def ask(served: Served, question: str, **parameters: object) -> Any:
    row = QUESTIONS[question]
    items = [(name, str(value)) for name, value in parameters.items()]
    return row.answer(served, Parameters(items, ("trace", *row.parameters, *filter(None, [row.body]))))


@pytest.fixture(scope="module")
def small(trace_path: Path) -> Iterator[Served]:
    with opened(trace_path) as served:
        yield served


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("queries") / "trace.dat"


# ---- one call


def test_a_call_has_its_arguments_result_and_callers(small: Served) -> None:
    calls = [ask(small, "call", lane=0, time=time * US, depth=1)["call"] for time in (1, 9, 17)]
    assert [call["arguments"] for call in calls] == [[["value", f"'<script>{n}\\x1b'"]] for n in range(3)]
    assert [(call["result"], call["exception"], call["ended"]) for call in calls] == [
        ("7", None, "return"), ("7", None, "return"), (None, "KeyError", "raise"),
    ]  # fmt: skip
    for call in calls:
        assert (call["function"], call["depth"], call["of"]) == (EVIL, 1, 6)
        assert (call["total_ns"], call["own_ns"]) == (7 * US, 3 * US)
        assert [(parent["function"], parent["line"]) for parent in call["parents"]] == [(MAIN, 3)]
        assert call["source"] is None
        assert "funcgraph report --task 100 " in call["report"]
    assert ask(small, "call", lane=0, time=500)["call"]["function"] == MAIN
    assert ask(small, "call", lane=0, time=500, depth=1)["call"] is None
    assert ask(small, "call", lane=0, time=10**9)["call"] is None


def test_steps_go_from_call_to_call(small: Served) -> None:
    begins, time = [], 0
    while (call := ask(small, "step", function=EVIL, time=time, lane=1)["call"]) is not None:
        begins.append(time := call["begin_ns"])
    assert begins == [1 * US, 9 * US, 17 * US]
    raised = ask(small, "step", function=EVIL, time=0, lane=1, raised=1)["call"]
    assert (raised["begin_ns"], raised["ended"]) == (17 * US, "raise")
    last = ask(small, "step", function=EVIL, time=10**6, direction="previous", lane=0)["call"]
    assert last["begin_ns"] == 17 * US
    assert ask(small, "step", function=LEAF, time=0, raised=1) == {"call": None}


def test_the_longest_and_the_histogram(small: Served) -> None:
    longest = ask(small, "longest", function=SLEEP, most=1, least=50 * US)["calls"]
    assert [call["end_ns"] - call["begin_ns"] for call in longest] == [50 * US]
    assert ask(small, "longest", function=SLEEP, least=50 * US + 1)["calls"] == []
    assert ask(small, "histogram", function=LEAF)["bins"] == [(1024, 12)]


def test_search_finds_names_and_values(small: Served) -> None:
    found = ask(small, "search", text="LEAF", lane=0)
    assert (found["functions"], found["count"], found["complete"]) == ([LEAF], 6, True)
    assert [hit["begin_ns"] for hit in found["hits"]] == sorted(hit["begin_ns"] for hit in found["hits"])
    part = ask(small, "search", text="app.l*", begin=9 * US, end=17 * US, lane=0)
    assert part["count"] == 2
    cut = ask(small, "search", text="leaf", most=5)
    assert (len(cut["hits"]), cut["count"], cut["complete"]) == (5, 12, False)
    values = ask(small, "search", text="<SCRIPT>1", values=1)
    assert [(hit["function"], hit["begin_ns"], hit["end_ns"]) for hit in values["hits"]] == [
        (EVIL, 9 * US, 16 * US)
    ] * 2
    raised = ask(small, "search", text="keyerr", values=1, lane=1)
    assert [(hit["lane"], hit["depth"]) for hit in raised["hits"]] == [(1, 1)]


def test_text_is_that_of_the_report(small: Served) -> None:
    answer = ask(small, "text", lane=0, begin=0, end=10**6)
    lines = [line for line in answer["lines"] if not line.startswith("#")]
    assert len(lines) == 15 and not answer["cut"] and "\x1b" not in "".join(lines)
    assert lines[0].endswith("app.main() {") or "app.main" in lines[0]
    assert ask(small, "text", lane=0, begin=0, end=10**6, most=5)["cut"]


def test_source_is_read_from_regular_files_alone(tmp_path: Path) -> None:
    """A trace may name a device, a FIFO, a folder or nothing that is there: none of these is read."""
    good = tmp_path / "a.py"
    good.write_text("import os\n\n@deco\ndef f(\n    a,\n):\n    return 1\n\ndef g(): pass\n")
    (tmp_path / "b.py").symlink_to(good)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "binary").write_bytes(b"a\0b\n" * 9)

    def source(path: object, line: int = 4) -> Any:
        return source_of(Function("m", "f", str(path), line, 0, ()))

    lines = good.read_text().splitlines()
    assert source(good)["lines"] == [[number, lines[number - 1]] for number in range(2, 8)]
    assert source(tmp_path / "b.py") is not None
    for path in (
        fifo,
        tmp_path,
        "/dev/zero",
        "/dev/tty",
        tmp_path / "binary",
        tmp_path / "no",
        "",
        "a.py",
        "a\0b",
    ):
        assert source(path) is None, path
    assert source(good, 100) is None and source(good, 0) is None
    good.write_text("x = 1\n" * 10_000 + "y" * 10_000)
    assert len(source(good)["lines"]) <= 300
    assert len(source(good, 10_001)["lines"][-1][1]) == 500


# ---- trees


def clipped_tree(spans: list[Stretch], begin: int, end: int) -> Counter[tuple[int, ...]]:
    """The model: the own time of each path of functions within a part of one lane's time."""
    inside = [span for span in spans if span.begin < end and span.end > begin]
    length = {span: min(span.end, end) - max(span.begin, begin) for span in inside}
    above = {}
    for span in inside:
        around = [s for s in inside if s.depth < span.depth and s.begin <= span.begin and span.end <= s.end]
        above[span] = max(around, key=lambda s: s.depth, default=None)
    own: Counter[Stretch] = Counter(length)
    for span, parent in above.items():
        if parent is not None:
            own[parent] -= length[span]

    def path(span: Stretch | None) -> tuple[int, ...]:
        return () if span is None else (*path(above[span]), span.function)

    tree: Counter[tuple[int, ...]] = Counter()
    for span, ns in own.items():
        tree[path(span)] += ns
    return +tree


def paths_of(tree: PathTree) -> Counter[tuple[int, ...]]:
    """The own time of each path."""
    paths: list[tuple[int, ...]] = []
    own: Counter[tuple[int, ...]] = Counter()
    for parent, function, _, own_ns, _ in tree.rows():
        paths.append((*(paths[parent] if parent != NO_PARENT else ()), function))
        own[paths[-1]] += own_ns
    return +own


@settings(max_examples=100, deadline=None)
@given(
    steps=STEPS.map(lambda steps: [step for step in steps if step.what != "wait"]),
    part=st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
    from_file=st.booleans(),
)
def test_the_tree_of_a_part_is_the_models(
    scratch: Path, steps: list[Step], part: tuple[int, int], from_file: bool
) -> None:
    """Also where each piece is read from the file, as that of a large trace is."""
    Program(steps).trace.save(scratch)
    limit = -1 if from_file else window_tree._MOST_SPANS
    with opened(scratch) as served, patch.object(window_tree, "_MOST_SPANS", limit):
        spans = Model(served.trace).spans
        lanes = served.index().lanes()
        length = served.duration_ns + 1
        begin, end = sorted(served.begin_ns + length * place // 1000 for place in part)
        made = window_tree.window_tree(served, lanes, begin, max(end, begin + 1))
        expected: Counter[tuple[int, ...]] = Counter()
        for lane in lanes:
            own = [span for span in spans if span.lane == lane.number]
            expected += clipped_tree(own, begin, max(end, begin + 1))
        assert paths_of(made) == expected


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_the_whole_tree_and_table_are_those_of_the_summary(scratch: Path, steps: list[Step]) -> None:
    program = Program(steps)
    program.trace.save(scratch)
    with opened(scratch) as served:
        rows = {row[0]: row for row in ask(served, "table")["rows"]}
        page_asks = {"begin": 0, "end": served.duration_ns + 2}  # broken by no shortest and longest then
        assert ask(served, "table", **page_asks)["rows"] == [*rows.values()]
        for row in served.reader().summary():
            _, calls, _, own, least, most, raised = rows.pop(served.number_or_unknown(row.function))
            assert (calls, own, raised) == (row.calls, row.self_ns, row.exceptions)
            if row.ended:
                assert (least, most) == (row.min_ns, row.max_ns)
        assert not rows


def test_calls_that_end_with_the_part_are_in_its_tree(small: Served) -> None:
    """Also where the piece is read from the file. Broken by reading up to before the end."""
    lanes = small.index().lanes()[:1]
    trees = []
    for limit in (-1, window_tree._MOST_SPANS):
        with patch.object(window_tree, "_MOST_SPANS", limit):
            trees.append(window_tree.window_tree(small, lanes, BEGIN + 500, BEGIN + 8 * US))
            trees.append(window_tree.window_tree(small, lanes, BEGIN + 500, BEGIN + 4 * US))
    assert [paths_of(tree) for tree in trees[:2]] == [paths_of(tree) for tree in trees[2:]]
    assert paths_of(trees[0])[MAIN, EVIL, LEAF] == 4 * US
    assert paths_of(trees[1])[MAIN, EVIL, LEAF] == 2 * US


TREES = st.lists(
    st.tuples(
        st.integers(-1, 30), st.integers(0, 4), st.integers(0, 3), st.integers(0, 100), st.integers(0, 1)
    ),
    max_size=30,
)


def made_tree(rows: list[tuple[int, int, int, int, int]]) -> PathTree:
    tree = PathTree()
    for parent, function, calls, own_ns, raised in rows:
        above = parent if parent < len(tree) else NO_PARENT
        tree.add(above, function, calls, own_ns, raised)
    return tree


def expected_paths(tree: PathTree, change: Any) -> Counter[tuple[int, ...]]:
    """Change each path by itself; None: it is gone."""
    own: Counter[tuple[int, ...]] = Counter()
    for path, ns in paths_of(tree).items():
        changed = change(path)
        if changed is not None:
            own[changed] += ns
    return +own


def without_recursion(path: tuple[int, ...]) -> tuple[int, ...]:
    kept: list[int] = []
    for function in path:
        if function in kept:
            del kept[kept.index(function) + 1 :]
        else:
            kept.append(function)
    return tuple(kept)


def module_path(path: tuple[int, ...]) -> tuple[int, ...]:
    groups = [-2 - function % 2 for function in path]
    return tuple(group for n, group in enumerate(groups) if not n or groups[n - 1] != group)


@settings(max_examples=150, deadline=None)
@given(rows=TREES, chosen=st.sets(st.integers(0, 4)))
def test_what_is_done_to_a_tree_is_done_to_each_path(
    rows: list[tuple[int, int, int, int, int]], chosen: set[int]
) -> None:
    tree = made_tree(rows)
    changes = [
        (path_tree.hide(tree, chosen), lambda path: tuple(f for f in path if f not in chosen) or None),
        (path_tree.without(tree, chosen), lambda path: None if chosen & {*path} else path),
        (path_tree.focus(tree, chosen), lambda path: path if chosen & {*path} else None),
        (path_tree.merge_recursion(tree), without_recursion),
        (path_tree.collapse(tree, lambda function: -2 - function % 2), module_path),
        (path_tree.invert(tree), lambda path: path[::-1]),
    ]
    for made, change in changes:
        assert paths_of(made) == expected_paths(tree, change)
        assert all(parent < place for place, parent in enumerate(made.parent))
        assert len(set(zip(made.parent, made.function, strict=True))) == len(made)
    for made in (changes[3][0], changes[4][0]):
        assert sum(made.own_ns) == sum(tree.own_ns)
    assert sum(changes[3][0].calls) == sum(tree.calls)
    inverted = changes[5][0]
    roots = [place for place in range(len(inverted)) if inverted.parent[place] == NO_PARENT]
    totals, by_function = inverted.total_ns(), Counter[int]()
    for _, function, _, own_ns, _ in tree.rows():
        by_function[function] += own_ns
    assert +Counter({inverted.function[root]: totals[root] for root in roots}) == +by_function


@settings(max_examples=100, deadline=None)
@given(rows=TREES, most=st.integers(3, 30))
def test_a_cut_tree_has_all_time_and_calls(rows: list[tuple[int, int, int, int, int]], most: int) -> None:
    tree = made_tree(rows)
    cut, is_cut = path_tree.largest(tree, most, tree.total_ns())
    assert len(cut) <= most and is_cut == (len(tree) > most)
    assert (sum(cut.own_ns), sum(cut.calls)) == (sum(tree.own_ns), sum(tree.calls))
    assert is_cut == (OTHERS in cut.function)


def test_deep_trees_need_no_deep_stack() -> None:
    tree, above = PathTree(), NO_PARENT
    for depth in range(10_000):
        above = tree.add(above, depth % 3, 1, 1)
    assert path_tree.merge_recursion(tree).total_ns()[0] == 10_000
    assert sum(tree.outermost()) == 3
    assert len(path_tree.focus(tree, {2})) == 10_000
    assert sum(path_tree.invert(tree).own_ns) == 10_000


def test_callers_and_callees_are_those_of_each_call(small: Served) -> None:
    answer = ask(small, "butterfly", function=EVIL)
    assert answer["callers"] == [[MAIN, 6, 42 * US]]
    assert answer["callees"] == [[LEAF, 12, 24 * US]]
    assert (answer["calls"], answer["total_ns"], answer["own_ns"]) == (6, 42 * US, 18 * US)
    one = ask(small, "butterfly", function=EVIL, lanes="1", begin=9 * US, end=16 * US)
    assert one["callers"] == [[MAIN, 1, 7 * US]]


def test_waiting_is_left_out_and_functions_are_hidden(small: Served) -> None:
    def nodes(**parameters: object) -> set[int]:
        return {node[1] for node in ask(small, "tree", **parameters)["nodes"]}

    assert nodes() == {MAIN, EVIL, LEAF, SLEEP}
    assert nodes(waiting=0) == {MAIN, EVIL, LEAF}
    assert nodes(hide="app.leaf") == {MAIN, EVIL, SLEEP}
    assert nodes(focus="leaf") == {MAIN, EVIL, LEAF}
    collapsed = ask(small, "tree", collapse="module")
    assert {collapsed["modules"][-2 - node[1]] for node in collapsed["nodes"]} == {"app", "time"}
    assert ask(small, "tree", lanes="0")["nodes"][0][3] == small.duration_ns
    assert small.begin_ns == BEGIN


def test_lanes_of_a_part_are_chosen(small: Served) -> None:
    both = ask(small, "table", begin=0, end=8 * US)["rows"]
    one = ask(small, "table", begin=0, end=8 * US, lanes="1")["rows"]
    by_function: dict[int, list[int]] = defaultdict(list)
    for rows in (both, one):
        for row in rows:
            by_function[row[0]].append(row[3])
    assert all(two == 2 * half for two, half in by_function.values())


def test_a_kernels_trace_answers_about_its_lanes_calls_and_times() -> None:
    with opened(Path(__file__).parents[1] / "tracedata" / "data" / "graph.dat") as one:
        lanes = [lane for lane in ask(one, "lanes")["lanes"] if lane["calls"] and lane["kind"] == "thread"]
        assert lanes
        lane = max(lanes, key=lambda lane: lane["calls"])
        rows = one.index().spans(lane["number"], one.begin_ns, one.begin_ns + one.duration_ns + 1, 4000)
        longest = max(range(len(rows)), key=lambda place: rows.busy_ns[place] * (rows.count[place] == 1))
        place = {"time": rows.begin_ns[longest] - one.begin_ns, "depth": rows.depth[longest]}
        call = ask(one, "call", lane=lane["number"], **place)["call"]
        assert (call["function"], call["total_ns"]) == (rows.function[longest], rows.busy_ns[longest])
        functions = ask(one, "functions")["functions"]
        assert functions[call["function"]]["total_ns"] >= call["total_ns"]
        assert ask(one, "flows", lane=lane["number"], **place)["flows"] == []
