"""Environments with funcgraph installed from a wheel: `make dev PY=3.13`.

One for each CPython, under .venvs/. Both steps are skipped when nothing they depend on has changed: the
requirements are installed again when their list changes, the wheel is built again when a source does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, run, say, shown
from tools.layout import BUILD, BUILD_INPUTS, LOGS, ROOT, VENVS, files, requirements
from tools.pythons import Interpreter, choose

_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


class Environment:
    """A virtual environment in .venvs/NAME that holds the requirements of some dependency groups."""

    def __init__(self, name: str, python: Interpreter, *groups: str) -> None:
        self.name = name
        self.folder = VENVS / name
        self.python = self.folder / "bin" / "python"
        self.log = LOGS / f"environment-{name}.log"
        self._interpreter = python
        self._groups = groups

    def script(self, name: str) -> Path:
        """Return the path of a command that is installed in it."""
        return self.folder / "bin" / name

    def prepare(self) -> None:
        """Make it, with its requirements, unless it is there. CommandFailedError if that does not work."""
        wanted = requirements(*self._groups)
        key = "\n".join([str(self._interpreter.executable), self._interpreter.release, *wanted])
        stamp = self.folder / ".requirements"
        if stamp.is_file() and stamp.read_text() == key:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        run([self._interpreter.executable, "-m", "venv", self.folder], log=self.log)
        if wanted:
            self._install(wanted)
        stamp.write_text(key)

    def _install(self, wanted: list[str]) -> None:
        if not self._interpreter.free_threaded:
            run([self.python, *_PIP, "install", *wanted], log=self.log)
            return
        # Some packages have no wheel for a free-threaded CPython yet, and no source that builds there: the
        # tests that need one are skipped. An older pure wheel will do.
        for requirement in wanted:
            try:
                run([self.python, *_PIP, "install", "--only-binary=:all:", requirement], log=self.log)
            except CommandFailedError:
                say(f"CPython {self._interpreter.tag}: {requirement} cannot be had")

    def install_funcgraph(self) -> bool:
        """Build the wheel from the sources and install it, if they changed; True if they had."""
        stamp = self.folder / ".funcgraph"
        key = _fingerprint()
        if stamp.is_file() and stamp.read_text() == key:
            return False
        stamp.unlink(missing_ok=True)
        log = LOGS / f"wheel-{self.name}.log"
        log.unlink(missing_ok=True)
        wheels = BUILD / "wheels" / self.name
        shutil.rmtree(wheels, ignore_errors=True)
        # Its own build requirements and compile tree: the second build compiles only what changed.
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        run(
            [
                self.python, *_PIP, "wheel", "--no-deps", "--no-build-isolation", "--verbose",
                f"--config-settings=build-dir={BUILD / 'cmake' / self.name}", "--wheel-dir", wheels, ROOT,
            ],
            log=log,
            env={"PATH": path},
        )  # fmt: skip
        (wheel,) = wheels.glob("*.whl")
        run([self.python, *_PIP, "install", "--no-deps", "--force-reinstall", wheel], log=log)
        stamp.write_text(key)
        return True


def installed(name: str, python: Interpreter, *groups: str) -> Environment:
    """Return .venvs/NAME on `python`, with what the dependency groups name and a fresh funcgraph."""
    # cmake and ninja: as for anybody who runs `pip install .`, from PyPI when the machine has none.
    environment = Environment(name, python, "build", *([] if _has_cmake() else ["native"]), *groups)
    environment.prepare()
    environment.install_funcgraph()
    return environment


def test_environment(python: Interpreter) -> Environment:
    """Return the environment in which the tests run on `python`: .venvs/3.13."""
    return installed(python.tag, python, "test")


def _has_cmake() -> bool:
    return bool(shutil.which("cmake") and shutil.which("ninja"))


def _fingerprint() -> str:
    """A digest of the names, sizes and times of all that goes into a wheel, and of how it is compiled."""
    digest = hashlib.sha256()
    for name in ("CC", "CFLAGS", "LDFLAGS"):
        digest.update(f"{name}={os.environ.get(name, '')}\n".encode())
    for file in files(*BUILD_INPUTS):
        status = file.stat()
        digest.update(f"{file}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.venvs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "tag", nargs="?", default="", help="the CPython, as 3.13; the newest here if not given"
    )
    arguments = parser.parse_args(argv)
    watch = Stopwatch()
    try:
        environment = test_environment(choose(arguments.tag))
    except LookupError as error:
        say(f"dev: {error}")
        return 2
    except CommandFailedError as error:
        if error.log is not None:
            say("".join(error.log.read_text(errors="replace").splitlines(keepends=True)[-60:]))
        say(f"dev: {error}")
        return 1
    say(f"{shown(environment.script('funcgraph'))} is up to date ({watch})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
