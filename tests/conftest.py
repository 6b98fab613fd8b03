"""The fixture of tests that run the installed funcgraph of the interpreter under test, as a person would."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 60.0

# A shell starts what runs in its background with these ignored, and so would be all that the tests start.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that compares a time with a limit is tried again: a machine may be busy with other things.

    What it promises has to hold once in five times. A promise that is broken is so each time.
    """
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=4, only_rerun="AssertionError"))


class Funcgraph:
    """Runs funcgraph commands as a person would.

    Args:
        folder: the working directory; traces and scripts lie there.
        runtime: what XDG_RUNTIME_DIR is: sessions of this test lie there and no others.
    """

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.runtime = runtime
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self.env.pop("FUNCGRAPH_SESSION", None)
        self.command = [sys.executable, "-m", "funcgraph"]
        self.trace = folder / "trace.dat"

    def script(self, text: str, name: str = "app.py") -> Path:
        """Write a Python file, dedented."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run `funcgraph WORDS...` to its end; standard streams are text."""
        return self._run([*self.command, *map(str, words)], settings)

    def record(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run `funcgraph record WORDS...` to its end."""
        return self.run("record", *words, **settings)

    def plain(self, *words: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run a command as it is, without us: what record must be the same as."""
        return self._run([*map(str, words)], settings)

    def start(self, *words: str | Path, **settings: Any) -> subprocess.Popen[str]:
        """Start `funcgraph WORDS...`; standard streams are pipes of text unless told otherwise."""
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

    def summary(self, trace: str | Path | None = None) -> dict[str, Any]:
        """Return what `funcgraph summary --json` says of a trace."""
        result = self.run("summary", "--json", "-i", trace or self.trace)
        assert result.returncode == 0, result.stderr
        summary: dict[str, Any] = json.loads(result.stdout)
        return summary

    def calls(self, trace: str | Path | None = None) -> Counter[str]:
        """Return how often each function was called, by module.qualname."""
        counts: Counter[str] = Counter()
        for function in self.summary(trace)["functions"]:
            counts[function["name"]] += function["calls"]
        return counts

    def sessions(self) -> list[Path]:
        """Return the session directories that are there."""
        return sorted(self.runtime.glob("funcgraph-*"))


@pytest.fixture
def fg(tmp_path: Path) -> Iterator[Funcgraph]:
    """funcgraph of the interpreter under test, in a temporary folder, its sessions in a memory-backed one."""
    runtime = Path(tempfile.mkdtemp(prefix="fgtest-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        yield Funcgraph(tmp_path, runtime)
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
