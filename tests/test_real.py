"""`make real` notices a test, an answer or a status that tracing changes, and what changes by itself."""

from __future__ import annotations

import sys
import tarfile
import textwrap
from pathlib import Path

import pytest

from tools.real import __main__ as real
from tools.real import compare, servers, soak, suites
from tools.real.compare import Seen

pytestmark = pytest.mark.one_python

PACKAGE = """
    import os, sys
    from pathlib import Path

    import pytest

    runs = Path(os.environ["FG_TEST_RUNS"])

    def test_that_nothing_disturbs():
        pass

    @pytest.mark.parametrize("thing", [object()], ids=repr)
    def test_whose_id_is_an_address(thing):
        pass

    def test_that_looks_whether_it_is_traced():
        assert {looks} not in sys.modules

    def test_that_passes_once():
        with runs.open("a+") as file:
            file.write("x")
        assert {flaky} or runs.stat().st_size == 1
"""


def package(folder: Path, looks: str, flaky: bool) -> Path:
    """Make the sdist of a package whose test looks at whether it is traced."""
    source = folder / "made_up-1.0"
    source.mkdir()
    text = textwrap.dedent(PACKAGE).format(looks=repr(looks), flaky=not flaky)
    (source / "test_made_up.py").write_text(text)
    (source / "broken.py").write_text("import no_such_module\n")
    archive = folder / "made_up-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(source, source.name)
    return archive


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FG_TEST_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:timeout")


def judge_package(
    folder: Path, looks: str, flaky: bool, way: suites.Way = "record", *more: str
) -> compare.Verdict:
    suite = suites.Suite("made-up", ["test_made_up.py", *more])
    return suites.judge(suite, package(folder, looks, flaky), Path(sys.executable), folder / "work", way)


def test_a_test_that_looks_whether_it_is_traced_is_a_difference(tmp_path: Path) -> None:
    verdict = judge_package(tmp_path, "funcgraph._engine", flaky=False)
    assert verdict.differences == (
        "test_made_up::test_that_looks_whether_it_is_traced: passed untraced, failure traced",
        "exit status 0 untraced, 1 traced",
    )
    assert verdict.traced.events > 1000
    assert verdict.lines()[0].startswith("DIFFERENT: made_up-1.0: 4 passed, exit status 0; ")


def test_the_plugin_is_judged_likewise(tmp_path: Path) -> None:
    verdict = judge_package(tmp_path, "funcgraph._engine", flaky=False, way="plugin")
    assert verdict.differences[0].startswith("test_made_up::test_that_looks_whether_it_is_traced: passed")
    assert 4 <= verdict.traced.events < 100


def test_a_suite_that_nothing_changes_is_the_same(tmp_path: Path) -> None:
    verdict = judge_package(tmp_path, "nothing_has_this_name", flaky=False)
    assert (verdict.differences, verdict.flaky, verdict.traced.notes) == ((), (), ())
    assert len(verdict.plain.outcomes) == 4
    assert not list(tmp_path.rglob("*.dat*"))


def test_a_suite_that_cannot_be_imported_was_not_tested(tmp_path: Path) -> None:
    """Broken: the error of the import was one outcome, the same in each run."""
    verdict = judge_package(tmp_path, "nothing_has_this_name", False, "plugin", "broken.py")
    assert verdict.differences == ("nothing was tested: exit status 2",)


def test_a_test_that_differs_untraced_is_left_out_and_told(tmp_path: Path) -> None:
    verdict = judge_package(tmp_path, "nothing_has_this_name", flaky=True)
    assert verdict.differences == ()
    assert verdict.flaky == ("test_made_up::test_that_passes_once",)
    assert "  differs untraced, left out: test_made_up::test_that_passes_once" in verdict.lines()


SERVER = """
    import signal, socketserver, sys, threading

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                looks = b"traced " if "funcgraph._engine" in sys.modules and b"/work/13 " in line else b""
                self.wfile.write(looks + line)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


def test_an_answer_that_differs_when_traced_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text(textwrap.dedent(SERVER))
    server = servers.Server("made_up", speaks_http=False, folder=tmp_path)
    verdict = servers.judge(server, Path(sys.executable), tmp_path / "work")
    (difference,) = verdict.differences
    assert difference.startswith("13 /work/13: b'/work/13 ")
    assert difference.endswith("b'traced /work/13 \\n' traced")
    assert len(verdict.plain.outcomes) == servers.THREADS * servers.REQUESTS + 1


def test_a_server_that_does_not_start_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text("raise SystemExit(3)\n")
    server = servers.Server("made_up", folder=tmp_path)
    verdict = servers.judge(server, Path(sys.executable), tmp_path / "work")
    assert verdict.differences[0] == "nothing was tested: exit status 3"


def test_an_outcome_that_is_missing_or_new_is_a_difference() -> None:
    plain = [Seen({"a": "passed", "b": "passed"}, 0)] * 2
    verdict = compare.judge("x", plain, Seen({"b": "passed", "c": "passed"}, 0))
    assert verdict.differences == (
        "a: passed untraced, missing traced",
        "c: missing untraced, passed traced",
    )


def test_the_exit_status_says_whether_anything_differs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = Seen({"a": "passed"}, 0), Seen({"a": "failure"}, 1)
    monkeypatch.setattr(real, "choose", lambda tag: type("Python", (), {"tag": tag, "release": "3.0"}))
    monkeypatch.setattr(real, "installed", lambda *_: None)
    monkeypatch.setattr(real.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "left"))
    for traced, status in ((good, 0), (bad, 1)):
        verdict = compare.judge("suite", [good, good], traced)
        monkeypatch.setattr(real, "judges", lambda *_, verdict=verdict: {"suite": lambda folder: verdict})
        assert real.main([]) == status
    out = capsys.readouterr().out
    assert "CPython 3.0: nothing differs" in out
    assert out.rstrip().endswith("different: suite")
    assert not (tmp_path / "left").exists()


def test_the_soak_page_says_what_its_tables_say() -> None:
    """Broken by a run that is written into the page with what was said of another."""
    _, _, run = soak.PAGE.read_text().partition(soak.MARKER)
    tables, _, _ = run.partition("\nThese were ")
    assert run.strip().endswith(soak.conclusion(tables))


def test_a_run_of_fewer_hours_than_usual_says_so() -> None:
    tables = (
        "{hours} hours on CPython 3.13.0\n| requests | 9 |\n| record | 1,200 |\n| detach | 800 |\n"
        "| 0 | 1,000 KiB | 50 KiB | 1 |\n| 10 | 1,300 KiB | 50 KiB | 1 |\n| 99 | 1,350 KiB | 51 KiB | 1 |\n"
    )
    said = soak.conclusion(tables.format(hours="4.0"))
    assert "2,000 actions" in said
    assert "by 300 KiB in the first 10 minutes" in said
    assert "by 50 KiB from there to minute 99" in said
    assert "other server by 1 KiB" in said
    assert "some 4,000 actions.\nThis is no run of 8 hours" in said
    assert "no run" not in soak.conclusion(tables.format(hours="8.0"))
