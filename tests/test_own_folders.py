"""Tests neither see nor disturb the recordings of others: each run has memory-backed folders of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_folders import SHARED

pytestmark = pytest.mark.one_python

SUPPORT = Path(__file__).parent / "support"
REPORT = f"""
import json, os, sys, tempfile
sys.path.insert(0, {str(SUPPORT)!r})
from own_folders import enter_own_folders
if "as nobody" in sys.argv:
    os.setgid(65534)
    os.setuid(65534)
own = enter_own_folders()
runtime = os.environ.get("XDG_RUNTIME_DIR")
mode = runtime and os.stat(runtime).st_mode & 0o777
open(os.path.join(runtime or "/dev/shm", "left"), "w").close()
print(json.dumps([own, runtime, mode, sorted(os.listdir("/dev/shm"))]))
"""


@pytest.fixture
def decoy() -> Iterator[Path]:
    """A folder that looks like somebody's recording."""
    folder = Path(tempfile.mkdtemp(prefix="funcgraph-", dir=SHARED))
    yield folder
    shutil.rmtree(folder)


def report(*arguments: str) -> tuple[bool, str | None, int | None, list[str]]:
    environment = {**os.environ, "XDG_RUNTIME_DIR": "/somebody/else"}
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    own, runtime, mode, names = json.loads(done.stdout)
    return own, runtime, mode, names


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace takes root")
def test_a_run_of_root_has_a_shared_memory_folder_of_its_own(decoy: Path) -> None:
    own, runtime, _, names = report()
    assert (own, runtime, names) == (True, None, ["left"])
    assert decoy.is_dir()
    assert not Path(SHARED, "left").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_run_of_another_user_has_a_runtime_folder_which_it_removes(decoy: Path) -> None:
    own, runtime, mode, names = report("as nobody")
    assert (own, mode) == (False, 0o700)
    assert runtime is not None
    assert runtime.startswith(f"{SHARED}/fgtest-run-")
    assert decoy.name in names  # it is still there to be seen; but XDG_RUNTIME_DIR goes before it
    assert not Path(runtime).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace takes root")
def test_this_run_has_left_the_folder_of_all() -> None:
    assert os.readlink("/proc/self/ns/mnt") != os.readlink(f"/proc/{os.getppid()}/ns/mnt")
    assert "XDG_RUNTIME_DIR" not in os.environ
