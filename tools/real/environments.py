"""The hostile environments: what a program does there, or has done to it, and how often it calls leaf().

Each program ends in its own way and says something on both standard streams. `truth` is the number of calls
that it makes, in all of its processes; None: the program prints it.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.real import places
from tools.real.places import Words

PRELUDE = """\
import os, resource, signal, subprocess, sys, threading

def leaf():
    pass

def calls(count):
    for _ in range(count):
        leaf()

def fork(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return os.waitpid(pid, 0)[1]

"""
CALLS = "leaf()\n"
END = """
print("out")
print("err", file=sys.stderr)
sys.exit(3)
"""


@dataclass(frozen=True)
class Scene:
    """Where a row runs.

    Args:
        folder: the working directory, which anybody may write.
        trace: the trace, in a folder of its own.
        copy: where a place that removes that folder copies the trace to.
        runtime: the folder of the sessions, in memory.
        python: the Python under test, with funcgraph installed.
    """

    folder: Path
    trace: Path
    copy: Path
    runtime: Path
    python: str


def nowhere(scene: Scene) -> Words:
    """No place of its own."""
    del scene
    return []


@dataclass(frozen=True)
class Row:
    """One environment.

    Args:
        name: its name, for the tests.
        text: what the page says of it.
        program: what it runs, between PRELUDE and END.
        truth: how many calls of leaf() there are; None: the program prints `calls N`.
        place: the words before the command.
        flags: of the Python.
        variables: of the environment; an empty one is removed.
        options: of `funcgraph record`.
        zipped: the program is an archive.
        needs: whether it can be tried on this machine.
    """

    name: str
    text: str
    program: str
    truth: int | None = 1000
    place: Callable[[Scene], Words] = nowhere
    flags: Sequence[str] = ()
    variables: tuple[tuple[str, str], ...] = ()
    options: Sequence[str] = ()
    zipped: bool = False
    needs: Callable[[], bool] = lambda: True

    def write(self, folder: Path) -> Path:
        """Write the program into a folder; return its path."""
        source = PRELUDE + self.program + END
        path = folder / ("app.pyz" if self.zipped else "app.py")
        if self.zipped:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("__main__.py", source)
        else:
            path.write_text(source)
        path.chmod(0o644)
        return path


def _shm(size: str) -> Callable[[Scene], Words]:
    return lambda scene: places.small_folders({"/dev/shm": size}, scene.folder)


def _limits(**values: int) -> Callable[[Scene], Words]:
    return lambda scene: places.limits(**values)


def _user(user: int, **values: int) -> Callable[[Scene], Words]:
    def place(scene: Scene) -> Words:
        python = Path(scene.python)
        paths: list[str | Path] = [python, python.parent.resolve(), python.resolve()]
        paths += [sys.executable, sys.base_prefix, scene.folder, scene.runtime]
        return [*places.as_user(user, paths), *(places.limits(**values) if values else [])]

    return place


def _output(size: str, options: str = "") -> Callable[[Scene], Words]:
    """The output's folder is a file system of its own. It goes with its last process, the trace does not."""

    def place(scene: Scene) -> Words:
        keep = f'"$@"; status=$?; cp {scene.trace} {scene.copy} 2>/dev/null; exit $status'
        return [
            *places.small_folders({str(scene.trace.parent): size}, scene.folder, options),
            *("sh", "-c", keep, "sh"),
        ]

    return place


_NO_XDG = (("XDG_RUNTIME_DIR", ""),)
_FALL_CHROOT = 'os.mkdir("root"); os.chroot("root"); os.chdir("/")'
_FALL_USER = f"os.setgroups([]); os.setgid({places.NOBODY}); os.setuid({places.NOBODY})"
_MANY = "calls(200_000)\n"

FILL = """
leaf()
with open(os.environ["XDG_RUNTIME_DIR"] + "/big", "wb", buffering=0) as file:
    try:
        while file.write(bytes(1 << 16)):
            pass
    except OSError as error:
        print(error.strerror)
calls(100_000)
print(fork(leaf))
"""

MANY_CHILDREN = """
read, write = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        leaf()
        os.close(write)
        os.read(read, 1)  # all of them are alive at once
        os._exit(0)
os.close(write)
print(sum(os.wait()[1] for _ in range(30)))
"""

DAEMON = """
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    calls(1000)
    os.write(write, b"the daemon has run")
    os._exit(0)
os.wait()
print(os.read(read, 100).decode())
"""

CHILD = '''
source = """
def leaf():
    pass
for _ in range(1000):
    leaf()
"""
os.environ.clear()
print(fork(lambda: os.execv(sys.executable, [sys.executable, "-c", source])))
'''

RECURSION = """
seen = 0
def leaf():
    global seen
    seen += 1
    leaf()
sys.setrecursionlimit(60)
try:
    leaf()
except RecursionError as error:
    print("calls", seen)
    print(error)
sys.setrecursionlimit(1000)
"""

THREADS = """
threads = [threading.Thread(target=calls, args=(100,)) for _ in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

FULL_CHROOT = f"""
calls(1000)
def fallen():
    {_FALL_CHROOT}
    calls(500)
print(fork(fallen))
"""

ROWS = (
    Row(
        "shm-64m", "`/dev/shm` of 64 MB", _MANY, 200_000, _shm("64m"), variables=_NO_XDG, needs=places.is_root
    ),
    Row("shm-4m", "`/dev/shm` of 4 MB", _MANY, 200_000, _shm("4m"), variables=_NO_XDG, needs=places.is_root),
    Row(
        "as",
        "`RLIMIT_AS` of 192 MB, ten threads",
        THREADS,
        1000,
        _limits(AS=192 << 20),
        variables=(("MALLOC_ARENA_MAX", "1"),),
    ),
    Row("nofile", "`RLIMIT_NOFILE` of 40, thirty processes at once", MANY_CHILDREN, 30, _limits(NOFILE=40)),
    Row(
        "nofile-0",
        "the program sets `RLIMIT_NOFILE` to 0",
        "leaf()\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\ncalls(100_000)\n",
        100_001,
    ),
    Row(
        "nproc",
        "`RLIMIT_NPROC` of 8, as another user",
        "calls(970)\nprint([fork(lambda: calls(10)) for _ in range(3)])\n",
        1000,
        _user(54321, NPROC=8),
        needs=places.is_root,
    ),
    Row(
        "nproc-2",
        "`RLIMIT_NPROC` of 2, as another user",
        "calls(1000)\n",
        1000,
        _user(54322, NPROC=2),
        needs=places.is_root,
    ),
    Row(
        "nproc-2-or-untraced",
        "the same, `--or-untraced`",
        "calls(1000)\n",
        1000,
        _user(54322, NPROC=2),
        options=["--or-untraced"],
        needs=places.is_root,
    ),
    Row("fsize", "`RLIMIT_FSIZE` of 1 MB", "calls(1000)\n", 1000, _limits(FSIZE=1 << 20)),
    Row(
        "fsize-program",
        "the program sets `RLIMIT_FSIZE` to 1 MB, and forks",
        "calls(1000)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\nprint(fork(leaf))\n"
        "calls(100_000)\n",
        101_001,
    ),
    Row(
        "read-only",
        "read-only output folder",
        "calls(1000)\n",
        1000,
        _output("1m", ",ro"),
        needs=places.is_root,
    ),
    Row(
        "read-only-or-untraced",
        "read-only output folder, `--or-untraced`",
        "calls(1000)\n",
        1000,
        _output("1m", ",ro"),
        options=["--or-untraced"],
        needs=places.is_root,
    ),
    Row(
        "full-disk",
        "the output's disk gets full",
        "calls(300_000)\n",
        300_000,
        _output("128k"),
        needs=places.is_root,
    ),
    Row(
        "full-session",
        "the session's folder gets full",
        FILL,
        100_002,
        lambda scene: places.small_folders({str(scene.runtime): "64m"}, scene.folder),
        needs=places.is_root,
    ),
    Row(
        "chroot",
        "the program calls `chroot`",
        f"leaf()\n{_FALL_CHROOT}\ncalls(100_000)\n",
        100_001,
        needs=places.is_root,
    ),
    Row(
        "setuid",
        "the program becomes nobody",
        f"leaf()\n{_FALL_USER}\ncalls(100_000)\n",
        100_001,
        needs=places.is_root,
    ),
    Row(
        "fork-in-chroot",
        "a forked child calls `chroot` before its first call",
        FULL_CHROOT,
        1500,
        needs=places.is_root,
    ),
    Row(
        "nobody",
        "all of it runs as nobody",
        "calls(1000)\n",
        1000,
        _user(places.NOBODY),
        needs=places.is_root,
    ),
    Row("closerange", "`os.closerange(3, 256)`", "leaf()\nos.closerange(3, 256)\ncalls(100_000)\n", 100_001),
    Row("environ", "`os.environ.clear()`, then a child Python", CHILD, 1000),
    Row("isolated", "`python -I`, `--isolated`", "calls(1000)\n", flags=["-I"], options=["--isolated"]),
    Row("no-environment", "`python -E`, `--isolated`", "calls(1000)\n", flags=["-E"], options=["--isolated"]),
    Row("no-site", "`python -S`", "calls(1000)\n", flags=["-S"]),
    Row("zipapp", "a zipapp", "calls(1000)\n", zipped=True),
    Row(
        "seccomp",
        "seccomp without `userfaultfd`, `ptrace`, `perf_event_open`",
        "calls(1000)\n",
        place=lambda scene: places.without_system_calls(),
        needs=places.has_filters,
    ),
    Row("kill", "`kill -9` of the program", "calls(1000)\nos.kill(os.getpid(), signal.SIGKILL)\n"),
    Row("fork", "fork without exec", "calls(500)\nprint(fork(lambda: calls(500)))\n"),
    Row("exit", "`os._exit`", "calls(1000)\nos._exit(5)\n"),
    Row("daemon", "a daemon's double fork", DAEMON),
    Row("recursion", "`sys.setrecursionlimit(60)`", RECURSION, None),
    Row(
        "hash-seed",
        "`PYTHONHASHSEED=1`",
        "calls(1000)\nprint(hash('a'))\n",
        variables=(("PYTHONHASHSEED", "1"),),
    ),
    Row("malloc", "`PYTHONMALLOC=debug`", "calls(1000)\n", variables=(("PYTHONMALLOC", "debug"),)),
)
