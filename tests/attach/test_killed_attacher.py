"""An attacher that gets SIGKILL at any step leaves a program that runs, and that can be attached to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from extension import compile_library
from running import PROGRAMS, Running, code_pages

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled kill_at.c."""
    return compile_library(tmp_path_factory.mktemp("kill_at"), HERE.parent / "session" / "kill_at.c")


@pytest.mark.parametrize(
    "name",
    [
        "busy",
        pytest.param("sleeping", marks=pytest.mark.one_python),
        pytest.param("with signals", marks=pytest.mark.one_python),
    ],
)
def test_whenever_it_is_killed_the_program_runs_on_and_can_be_attached_to(name: str, library: Path) -> None:
    """The moments are after each of its calls that change files or the process."""
    with Running(PROGRAMS[name]) as program:
        threads, code = program.threads(), code_pages(program.pid)
        done = subprocess.run(
            [sys.executable, str(HERE / "killed_attacher.py"), str(library), str(program.pid)],
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, "LD_PRELOAD": str(library)},
        )
        *wrong, killed = done.stdout.splitlines() or [done.stderr]
        assert not wrong
        assert int(killed) > 10
        program.wait_for_threads(threads)
        assert code_pages(program.pid) == code
        assert program.end() == (7, "", "")
