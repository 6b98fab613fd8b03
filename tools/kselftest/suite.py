"""Runs the selftests, each by their own `ftracetest`, on a mount of program.py."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
#: What ftracetest says of a test, and that it said nothing: the test hung, or the program ended.
RESULTS = ("PASS", "XFAIL", "FAIL", "UNRESOLVED", "UNSUPPORTED", "UNTESTED", "HANG")
#: The results of a test that holds what it promises. XFAIL: what must fail has failed.
PASSING = ("PASS", "XFAIL")

_TIMEOUT_S = 120
_LINE = re.compile(r"^\[\d+\]( \(instance\) )?.*?\[(\w+)\]$", re.MULTILINE)


class Test(NamedTuple):
    """A test: its path below test.d, and whether it ran in a folder of `instances`."""

    path: str
    is_instance: bool

    def __str__(self) -> str:
        return f"{self.path} (instance)" if self.is_instance else self.path


class Mounted:
    """The program, its mount, and the FIFOs of its requests."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.folder = folder
        self.tracing = folder / "tracing"
        self.tracing.mkdir(parents=True)
        for name in ("requests", "answers"):
            os.mkfifo(folder / name)
        words = [python, HERE / "program.py", folder]
        with (folder / "errors").open("w") as errors:
            self._program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self._program.stdout is not None
        self._program.stdout.readline()
        try:
            mount: list[str | Path] = [
                python,
                "-m",
                "funcgraph",
                "mount",
                self.tracing,
                "-P",
                str(self._program.pid),
            ]
            subprocess.run(mount, check=True)
        except BaseException:
            self._program.kill()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the rewritten tests use."""
        return {
            **os.environ,
            "FG_TRACING": str(self.tracing),
            "FG_STEPS": str(HERE / "steps.sh"),
            "FG_REQUESTS": str(self.folder),
            "FG_PID": str(self._program.pid),
        }

    @property
    def works(self) -> bool:
        """Whether the program runs and the mount answers."""
        try:
            return self._program.poll() is None and (self.tracing / "README").is_file()
        except OSError:
            return False

    def end(self) -> None:
        """Kill the program and unmount."""
        self._program.kill()
        self._program.communicate()
        subprocess.run(["umount", "--lazy", self.tracing], stderr=subprocess.DEVNULL)


class Runner:
    """Runs tests one after the other; the next gets a new program when one has not passed.

    Args:
        tests: the folder that mapping.write() has written.
        python: that of an environment with funcgraph and its extra `mount`.
        work: an empty folder.
    """

    def __init__(self, tests: Path, python: Path, work: Path) -> None:
        self._tests = tests
        self._python = python
        self._work = work
        self._number = 0
        self._mounted: Mounted | None = None

    def run(self, path: str) -> Iterator[tuple[Test, str]]:
        """Yield the result of a test, and of the same in an instance if it can run there."""
        mounted = self._working()
        logs = self._work / "logs" / path.removesuffix(".tc")
        words: list[str | Path] = [
            self._tests / "ftracetest",
            "-k",
            "-l",
            logs,
            self._tests / "test.d" / path,
        ]
        with _output(words, self._work, mounted.environment) as text:
            found = {bool(instance): result for instance, result in _LINE.findall(text)}
        if "flags:" in self._head(path) and "instance" in self._head(path).partition("flags:")[2]:
            found.setdefault(True, "HANG")
        found.setdefault(False, "HANG")
        for is_instance, result in sorted(found.items()):
            yield Test(path, is_instance), result
        if set(found.values()) - set(PASSING):
            self.end()

    def end(self) -> None:
        """End the program that the tests used."""
        if self._mounted:
            self._mounted.end()
            self._mounted = None

    def _head(self, path: str) -> str:
        text = (self._tests / "test.d" / path).read_text()
        return "".join(line for line in text.splitlines() if line.startswith("# flags:"))

    def _working(self) -> Mounted:
        if self._mounted and not self._mounted.works:
            self.end()
        if self._mounted is None:
            self._number += 1
            self._mounted = Mounted(self._python, self._work / f"program-{self._number}")
        return self._mounted


def paths(tests: Path) -> list[str]:
    """Return the paths of all tests below test.d, in the order in which ftracetest runs them."""
    folder = tests / "test.d"
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.tc"))


@contextmanager
def _output(words: list[str | Path], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a command in a session of its own; give what it printed until its end, or until its time is up."""
    with (folder / "output").open("w+") as output:
        # Some tests end what they started by SIGHUP, which `nohup` has everything ignore.
        process = subprocess.Popen(
            ["env", "--default-signal=HUP", *words],
            env=environment,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TIMEOUT_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0)
        yield output.read()


def reset(folder: Path) -> Path:
    """Return the folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
