"""Environments with funcgraph installed from a wheel: `make dev PY=3.13`.

One for each CPython, under .venvs/. A step is skipped while nothing that it depends on has changed: the
requirements are installed again when their list changes, the wheel is built again when a source does. All
environments of one CPython share its wheel.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, print_message, run, shown
from tools.layout import BUILD, BUILD_INPUTS, LOGS, NIGHTLY, ROOT, VENVS, files, requirements
from tools.progress import build_shown
from tools.pythons import Interpreter, choose

_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
#: Most modules of the requirements are never imported: Python compiles those that are when they are.
_INSTALL = (*_PIP, "install", "--no-compile")


class Environment:
    """A virtual environment in .venvs/NAME that holds the requirements of some dependency groups."""

    def __init__(self, name: str, python: Interpreter, *groups: str) -> None:
        self.name = name
        self.folder = VENVS / name
        self.python = self.folder / "bin" / "python"
        self.log = LOGS / f"environment-{name}.log"
        self.interpreter = python
        self._groups = groups

    def script(self, name: str) -> Path:
        """Return the path of a command that is installed in it."""
        return self.folder / "bin" / name

    def command(self, *words: str | Path) -> list[str | Path]:
        """Return the words that run its Python with the arguments `words`."""
        return [*self.interpreter.inside, self.python, *words]

    @property
    def path(self) -> str:
        """PATH with its commands in front."""
        return f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"

    def prepare(self) -> None:
        """Make it, with its requirements, unless it is there. CommandFailedError if that does not work."""
        needed = requirements(*self._groups)
        python = self.interpreter
        key = "\n".join([*python.inside, str(python.executable), python.release, *needed])
        stamp = self.folder / ".requirements"
        if stamp.is_file() and stamp.read_text() == key:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        run([*python.inside, python.executable, "-m", "venv", self.folder], log=self.log)
        if needed:
            self._install(needed)
        stamp.write_text(key)

    def _install(self, needed: list[str]) -> None:
        if not self.interpreter.free_threaded:
            run(self.command(*_INSTALL, *needed), log=self.log)
            return
        # Some packages have no wheel for a free-threaded CPython yet, and no source that builds there: the
        # tests that need one are skipped. An older pure wheel will do.
        for requirement in needed:
            try:
                run(self.command(*_INSTALL, "--only-binary=:all:", requirement), log=self.log)
            except CommandFailedError:
                print_message(f"CPython {self.interpreter.tag}: {requirement} cannot be had")

    def install_funcgraph(self) -> None:
        """Install the wheel of the sources as they are, unless it is installed."""
        stamp = self.folder / ".funcgraph"
        with locked(f"wheel-{self.interpreter.tag}"):
            wheel, key = self._wheel()
            if stamp.is_file() and stamp.read_text() == key:
                return
            stamp.unlink(missing_ok=True)
            run(self.command(*_PIP, "install", "--no-deps", "--force-reinstall", wheel), log=self.log)
            stamp.write_text(key)

    def _wheel(self) -> tuple[Path, str]:
        """Return the wheel of this CPython, built if a source has changed, and what it was built of."""
        tag = self.interpreter.tag
        wheels = BUILD / "wheels" / tag
        stamp = wheels / ".sources"
        key = _fingerprint()
        if not stamp.is_file() or stamp.read_text() != key:
            log = wheel_log(self.interpreter)
            log.unlink(missing_ok=True)
            shutil.rmtree(wheels, ignore_errors=True)
            # Its own build requirements and compile tree: the second build compiles only what changed. The
            # tree is as deep as that of the C tests: with the same relative paths, ccache serves both.
            settings = [f"build-dir={BUILD / f'cmake-{tag}'}"]
            settings += [f"cmake.define.{name}={value}" for name, value in compiled_with().items()]
            # Twice --verbose: one undoes --quiet, and with the other the log has ninja's counts as they come.
            verbose = ["--verbose", "--verbose"]
            words = ["wheel", "--no-deps", "--no-build-isolation", *verbose, "--wheel-dir", str(wheels)]
            words += [f"--config-settings={setting}" for setting in settings]
            run(self.command(*_PIP, *words, ROOT), log=log, env={"PATH": self.path})
            stamp.write_text(key)
        (wheel,) = wheels.glob("*.whl")
        return wheel, key


def wheel_log(python: Interpreter) -> Path:
    """Return the log of the build of a CPython's wheel."""
    return LOGS / f"wheel-{python.tag}.log"


def installed(name: str, python: Interpreter, *groups: str) -> Environment:
    """Return .venvs/NAME on `python`, with what the dependency groups name and a fresh funcgraph."""
    # cmake and ninja: as for anybody who runs `pip install .`, from PyPI when the machine has none.
    native = [] if python.has("cmake", "ninja") else ["native"]
    environment = Environment(name, python, "build", "run", *native, *groups)
    environment.prepare()
    environment.install_funcgraph()
    return environment


def test_environment(python: Interpreter) -> Environment:
    """Return the environment in which the tests run on `python`: .venvs/3.13."""
    return installed(python.tag, python, "test", *(["nightly"] if NIGHTLY else []))


def compiled_with() -> dict[str, str]:
    """Return the options of CMakeLists.txt with which wheels are built.

    FG_WERROR=1 makes warnings errors, as `make lint` does. FG_LTO=0 builds without optimisation across files,
    which has each wheel compile all files again: CI does so.
    """
    return {
        # An environment is not built again for a new commit that changes no source.
        "FG_COMMIT": "unknown",
        "FG_WERROR": "ON" if os.environ.get("FG_WERROR") == "1" else "OFF",
        "FG_LTO": "OFF" if os.environ.get("FG_LTO") == "0" else "ON",
    }


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep others from building, or installing, what has this name meanwhile."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fingerprint() -> str:
    """A digest of the names, sizes and times of all that goes into a wheel, and of how it is compiled."""
    digest = hashlib.sha256(f"{compiled_with()}\n".encode())
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
        python = choose(arguments.tag)
        with build_shown(wheel_log(python)):
            environment = test_environment(python)
    except LookupError as error:
        print_message(f"dev: {error}")
        return 2
    except CommandFailedError as error:
        if error.log is not None:
            print_message("".join(error.log.read_text(errors="replace").splitlines(keepends=True)[-60:]))
        print_message(f"dev: {error}")
        return 1
    print_message(f"{shown(environment.script('funcgraph'))} is up to date ({watch})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
