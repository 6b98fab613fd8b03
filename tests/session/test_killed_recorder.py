"""A recorder that gets SIGKILL at any moment of a change of files, of a dump or of its end loses nothing.

The moments are its system calls that change files: before one, in half of what it writes, and after it
(kill_at.c). At night each of them is one, else one in a few.
"""

from __future__ import annotations

import fcntl
import itertools
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Funcgraph
from extension import compile_library
from sizes import KILLED_CALLS

import funcgraph

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled kill_at.c."""
    return compile_library(tmp_path_factory.mktemp("kill_at"), HERE / "kill_at.c")


@pytest.mark.parametrize(
    ("scene", "least"),
    [
        ("beginning", 20),
        ("rotating", 100),
        ("ending", 40),
        ("ending in trace.dat", 60),
        ("dumping", 200),
        ("recovering rotating", 60),
        ("recovering ending in trace.dat", 30),
        ("recovering dumping", 60),
    ],
)
def test_whenever_it_is_killed_each_event_is_there_once(
    fg: Funcgraph, library: Path, scene: str, least: int
) -> None:
    """All files are readable; `status --clean` removes none, `recover` brings the rest, and may be killed."""
    env = fg.env | {"LD_PRELOAD": str(library), "PYTHONPATH": str(SUPPORT)}
    words = [HERE / "killed_recorder.py", library, fg.runtime / "case", scene, KILLED_CALLS]
    done = fg.plain(sys.executable, *words, env=env, timeout=280)
    assert (done.returncode, done.stderr) == (0, "")
    *wrong, killed = done.stdout.splitlines()
    assert wrong == []
    assert int(killed) >= least // KILLED_CALLS


# ---- `funcgraph record` itself

PROGRAM = """
import itertools, sys
import funcgraph

def step(n):
    pass

numbers = itertools.count()
while True:
    word, count = input().split()
    if word == "end": sys.exit(int(count))
    elif word == "dump": funcgraph.ftrace_dump(count)
    for _ in range(int(count)): step(next(numbers))
    print("done", flush=True)
"""


class Recorded:
    """The program, in a recorder that kills itself at its N-th call after it created a file at `place`.

    Args:
        file: which of the files there, from 1 on.
    """

    def __init__(
        self, fg: Funcgraph, library: Path, place: Path, call: int, *flags: str, file: int = 1
    ) -> None:
        env = fg.env | {"LD_PRELOAD": str(library), "KILL_AT_PLACE": str(place), "KILL_AT_FILE": str(file)}
        env |= {"KILL_AT_CALL": str(call), "KILL_AT_WHEN": "0"}
        self.fg = fg
        script = fg.script(PROGRAM, "counted.py")
        flags = ("-q", "-l", "*.step", "--args", *flags)
        self.process = fg.start("record", *flags, script, env=env)
        self.count = 0
        self.sure = 0  # of calls before the recorder was last seen to have its lock

    def is_killed(self) -> bool:
        return self.process.poll() is not None

    def has_lock(self) -> bool:
        """Return whether the recorder lives. A dying one is no zombie yet, but no longer has its lock."""
        for session in self.fg.sessions():
            with suppress(OSError), open(session / "lock", "r+b") as file:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return True
        return False

    def tell(self, word: str, count: int) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.has_lock():
            self.sure = self.count
        self.process.stdin.write(f"{word} {count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"  # it is never harmed
        self.count += count

    def end(self) -> bool:
        """End the program; return whether the recorder was killed."""
        _, errors = self.process.communicate("end 0\n", timeout=120)
        assert self.process.returncode in (0, -signal.SIGKILL), errors
        assert "Traceback" not in errors
        return self.process.returncode != 0


def numbers_in(path: Path) -> list[int]:
    with funcgraph.open(path) as trace:
        numbers = [event.arguments["n"] for event in trace.events() if event.kind == "entry"]
    assert all(isinstance(number, int) for number in numbers)
    return numbers


def recovered(fg: Funcgraph) -> list[list[int]]:
    """Recover what is left; return the calls in each file, the oldest file first."""
    for session in fg.sessions():
        if not (session / "lock").exists():
            session.rmdir()  # killed after it deleted that: `status --clean` does the same
            continue
        done = fg.run("recover", session)
        assert done.returncode == 0 or done.stderr.endswith("; removed\n"), done.stderr
    names = [fg.trace, *(Path(f"{fg.trace}.{number}") for number in range(1, 9))]
    assert not list(fg.folder.glob("*.part*")) and fg.sessions() == []
    return [numbers_in(path) for path in reversed(names) if path.exists()]


def test_the_command_killed_while_it_changes_files_loses_nothing(fg: Funcgraph, library: Path) -> None:
    """From where FILE.part.next is created, up to where a whole change is done."""
    place = Path(f"{fg.trace}.part.next")
    for call in itertools.count(1, KILLED_CALLS):
        for path in fg.folder.glob("trace.fg*"):
            path.unlink()
        recorded = Recorded(fg, library, place, call, "--rotate", "64K", "--keep", "3", "-b", "256")
        while not recorded.is_killed() and not Path(f"{fg.trace}.1").exists():
            recorded.tell("calls", 2000)
        was_killed = recorded.end()
        files = recovered(fg)
        calls = list(itertools.chain(*files))
        assert 1 <= len(files) <= 3
        assert calls == list(range(calls[0], calls[0] + len(calls)))
        assert calls[0] == 0 or len(files) == 3
        assert calls[-1] >= recorded.sure - 1
        if not was_killed:
            break
    assert call > 20


def test_the_command_killed_while_it_dumps_leaves_the_dump_before(fg: Funcgraph, library: Path) -> None:
    """From where the second dump was begun, up to where that is done."""
    for call in itertools.count(1, KILLED_CALLS):
        for path in fg.folder.glob("trace.fg*"):
            path.unlink()
        recorded = Recorded(fg, library, fg.folder, call, "--ring", "1M", file=2)
        recorded.tell("calls", 100)
        recorded.tell("dump", 0)
        while not fg.trace.exists():
            recorded.tell("calls", 0)
        first = numbers_in(fg.trace)
        recorded.tell("calls", 20)
        recorded.tell("dump", 5)
        while not recorded.is_killed() and not Path(f"{fg.trace}.1").exists():
            recorded.tell("calls", 0)
        was_killed = recorded.end()
        files = recovered(fg)
        assert first == files[0] == list(range(100))
        if not was_killed:
            assert len(files) == 2
            break
        # What was in a sub-buffer is in the ring, whether a dump has it or not.
        assert files[-1] == list(range(recorded.count))
    assert call > 6
