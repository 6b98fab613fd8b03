"""`funcgraph status --clean` removes what dead processes left: nothing alive, and nothing with records."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph

from funcgraph.recorder import leftovers
from funcgraph.recorder.directory import Session

pytestmark = pytest.mark.one_python

PROGRAM = """
import os
def step(): pass
for _ in range(100): step()
print(os.getpid(), flush=True)
input()
"""


# Nothing of this machine's other sessions is touched.
CLEAN = """
import sys
from funcgraph import cli
from funcgraph.recorder import directory, leftovers
directory.folders = leftovers.folders = lambda: [sys.argv[1]]
sys.exit(cli.main(["status", "--clean"]))
"""


def clean(fg: Funcgraph) -> list[str]:
    """Return the lines of `funcgraph status --clean`."""
    result = fg.plain(sys.executable, "-c", CLEAN, fg.runtime)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    return [] if lines == ["nothing is left"] else lines


def dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait(timeout=30)
    return process.pid


def start(fg: Funcgraph, *options: str) -> subprocess.Popen[str]:
    """Start a recording, and return when its program has called its functions."""
    before = set(fg.sessions())
    process = fg.start("record", "-q", *options, fg.script(PROGRAM))
    assert process.stdout is not None
    process.pid_of_program = int(process.stdout.readline())  # type: ignore[attr-defined]
    (process.session,) = set(fg.sessions()) - before  # type: ignore[attr-defined]
    return process


def kill(process: subprocess.Popen[str]) -> Path:
    """Kill a recorder, and let its program end; return the session's directory."""
    process.kill()
    process.wait(timeout=30)
    process.communicate("\n", timeout=30)
    session: Path = process.session  # type: ignore[attr-defined]
    return session


def test_a_session_with_records_is_kept_until_it_is_recovered(fg: Funcgraph) -> None:
    session = kill(start(fg, "-l", "__main__.step"))
    (line,) = clean(fg)
    assert line.startswith(f"{session}: kept: ")
    assert line.endswith(f"; 'funcgraph recover {session}' makes a trace of it")
    left = fg.folder / f"trace.fg.{dead_process()}.0.tmp"
    left.touch()
    assert fg.run("recover", str(session)).returncode == 0
    assert fg.calls()["__main__.step"] == 100
    assert not left.exists()
    assert clean(fg) == []


def test_a_session_that_ends_meanwhile_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / f"funcgraph-{dead_process()}-gone"
    folder.mkdir(0o700)
    session = Session.at(str(folder))
    folder.rmdir()
    assert list(leftovers._clean_session(session)) == []


def test_a_session_without_records_is_removed_with_its_spool(fg: Funcgraph) -> None:
    session = kill(start(fg, "-l", "no.such.function"))
    part = Path(f"{fg.trace}.part")
    assert part.exists()
    assert clean(fg) == [f"{session}: removed: nothing was recorded"]
    assert not session.exists() and not part.exists()


def test_a_session_that_another_version_wrote_is_kept(fg: Funcgraph) -> None:
    session = kill(start(fg, "-l", "__main__.step"))
    Path(f"{fg.trace}.part").write_bytes(b"FGSPOOL\xff and what this version cannot read")
    (line,) = clean(fg)
    assert line == f"{session}: kept: what it holds cannot be read (not a trace.dat file)"
    assert session.exists()


def test_what_dead_processes_left_is_removed_beside_a_live_recording(fg: Funcgraph) -> None:
    dead = dead_process()
    process = start(fg, "-l", "__main__.step")
    folders = {
        "of a dead process": f"funcgraph-instance-{dead}-abcd_1",
        "of a living process": f"funcgraph-instance-{os.getpid()}-abcd_1",
        "killed before it had a lock": f"funcgraph-{dead}-abcd_2",
        "not yet locked": f"funcgraph-{os.getpid()}-abcd_2",
        "spare of a dead recorder": f"funcgraph-{dead}-abcd_3.spare",
        "of another program": f"funcgraphs-{dead}-abcd_1",
    }
    for name in folders.values():
        (fg.runtime / name).mkdir(0o700)
    (fg.runtime / folders["of a dead process"] / "trace.fg").touch()
    spare = fg.folder / f"funcgraph-{dead}-abcd_5.spare"  # beside the output
    spare.mkdir(0o700)
    unlocked = fg.runtime / f"funcgraph-{os.getpid()}-abcd_4"  # a recorder that has its lock only now
    unlocked.mkdir(0o700)
    (unlocked / "lock").touch()
    files = {
        "of a dead process": f"trace.fg.{dead}.0.tmp",
        "as a snapshot had it": f"trace.fg.{dead}.tmp",
        "of a living process": f"trace.fg.{os.getpid()}.0.tmp",
        "somebody's own": f"trace.fg.{dead}.0.tmp.txt",
        "of another output": f"other.dat.{dead}.0.tmp",
    }
    for name in files.values():
        (fg.folder / name).touch()

    lines = clean(fg)
    assert lines == [
        f"{fg.folder}/{files['of a dead process']}: removed: an unfinished trace",
        f"{fg.folder}/{files['as a snapshot had it']}: removed: an unfinished trace",
        f"{fg.runtime}/{folders['killed before it had a lock']}: removed: its process has ended",
        f"{fg.runtime}/{folders['spare of a dead recorder']}: removed: its process has ended",
        f"{fg.runtime}/{folders['of a dead process']}: removed: its process has ended",
        f"{spare}: removed: its process has ended",
    ]
    for line in lines:
        assert not Path(line.partition(": ")[0]).exists()
    kept = {path.name for path in (*fg.runtime.iterdir(), *fg.folder.iterdir())}
    assert kept >= {folders["of a living process"], folders["not yet locked"], folders["of another program"]}
    assert kept >= {unlocked.name, files["of a living process"], files["somebody's own"]}
    assert kept >= {files["of another output"]}

    process.communicate("\n", timeout=30)
    assert process.returncode == 0
    assert fg.calls()["__main__.step"] == 100


def test_the_session_of_a_program_that_still_runs_is_kept(fg: Funcgraph) -> None:
    process = start(fg, "-l", "no.such.function")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    (line,) = clean(fg)
    assert "kept: 1 process of it still running" in line
    kill(process)
    (line,) = clean(fg)
    assert "removed: nothing was recorded" in line
