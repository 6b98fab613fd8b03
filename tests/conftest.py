"""The fixture `fg`: runs the installed funcgraph on the interpreter under test, as a person would."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builds import HAS_GIL
from own_folders import SHARED, enter_own_folders

from funcgraph import cli
from funcgraph.recorder.until_signal import ENDING

TIMEOUT_S = 60.0

# A shell starts background jobs with these signals ignored, and the tests' children would inherit that.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_configure() -> None:
    """Leave the folders that others record in, before any test has a thread."""
    enter_own_folders()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file of which no test is chosen, unread: some import libraries that make all others slow.

    Tests that look at every function or object of the process have more to look at then.
    """
    mark = "\npytestmark = pytest.mark.one_python\n"
    if config.getoption("markexpr") == "not one_python" and collection_path.suffix == ".py":
        return mark in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run those last that import much."""
    items.sort(key=lambda item: item.get_closest_marker("imports_much") is not None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Put aside what pytest and the collected tests hold: gc.collect() in a test then takes 1 ms, not 100.

    Not without the GIL: there CPython does not show us what is put aside, and no function is found by name.
    """
    gc.collect()
    if HAS_GIL:
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Do so again after a file whose tests have brought it back, when its fixtures are gone.

    gc.get_freeze_count() counts them all, in up to 40 ms: it is called once for each file, not for each test.
    """
    if HAS_GIL and item.path != _latest_file[0] and gc.get_freeze_count() == 0:
        pytest_collection_finish(item.session)
    _latest_file[0] = item.path


_latest_file = [Path()]


class Funcgraph:
    """Runs funcgraph commands as a person would.

    Args:
        folder: the working directory, with traces and scripts.
        runtime: the value of XDG_RUNTIME_DIR; it holds only this test's sessions.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.runtime = runtime
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self.env.pop("FUNCGRAPH_SESSION", None)
        self.command = [sys.executable, "-m", "funcgraph"]
        self.trace = folder / "trace.fg"

    def script(self, text: str, name: str = "app.py") -> Path:
        """Write a Python file, dedented."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run `funcgraph WORDS...` until it exits; standard streams are text."""
        return self._run([*self.command, *map(str, words)], settings)

    def record(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run `funcgraph record WORDS...` until it exits."""
        return self.run("record", *words, **settings)

    def plain(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run a command without funcgraph. `record` must behave the same."""
        return self._run([*map(str, words)], settings)

    def start(self, *words: str | Path, **settings: Any) -> subprocess.Popen[str]:
        """Start `funcgraph WORDS...`; standard streams are text pipes unless `settings` override them."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*self.command, *map(str, words)],
            **{**streams, "text": True, "cwd": self.folder, "env": self.env, **settings},
        )

    def _run(self, command: Sequence[str], settings: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        if "input" not in settings and "stdin" not in settings:
            settings["stdin"] = subprocess.DEVNULL
        return subprocess.run(
            command,
            **{
                "capture_output": "stdout" not in settings and "stderr" not in settings,
                "text": True,
                "cwd": self.folder,
                "env": self.env,
                "timeout": TIMEOUT_S,
                **settings,
            },
        )

    def summary(self, trace: str | Path | None = None, **settings: Any) -> dict[str, Any]:
        """Return the output of `funcgraph summary --json` for a trace."""
        result = self.run("summary", "--json", "-i", trace or self.trace, **settings)
        assert result.returncode == 0, result.stderr
        summary: dict[str, Any] = json.loads(result.stdout)
        return summary

    def calls(self, trace: str | Path | None = None, **settings: Any) -> Counter[str]:
        """Return each function's number of calls, by module.qualname."""
        counts: Counter[str] = Counter()
        for function in self.summary(trace, **settings)["functions"]:
            counts[function["name"]] += function["calls"]
        return counts

    def sessions(self) -> list[Path]:
        """Return the existing session directories."""
        found = self.runtime.glob("funcgraph-*")
        return sorted(path for path in found if not path.name.startswith("funcgraph-control-"))


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def in_process(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Done]]:
    """Return a function that runs `funcgraph WORDS...` in this process: another interpreter costs time."""

    def run(*words: object) -> Done:
        capfd.readouterr()
        status = cli.main([*map(str, words)])
        return Done(status, *capfd.readouterr())

    monkeypatch.chdir(fg.folder)
    monkeypatch.setenv("XDG_RUNTIME_DIR", fg.env["XDG_RUNTIME_DIR"])
    handlers = {number: signal.getsignal(number) for number in ENDING}
    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the plans of native functions, which take long to make: all tests share it."""
    return tmp_path_factory.mktemp("plans")


@pytest.fixture
def fg(tmp_path: Path, plans: Path) -> Iterator[Funcgraph]:
    """Return a Funcgraph in a temporary folder, with its sessions in a memory-backed folder."""
    runtime = Path(tempfile.mkdtemp(prefix="fgtest-", dir=SHARED if os.path.isdir(SHARED) else None))
    funcgraph = Funcgraph(tmp_path, runtime)
    funcgraph.env["XDG_CACHE_HOME"] = str(plans)
    try:
        yield funcgraph
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
