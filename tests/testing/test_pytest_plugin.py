"""Promise: `pytest --funcgraph` shows the end of each failing test's function graph, with values, and changes
no outcome; nothing is loaded and nothing is written for those who do not want it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from builds import needs_gil

import funcgraph.testing.call_record
import funcgraph.testing.pytest_graphs  # so that all runs in this process share it
from funcgraph.testing.choice import Choice
from funcgraph.testing.graph_text import graph_end
from funcgraph.testing.item_recorder import ItemRecorder
from funcgraph.testing.own_functions import own_functions

pytest_plugins = ["pytester"]

SHOP = """
def validate(n):
    return n > 0

class Cart:
    def save(self, amount):
        if amount == 4:
            raise OSError("disk full")
        return {"paid": amount}

def order(n):
    validate(n)
    return Cart().save(amount=n)

async def fetch(n):
    return order(n)
"""

TESTS = """
import shop

def test_passes():
    assert shop.order(3)

def test_fails():
    assert shop.order(2) is None

def test_raises():
    shop.order(4)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a package; the runs have no other plugins than those that a test names."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    pytester.makeini("[pytest]\npythonpath = src\n")
    pytester.mkdir("src").joinpath("shop.py").write_text(SHOP)
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_shop=tests)
    return project.runpytest_inprocess("-p", "funcgraph.testing.pytest_plugin", *options)


def files(project: pytest.Pytester) -> list[str]:
    return sorted(path.name for path in project.path.glob(".pytest_cache/d/funcgraph/*"))


def graph_of(result: pytest.RunResult, number: int = 0) -> list[str]:
    """Return the lines of a graph in a run's output, without times."""
    text = str(result.stdout)
    part = re.split(r"\n-+ funcgraph: .* -+\n", text)[number + 1].partition("\nall of it, as text")[0]
    return [line.partition("|")[2].rstrip() for line in part.splitlines()]


def test_a_run_without_the_options_loads_the_plugin_alone(project: pytest.Pytester) -> None:
    """Broken by: an import at the top of the plugin's module."""
    project.makepyfile("""
        def test_loaded():
            import sys
            found = sorted(name for name in sys.modules if name.startswith("funcgraph"))
            assert found == ["funcgraph", "funcgraph.testing", "funcgraph.testing.pytest_plugin"]
    """)
    project.runpytest_subprocess("-p", "funcgraph.testing.pytest_plugin").assert_outcomes(passed=1)


def test_pytest_finds_the_plugin(pytestconfig: pytest.Config) -> None:
    """Broken by: no entry point."""
    assert pytestconfig.pluginmanager.has_plugin("funcgraph")
    assert not pytestconfig.getoption("--funcgraph-slow")


@needs_gil("texts of exceptions are not read")
def test_failing_tests_show_their_calls_with_values(project: pytest.Pytester) -> None:
    result = run(project, TESTS, "--funcgraph")
    result.assert_outcomes(passed=1, failed=2)
    assert [re.sub(r"0x\w+", "0x", line) for line in graph_of(result, 1)] == [
        "  test_shop.test_raises() {",
        "    shop.order(n=4) {",
        "      shop.validate(n=4); /* ret=True */",
        "      shop.Cart.save(self=<Cart at 0x>, amount=4); /* raised OSError('disk full') */",
        "    } /* shop.order raised OSError('disk full') */",
        "  } /* test_shop.test_raises raised OSError('disk full') */",
    ]
    result.stdout.fnmatch_lines(
        ["funcgraph: tests recorded: 3 (about * calls), graphs of failing ones: 2; that took about *s"]
    )


def test_only_failing_tests_have_files(project: pytest.Pytester) -> None:
    result = run(project, TESTS, "--funcgraph")
    names = files(project)
    assert [name.rpartition("-")[0] for name in names] == ["test_shop.test_fails", "test_shop.test_raises"]
    (path,) = re.findall(r"(?m)^funcgraph report (\S*test_raises\S*)$", str(result.stdout))
    assert f"funcgraph view {path}" in str(result.stdout)
    with funcgraph.open(project.path / path) as trace:
        assert "shop.Cart.save" in {call.function.name for call in trace.calls()}


def test_the_file_of_a_test_that_passes_again_goes(project: pytest.Pytester) -> None:
    run(project, TESTS, "--funcgraph")
    run(project, TESTS.replace("order(4)", "order(5)"), "--funcgraph")
    assert [name.rpartition("-")[0] for name in files(project)] == ["test_shop.test_fails"]


def test_the_folder_can_be_chosen(project: pytest.Pytester) -> None:
    run(project, TESTS, "--funcgraph", "--funcgraph-dir=out/graphs")
    assert len(list((project.path / "out" / "graphs").glob("*.fg"))) == 2
    assert files(project) == []


def test_a_graph_is_cut_to_lines(project: pytest.Pytester) -> None:
    tests = "import shop\ndef test_fails():\n    for n in range(50): shop.validate(n)\n    assert 0\n"
    result = run(project, tests, "--funcgraph", "--funcgraph-lines=3")
    assert len(graph_of(result)) == 3
    result.stdout.fnmatch_lines(["*funcgraph: the last 3 of 52 lines of the function graph*"])
    assert len(graph_of(run(project, tests, "--funcgraph", "-vv"))) == 52


OVERFLOWS = """
import shop

def test_overflows():
    for n in range(200_000):
        shop.validate(n)
    assert shop.validate(0)
"""


def numbers_in(result: pytest.RunResult, pattern: str) -> list[int]:
    """Return the numbers in the groups of a pattern that is in a run's output."""
    found = re.search(pattern, str(result.stdout))
    assert found, result.stdout
    return [int(group.replace(",", "")) for group in found.groups()]


def test_a_ring_that_overflows_keeps_the_end(project: pytest.Pytester) -> None:
    """Broken by: a ring that grows, or keeps the first calls; a title that does not say what is gone."""
    result = run(project, OVERFLOWS, "--funcgraph", "--funcgraph-lines=3")
    assert [line.partition(" raised")[0] for line in graph_of(result)] == [
        "    shop.validate(n=199999); /* ret=True */",
        "    shop.validate(n=0); /* ret=False */",
        "  } /* test_shop.test_overflows",
    ]
    title = r"funcgraph: the last 3 of ([\d,]+) lines of the function graph, after ([\d,]+) older records -"
    lines, lost = numbers_in(result, title)
    assert lost > 100_000
    assert abs(lost + 2 * lines - 2 * 200_002) < 10  # a line is a call: its beginning and its end are records
    (path,) = project.path.glob(".pytest_cache/d/funcgraph/*.fg")
    assert 1 << 20 < path.stat().st_size < 5 << 20


def test_the_cost_counts_calls_that_the_ring_no_longer_has(project: pytest.Pytester) -> None:
    """Broken by: bytes of records that the ring holds at a test's end instead of all that were written."""
    result = run(project, OVERFLOWS, "--funcgraph")
    (calls,) = numbers_in(result, r"tests recorded: 1 \(about ([\d,]+) calls\)")
    assert 100_000 < calls < 400_000


def test_lines_are_cut_to_columns() -> None:
    with funcgraph.testing.calls(f"{__name__}.long_text") as calls:
        long_text("x" * 40)
    data = calls._read.__self__.trace()  # type: ignore[attr-defined]
    (whole,) = graph_end(data, None, None).lines
    assert len(whole) > 60
    assert all(len(line) == width for width in (1, 30, 79) for line in graph_end(data, None, width).lines)


def test_a_cut_line_has_the_result(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by cutting each line at its end: a call with long arguments then shows no result."""
    monkeypatch.setenv("COLUMNS", "80")
    tests = "import shop\ndef test_fails():\n    Saved().save('x' * 80, 40 * [1])\n    assert 0\n"
    tests += "class Saved:\n    def save(self, *items): self.check(items); return 'saved'\n"
    tests += "    def check(self, items): return len(items)\n"
    lines = graph_of(run(project, tests, "--funcgraph", "--funcgraph-lines=40"))
    (check,) = (line for line in lines if line.startswith("      test_shop.Saved.check(self=<Saved at 0x"))
    assert check.endswith("\u2026); /* ret=2 */")
    assert any(re.match(r"    test_shop.Saved.save\(self=.*\u2026\) \{$", line) for line in lines)
    assert "    } /* test_shop.Saved.save ret='saved' */" in lines


def test_a_run_without_a_call_says_so(project: pytest.Pytester) -> None:
    result = run(project, TESTS, "--funcgraph=nosuch.*,no.such")
    result.stdout.fnmatch_lines(
        [
            "funcgraph: tests recorded: 3 (about 0 calls), graphs of failing ones: 0; *",
            "funcgraph: no call was recorded: no function of these was called: nosuch.[*], no.such",
        ]
    )


def long_text(text: str) -> str:
    return text


@pytest.mark.parametrize("option", ["--funcgraph=shop.Cart.*,shop.order", "--funcgraph=shop.[Co]*"])
def test_a_pattern_chooses_functions(project: pytest.Pytester, option: str) -> None:
    lines = graph_of(run(project, TESTS, option, "-k", "raises"))
    assert [line.split("(")[0].strip() for line in lines[:2]] == ["shop.order", "shop.Cart.save"]


@pytest.mark.parametrize(
    ("option", "error"),
    [
        (
            ["--funcgraph", "test_shop.py"],
            "must be a pattern like 'shop.[*]'; for a path after the option write",
        ),
        (["--funcgraph=shop.["], "--funcgraph=shop.[[]: *"),
    ],
)
def test_a_wrong_pattern_is_one_error(project: pytest.Pytester, option: list[str], error: str) -> None:
    result = run(project, TESTS, *option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{error}*"])


def test_the_slowest_tests_show_where_their_time_went(project: pytest.Pytester) -> None:
    project.makeconftest("""
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(item, call):
            call.duration = item.callspec.params["ms"] / 1000 if call.when == "call" else 0
    """)
    tests = "import pytest, shop\n@pytest.mark.parametrize('ms', [1, 30, 60, 2, 40])\n"
    tests += "def test_takes(ms):\n    shop.order(ms)\n"
    result = run(project, tests, "--funcgraph-slow=2")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "*= funcgraph: slowest tests (2) =*",
            "0.060s test_shop.py::test_takes[[]60]",
            "*100.0%*test_shop.test_takes",
            "funcgraph report *test_takes_60*.fg",
            "0.040s test_shop.py::test_takes[[]40]",
        ]
    )
    assert [name.rpartition("-")[0] for name in files(project)] == [
        "test_shop.test_takes_40",
        "test_shop.test_takes_60",
    ]


def test_a_marker_records_its_test_alone(project: pytest.Pytester) -> None:
    tests = "import pytest, shop\n@pytest.mark.funcgraph(filter='shop.*', args=False)\n"
    result = run(project, tests + "def test_marked(): shop.order(4)\n" + TESTS)
    result.assert_outcomes(passed=1, failed=3)
    assert graph_of(result) == [
        "  shop.order() {",
        "    shop.validate();",
        "    shop.Cart.save(); /* raised OSError */",
        "  } /* shop.order raised OSError */",
    ]
    assert len(files(project)) == 1


@pytest.mark.parametrize(
    ("marker", "error"),
    [
        ("fliter='x'", "test_shop.py::test_a: marker funcgraph: got fliter=: must be filter=PATTERNS"),
        ("filter=3", "test_shop.py::test_a: marker funcgraph: filter=3: must be a pattern"),
        ("filter='a['", "test_shop.py::test_a: marker funcgraph: filter: *"),
    ],
)
def test_a_wrong_marker_is_one_error(project: pytest.Pytester, marker: str, error: str) -> None:
    result = run(project, f"import pytest\n@pytest.mark.funcgraph({marker})\ndef test_a(): pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {error}*"])


STYLES = """
import unittest
import pytest, shop

class TestCase(unittest.TestCase):
    def test_unittest(self):
        shop.order(4)

@pytest.mark.parametrize("n", [3, 4])
def test_parameter(n):
    shop.order(n)

@pytest.fixture
def saved():
    yield shop.order(3)
    shop.order(4)

def test_teardown(saved):
    pass

@pytest.fixture
def broken():
    shop.order(4)

def test_setup(broken):
    pass

@pytest.mark.anyio
async def test_anyio():
    await shop.fetch(4)

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.xfail
def test_expected():
    shop.order(4)
"""


@needs_gil("texts of exceptions are not read")
def test_all_kinds_of_tests(project: pytest.Pytester) -> None:
    plain = run(project, STYLES, "-p", "anyio").parseoutcomes()
    result = run(project, STYLES, "-p", "anyio", "--funcgraph=shop.*", "--junit-xml=report.xml")
    assert result.parseoutcomes() == plain
    raised = "  } /* shop.order raised OSError('disk full') */"
    graphs = [graph_of(result, number) for number in range(5)]
    assert [lines[-1].strip().partition(" ")[2] for lines in graphs].count(raised.strip()[2:]) == 4
    assert sum("shop.fetch" in lines[-1] for lines in graphs) == 1
    assert (project.path / "report.xml").read_text().count("\nfuncgraph view ") == 5


COROUTINES = """
import asyncio
import pytest, pytest_asyncio, shop

@pytest_asyncio.fixture
async def saved():
    yield await shop.fetch(3)

@pytest.mark.asyncio
async def test_passes(saved):
    assert saved == {"paid": 3}

@pytest.mark.asyncio
async def test_suspended(saved):
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await shop.fetch(4)

@pytest.mark.asyncio
async def test_compares(calls):
    await asyncio.gather(shop.fetch(1), shop.fetch(2))
    assert calls == "order(n=1)\\norder(n=3)"
"""


@needs_gil("texts of exceptions are not read")
def test_coroutines_of_pytest_asyncio_are_recorded(project: pytest.Pytester) -> None:
    """Broken by: a coroutine that is another call after each await."""
    pytest.importorskip("pytest_asyncio")
    options = ["-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"]
    plain = run(project, COROUTINES, *options).parseoutcomes()
    result = run(project, COROUTINES, *options, "--funcgraph")
    assert result.parseoutcomes() == plain == {"passed": 1, "failed": 2}
    result.stdout.fnmatch_lines(["E*- order(n=3)*", "E*+ shop.order(n=2) = *"])
    (path,) = project.path.glob(".pytest_cache/d/funcgraph/test_shop.test_suspended*.fg")
    with funcgraph.open(path) as trace:
        assert [call.function.name for call in trace.calls()].count("test_shop.test_suspended") == 1
    lines = graph_of(result)
    assert sum(line.startswith("  test_shop.test_suspended(") for line in lines) == 3
    assert lines[-1] == "  } /* test_shop.test_suspended raised OSError('disk full') */"


@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_coverage_beside_the_plugin_is_the_same(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, core: str
) -> None:
    """Broken by: a tracer that is no longer called, or events of sys.monitoring that are disabled for it."""
    pytest.importorskip("pytest_cov")
    if core == "sysmon" and sys.version_info < (3, 14):
        pytest.skip("coverage measures branches by sys.monitoring from CPython 3.14 on")
    monkeypatch.setenv("COVERAGE_CORE", core)
    project.makepyfile(test_shop=TESTS)
    options = ["-p", "funcgraph.testing.pytest_plugin", "-p", "pytest_cov.plugin"]
    options += ["--cov=src", "--cov-branch", "--cov-report=json:coverage.json"]
    options += ["--cov-context=test"] if core == "ctrace" else []  # coverage has them by this core alone
    measured = []
    for more in ([], ["--funcgraph", "--funcgraph-slow=1"]):
        result = project.runpytest_subprocess(*options, *more)
        result.assert_outcomes(passed=1, failed=2)
        assert "CoverageWarning" not in str(result.stdout)
        measured.append(json.loads((project.path / "coverage.json").read_text())["files"])
    assert measured[0] == measured[1]
    assert measured[0]["src/shop.py"]["missing_branches"] == []
    assert len(measured[0]["src/shop.py"]["executed_lines"]) > 8


def test_a_test_that_runs_again_shows_each_run(project: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures")
    tests = "import shop\nruns = []\ndef test_flaky():\n    runs.append(1)\n    shop.order(len(runs) + 2)\n"
    tests += "    assert len(runs) > 2\n"
    result = run(project, tests, "-p", "pytest_rerunfailures", "--reruns=1", "--funcgraph=shop.*")
    assert result.parseoutcomes() == {"failed": 1, "rerun": 1}
    assert graph_of(result)[0].strip() == "shop.order(n=4) {"


def test_a_recorded_pytest_warns_of_nothing(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken by: no PYTEST_DONT_REWRITE in the package, which is imported before pytest."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.makepyfile("def test_passes(): pass")
    words = ["-m", "funcgraph", "record", "-q", "-l", "none.*", "-o", str(project.path / "t.fg")]
    words += [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    assert "1 passed" in done.stdout
    assert "warning" not in done.stdout.lower()


def test_a_forked_child_records(tmp_path: Path) -> None:
    """As with --forked. Broken by: an instance of the parent, which does not record in a child."""
    choice = Choice((f"{__name__}.long_text",), True)
    recorder = ItemRecorder("")
    recorder.open(choice)
    recorder.begin(choice)
    long_text("parent")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # a fork beside threads
        pid = os.fork()
    if pid == 0:
        recorder.begin(choice)
        long_text("child")
        tmp_path.joinpath("graph").write_text("\n".join(graph_end(recorder.trace(), None, None).lines))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    recorder.close()
    assert "long_text(text='child');" in tmp_path.joinpath("graph").read_text()


FORKED = """
import pytest_forked

serialize = pytest_forked.serialize_report

def in_plain_types(report):
    found = serialize(report)
    if found.pop("_id", None) is not None:
        found["nodeid"] = report.nodeid
    return found

pytest_forked.serialize_report = in_plain_types
"""


@needs_gil("texts of exceptions are not read")
def test_reports_of_forked_children_have_their_graphs(project: pytest.Pytester) -> None:
    """Broken by: something in a report that is not of the plain types that a child can send."""
    pytest.importorskip("pytest_forked")
    project.makeconftest(
        FORKED
    )  # pytest-forked 1.7.5 cannot send the object in which pytest 9.2 has a test's name
    project.makepyfile(test_shop=TESTS)
    options = ["-p", "funcgraph.testing.pytest_plugin", "-p", "pytest_forked", "--forked"]
    result = project.runpytest_subprocess(*options, "--funcgraph", "--funcgraph-slow=3")
    result.assert_outcomes(passed=1, failed=2)
    assert graph_of(result, 1)[-1] == "  } /* test_shop.test_raises raised OSError('disk full') */"
    result.stdout.fnmatch_lines(
        [
            "*= funcgraph: slowest tests (3) =*",
            "funcgraph: tests recorded: 3 (about *, graphs of failing ones: 2; *",
        ]
    )
    assert len(files(project)) == 3


def test_values_can_be_redacted(project: pytest.Pytester) -> None:
    text = str(run(project, TESTS, "--funcgraph", "--funcgraph-redact=amount").stdout)
    assert "amount=<redacted>" in text
    assert "amount=4" not in text.partition("funcgraph: ")[2].partition("all of it")[0]


@pytest.mark.one_python
def test_workers_of_xdist_send_their_graphs(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    project.makepyfile(test_shop=TESTS)
    result = project.runpytest_subprocess(
        *("-p", "funcgraph.testing.pytest_plugin", "-p", "xdist", "-n2"), "--funcgraph", "--funcgraph-slow=1"
    )
    result.assert_outcomes(passed=1, failed=2)
    assert "shop.Cart.save" in "".join(graph_of(result) + graph_of(result, 1))
    result.stdout.fnmatch_lines(["*= funcgraph: slowest tests (1) =*", "funcgraph: tests recorded: 3 *"])
    assert len(files(project)) in (2, 3)  # the slowest may be the one that passes


def test_the_functions_of_a_project(tmp_path: Path) -> None:
    """Broken by: what a virtual environment in the root folder has."""
    for path in (
        "one/__init__.py",
        "src/two/__init__.py",
        "src/three.py",
        "docs/a.txt",
        "setup.py",
        "a-b.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    modules = {
        "tests.test_a": tmp_path / "tests" / "test_a.py",
        "pip.main": tmp_path / ".venv" / "lib" / "site-packages" / "pip" / "main.py",
        "os": Path(os.__file__),
    }
    loaded = {name: type(sys)(name) for name in modules}
    for name, module in loaded.items():
        module.__file__ = str(modules[name])
    assert own_functions(tmp_path, loaded) == ["one.*", "tests.*", "three.*", "two.*"]
