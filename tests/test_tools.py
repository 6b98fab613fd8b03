"""No failure is lost, all combinations run on some version, and progress is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import sizes

from tools import bench, commits, console, demo, junit, lint, native, progress, pythons, sid, stack_layouts
from tools import test as suites

pytestmark = pytest.mark.one_python

TESTS = Path(__file__).parent


def test_no_two_files_of_tests_are_the_same_module() -> None:
    """pytest imports a file of a folder without __init__.py by its name alone: one would hide the other."""
    files = [*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")]
    modules = Counter(file.stem for file in files if not (file.parent / "__init__.py").exists())
    assert [module for module, count in modules.items() if count > 1] == []


TOTAL = re.compile(r"total: (\d+) passed, (\d+) failed, (\d+) skipped")


@pytest.mark.parametrize("of", [2, 3, 5])
def test_the_versions_together_run_all_combinations(monkeypatch: pytest.MonkeyPatch, of: int) -> None:
    lists = [list("abcde"), list("fgh"), list("ij")]
    monkeypatch.setattr(sizes, "NIGHTLY", True)
    everything = sizes.share(*lists, of=of)
    assert len(everything) == 30
    monkeypatch.setattr(sizes, "NIGHTLY", False)
    shares = []
    for minor in range(11, 16):
        monkeypatch.setattr(sys, "version_info", SimpleNamespace(minor=minor))
        shares.append(sizes.share(*lists, of=of))
        assert len(shares[-1]) == 30 // of
    assert set().union(*shares) == set(everything)


def test_each_folder_of_tests_is_in_one_of_the_suites_of_one_python(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[str, ...]] = []
    monkeypatch.setattr(suites, "python_tests", lambda python, layout, *words: chosen.append(words))
    python = SimpleNamespace(tag="3.13", inside=None, release="3.13.0", version=(3, 13, 0))
    monkeypatch.setattr(suites, "NIGHTLY", False)
    suites.suites_of([python])  # type: ignore[list-item]
    parts = [words[2:] for words in chosen if words[:2] == ("-m", "one_python")]
    ignored = [word.partition("=")[2] for words in parts for word in words if "=" in word]
    named = [word for words in parts for word in words if "=" not in word]
    assert sorted(ignored) == sorted(set(named) - {"tests"})
    assert len(named) == len(set(named)) and "tests" in named
    assert all((suites.ROOT / word).is_dir() for word in named)


def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *tests: Callable[[Path], suites.Outcome],
) -> tuple[int, str]:
    """Run `make test` with these suites alone; return its status and what it printed."""
    monkeypatch.setattr(suites.pythons, "find", dict)
    monkeypatch.setattr(suites.pythons, "missing", lambda found: [])
    monkeypatch.setattr(
        suites,
        "suites_of",
        lambda *_: [suites.Suite(f"suite {n}", Path(os.devnull), each) for n, each in enumerate(tests)],
    )
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    status = suites.main([])
    return status, capsys.readouterr().out


def not_built(log: Path) -> suites.Outcome:
    raise console.CommandFailedError(["cc"], 1, log)


@pytest.mark.parametrize(
    ("second", "total"),
    [
        (lambda log: suites.Outcome(2, 0, 1), ("5", "0", "1")),
        (lambda log: suites.Outcome(1, 1, 1), ("4", "1", "1")),
        (lambda log: suites.Outcome(2, 0, 1, problem="pytest ended with status 3"), ("5", "1", "1")),
        (not_built, ("3", "1", "0")),
    ],
)
def test_the_last_line_has_the_total_and_the_status_says_whether_all_passed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    second: Callable[[Path], suites.Outcome],
    total: tuple[str, str, str],
) -> None:
    status, out = run(monkeypatch, capsys, lambda log: suites.Outcome(3), second)
    last = TOTAL.fullmatch(out.splitlines()[-1])
    assert last and last.groups() == total
    assert status == (0 if total[1] == "0" else 1)
    assert ("FAILED: suite 1" in out) == bool(status)


def test_the_last_lines_name_the_failed_tests_and_what_runs_one_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = "tests/attach/test_attach.py::test_a[in C code]"
    outcome = suites.Outcome(5, 1, failures=(bad,), again=("python3", "-m", "tools.test", "--"))
    _, out = run(monkeypatch, capsys, lambda log: suites.Outcome(3), lambda log: outcome)
    assert out.splitlines()[-3:-1] == [
        f"FAILED: suite 1: {bad}",
        f"  again: python3 -m tools.test -- '{bad}'",
    ]


def test_many_failed_tests_are_counted_after_the_first_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = suites.Outcome(0, 40, failures=tuple(f"tests/x.py::test_{n}" for n in range(40)))
    out = run(monkeypatch, capsys, lambda log: outcome)[1].splitlines()
    assert sum("::test_" in line for line in out) == 12
    assert out[-2].startswith("FAILED: suite 0: 28 more, in ")


def test_a_test_that_passed_at_the_second_try_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = suites.Outcome(1, repeats=("tests/x.py::test_ray",))
    status, out = run(monkeypatch, capsys, lambda log: outcome)
    assert status == 0
    assert out.splitlines()[-2] == "passed at the second try: suite 0: tests/x.py::test_ray"


PYTEST_FILE = """
import pytest

tries = []

@pytest.mark.flaky(reruns=1)
def test_fails_at_first():
    tries.append(1)
    assert len(tries) == 2

@pytest.mark.parametrize("where", ["in C code", "a::b[c]"])
def test_fails(where):
    assert False

class TestGroup:
    def test_inside(self):
        assert False

@pytest.fixture
def broken():
    yield
    assert False

def test_with_a_broken_end(broken):
    assert False
"""


def test_what_pytest_reports_is_read_back(tmp_path: Path) -> None:
    """The node ids run the same tests again."""
    (tmp_path / "test_it.py").write_text(PYTEST_FILE)
    (tmp_path / "test_damaged.py").write_text("1 +")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    log = tmp_path / "log"
    words = [sys.executable, "-m", "pytest", "--color=no", "-p", "no:cacheprovider", "-rR", "test_it.py"]
    words += ["--junitxml=log.xml", "-o", "junit_family=xunit1"]
    assert console.run(words, log=log, check=False, cwd=tmp_path) == 1
    outcome = suites._outcome(PYTHON, stack_layouts.LAYOUTS[1], 1, log)
    assert (outcome.passed, outcome.problem) == (1, "")
    assert outcome.repeats == ("test_it.py::test_fails_at_first",)
    assert outcome.failures == (
        "test_it.py::test_fails[in C code]",
        "test_it.py::test_fails[a::b[c]]",
        "test_it.py::TestGroup::test_inside",
        "test_it.py::test_with_a_broken_end",
    )
    assert outcome.again[-4:] == ("3.13", "--layout", "fixed-addresses", "--")


PYTHON = pythons.Interpreter("3.13", (3, 13, 0), "3.13.0", Path(sys.executable))


def test_a_failed_c_test_is_named_by_ctest(tmp_path: Path) -> None:
    case = '<testcase name="engine.test_ring" classname="engine.test_ring"><failure/></testcase>'
    path = tmp_path / "ctest.xml"
    path.write_text(f'<testsuite tests="2" failures="1" skipped="0">{case}</testsuite>')
    report = junit.read_report(path)
    assert report == junit.Report(2, 1, 0, ("engine.test_ring",))
    path.write_text("<testsuite")
    assert junit.read_report(path) is None


def test_one_c_test_can_be_run_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words: list[str] = []
    tools = SimpleNamespace(ctest="ctest", environment={})
    monkeypatch.setattr(native, "build_tests", lambda name: tools)
    monkeypatch.setattr(native, "run", lambda command, **_: words.extend(map(str, command)) or 0)
    monkeypatch.setattr(native, "read_report", lambda path: junit.Report(1, 0, 0, ()))
    assert native.run_tests("plain", "engine.test_ring").passed == 1
    assert words[words.index("--tests-regex") + 1] == r"^engine\.test_ring$"


@pytest.mark.parametrize("layout", stack_layouts.LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_moves_what_is_on_the_stack(layout: stack_layouts.Layout) -> None:
    if not layout.can_run():
        pytest.skip("this machine does not allow it")
    code = "import os; e = os.environ; print(open('/proc/self/personality').read(), "
    code += "len(e.get('FUNCGRAPH_TEST_FILL', '')), e.get('LD_BIND_NOW'))"
    words = [*layout.prefix, sys.executable, "-c", code]
    environment = {**os.environ, **layout.environment}
    personality, fill, bind = subprocess.check_output(words, env=environment, text=True).split()
    fixed = bool(int(personality, 16) & 0x40000)
    found = (fixed, int(fill) > 0, bind == "1")
    own = {"default": (), "fixed-addresses": (0,), "large-environment": (1,), "bind-now": (2,)}[layout.name]
    assert all(found[index] for index in own)


def test_the_cpythons_run_on_different_layouts() -> None:
    chosen = [stack_layouts.layout_for((3, minor)).name for minor in range(11, 15)]
    assert len(set(chosen)) == sum(layout.can_run() for layout in stack_layouts.LAYOUTS)


def test_no_test_at_all_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, capsys)[0] == 1


@pytest.mark.parametrize(
    ("log", "percent"),
    [
        ("", None),
        ("building [3/40] x.c\n", None),
        ("tests/test_a.py ....    [ 12%]\ntests/test_b.py ..s..   [ 46%]\ntests/te", 46),
        (" 9/36 Test  #9: engine.test_marks ....   Passed    0.01 sec\n", 25),
    ],
)
def test_progress_is_read_from_the_logs_of_pytest_and_ctest(
    tmp_path: Path, log: str, percent: int | None
) -> None:
    path = tmp_path / "log"
    path.write_text(log)
    assert progress.done_percent(path) == percent


def test_progress_names_what_runs_and_what_has_ended(tmp_path: Path) -> None:
    shown = progress.Progress(400.0, 2)
    with shown.part("first", tmp_path / "none", 300.0):
        pass
    log = tmp_path / "log"
    log.write_text("tests/test_a.py ....    [ 12%]\n")
    with shown.part("second", log, 100.0):
        assert shown.line().endswith("1 of 2 suites ended; second: 12%")


def test_progress_tells_about_when_all_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the suites usually take, and how fast this machine is today."""
    monkeypatch.setattr(console.Stopwatch, "seconds", 312.0)
    shown = progress.Progress(400.0, 2)
    log = tmp_path / "log"
    with shown.part("first", log, 300.0):
        assert shown.line().startswith("[312 s] 0 of 2")
        log.write_text("tests/test_a.py ....    [ 52%]\n")
        assert shown.line().startswith("[312 s, about 8 min left] 0 of 2")
    log.write_text("tests/test_a.py ....    [ 99%]\n")
    with shown.part("second", log, 100.0):
        assert shown.line().startswith("[312 s, less than 1 min left] 1 of 2")


def test_without_a_terminal_progress_is_a_line_each_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = threading.Event()
    monkeypatch.setattr(progress, "print_message", lambda text: (print(text), reported.set()))
    monkeypatch.setattr(progress, "MINUTE_S", 0.001)
    with progress.Progress(3.0, 3).shown():
        assert reported.wait(60)
    assert re.match(r"\[\d+ s\] 0 of 3 suites ended; none runs\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (None, "preparing: the environment, what the build needs"),
        ("*** Configuring CMake...\n", "preparing: the environment, what the build needs"),
        ("  [3/120] Building a.o\n  [30/120] Building b.o\n", "compiling: 30 of 120 files, 25%"),
    ],
)
def test_a_build_says_how_far_it_is(tmp_path: Path, log: str | None, line: str) -> None:
    path = tmp_path / "log"
    if log is not None:
        path.write_text(log)
    assert progress.build_line(path, 0.0, console.Stopwatch()) == f"[0 s] {line}"


def test_the_log_of_an_earlier_build_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("[120/120] Linking\n")
    os.utime(path, (1000, 1000))
    assert "preparing" in progress.build_line(path, 2000.0, console.Stopwatch())


def test_the_demo_says_how_long_it_takes_and_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reported = threading.Event()

    def build(*words: object) -> NoReturn:
        assert reported.wait(60)
        raise console.CommandFailedError(["ninja"], 1)

    monkeypatch.setattr(progress, "print_message", lambda text: (print(text), reported.set()))
    monkeypatch.setattr(progress, "_BUILD_PAUSE_S", 0.001)
    monkeypatch.setattr(demo, "installed", build)
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    assert demo.main([]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert "two minutes" in lines[0]
    assert lines[1].startswith("== 1 of 5: Building funcgraph for CPython")
    assert re.match(r"\[\d+ s\] ", lines[2])


def test_without_root_pythons_sid_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert sid.main() == 1
    assert re.fullmatch(r"pythons-sid: CPython 3.14 and 3.15 in \S+ need root\n", capsys.readouterr().out)


def test_a_line_is_too_long_from_111_columns_on_and_of_markdown_only_code_counts() -> None:
    fits, long = "x" * 110, "x" * 111
    assert lint.long_lines(f"{fits}\n{long}\n/* {fits} */\n") == [2, 3]
    assert lint.long_lines(f"{long}\n```python\n{long}\n```\n{long}\n```\n{long}\n```\n", True) == [3]


# ---- messages of commits

GOOD = "ring: wake the reader once\n\nIt was woken at each record."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (GOOD, []),
        ("ring, arch/elf: wake the reader once\n\nIt was woken at each record.\n", []),
        ("ring: wake the reader once", ["no body"]),
        ("ring: wake the reader once\nIt was woken at each record.", ["no empty line"]),
        ("Wake the reader once\n\nWhy.", ["area: imperative"]),
        ("ring: the reader is woken once\n\nWhy.", ["area: imperative"]),
        ("ring: wake the reader once.\n\nWhy.", ["full stop"]),
        (f"ring: wake {'x' * 61}\n\nWhy.", []),
        (f"ring: wake {'x' * 62}\n\nWhy.", ["73 columns"]),
        ("", ["area: imperative", "no body"]),
    ],
)
def test_a_commits_message_has_an_area_a_verb_and_a_reason(message: str, expected: list[str]) -> None:
    found = list(commits.faults(message))
    assert len(found) == len(expected)
    assert all(part in fault for part, fault in zip(expected, found, strict=True))


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs git in a repository at tmp_path/main, which has one commit."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path / "main"
    folder.mkdir()
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*words: str, cwd: Path = folder) -> str:
        done = subprocess.run(["git", *words], cwd=cwd, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "Old")
    return git


def test_new_commits_are_those_since_the_rule_without_merges(
    repository: Callable[..., str], tmp_path: Path
) -> None:
    git = repository
    start = git("rev-parse", "HEAD")
    assert commits.new_commits(tmp_path / "main", start) == []
    git("checkout", "-q", "-b", "side")
    git("commit", "-q", "--allow-empty", "-m", "Side")
    git("checkout", "-q", "main")
    git("commit", "-q", "--allow-empty", "-m", GOOD)
    git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    found = commits.new_commits(tmp_path / "main", start)
    assert {commit.message for commit in found} == {"Side", GOOD}
    assert all(git("rev-parse", "--short", commit.hash) == commit.hash for commit in found)


def test_where_git_cannot_tell_no_commit_is_new(repository: Callable[..., str], tmp_path: Path) -> None:
    git, main = repository, tmp_path / "main"
    start = git("rev-parse", "HEAD")
    git("commit", "-q", "--allow-empty", "-m", "New")
    git("clone", "-q", "--depth", "1", main.as_uri(), str(tmp_path / "shallow"))
    assert len(commits.new_commits(main, start)) == 1
    assert commits.new_commits(tmp_path / "shallow", start) == []
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-q", "--allow-empty", "-m", "Unrelated")
    assert commits.new_commits(main, start) == []
    (tmp_path / "archive").mkdir()
    assert commits.new_commits(tmp_path / "archive", start) == []


def test_without_git_no_commit_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commits.new_commits(tmp_path) == []


def test_the_tables_of_one_section_leave_the_other_as_it_is() -> None:
    page = (bench.ROOT / "docs" / "reference" / "performance.md").read_text()
    for section in bench._SECTIONS:
        other = next(name for name in bench._SECTIONS if name != section)
        changed = bench.with_tables(page, section, "Measured today.", ["| a table |", "| another |"])
        assert "Measured today.\n\n| a table |\n\n| another |\n\n<!-- end of" in changed
        mark = f"<!-- {other}: written by make bench -->"
        kept = [text.partition(mark)[2].partition("<!-- ")[0] for text in (page, changed)]
        assert kept[0] == kept[1] != ""
        again = bench.with_tables(changed, section, "Measured today.", ["| a table |", "| another |"])
        assert again == changed
    with pytest.raises(LookupError):
        bench.with_tables("no section here", "files", "", [])


def test_a_python_on_which_nothing_was_measured_has_no_table() -> None:
    python = pythons.Interpreter("3.11", (3, 11, 0), "3.11.0", Path(sys.executable))
    begin, end = "<!-- files: written by make bench -->", "<!-- end of files -->"
    page = bench.with_tables(begin + end, "files", "Head.", [bench.as_markdown(python, []), "| a table |"])
    assert page == f"{begin}\n\nHead.\n\n| a table |\n\n{end}"
