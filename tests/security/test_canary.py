"""Root uses its commands on a hostile user's programs: nothing of root's changes, no command hangs or dies.

The canary is a folder of root's. What there is of it, names, owners, modes, links and contents, must be the
same afterwards. `hostile_programs` has the kinds of programs. By day each of them is recorded and meets
one further command, which takes a minute; at night all of them meet all commands for half an hour.
`make canary` takes any number of minutes.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Funcgraph
from hostile_programs import ATTACKS, PLACES
from hostile_user import as_user
from sizes import CANARY_MINUTES, CANARY_ROUNDS, seed
from targets import may, some_mounts

#: No command takes so long, even on a busy machine: each ends by its own time limits.
HANGS_S = 120
#: No other run of the tests has this user: some programs kill all processes of theirs.
USER = 20_000 + os.getpid() % 40_000
pytestmark = [pytest.mark.one_python, pytest.mark.timeout(60 * CANARY_MINUTES + 1200)]


_USER = as_user(USER)
KINDS = tuple(kind for kind in ATTACKS if kind != "bind" or may(*_USER, "unshare", "-Um"))


class Host:
    """A folder that everybody may look into, with a user's part and a canary.

    Attributes:
        folder: holds `user`, which is the user's, and `canary` and `canary.spare`, which are root's.
        out: root's own files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        folder.chmod(0o755)
        self.canaries = (folder / "canary", folder / "canary.spare")
        for place in self.canaries:
            (place / "sub").mkdir(parents=True)
            (place / "file").write_bytes(b"root's" * 1000)
            (place / "sub/private").touch(mode=0o600)
            (place / "link").symlink_to("file")
            for name in ("lock", "page", "config", "run", "source", "script", "result", "1.0.ring"):
                (place / name).write_text("root's")
        (folder / "user").mkdir()
        os.chown(folder / "user", USER, USER)
        self.out.mkdir(0o700)
        (self.out / "mount").mkdir()

    def tree(self) -> dict[str, tuple[object, ...]]:
        """Return what there is of root's, with owner, mode, links, time of the last change, and contents."""
        found = {}
        for place in (self.folder, *self.canaries):
            paths = (place, *sorted(place.rglob("*"))) if place in self.canaries else (place,)
            for path in paths:
                facts = path.lstat()
                contents = (
                    os.readlink(path)
                    if stat.S_ISLNK(facts.st_mode)
                    else hashlib.sha256(path.read_bytes()).hexdigest()
                    if stat.S_ISREG(facts.st_mode)
                    else ""
                )
                found[str(path)] = (
                    facts.st_uid, facts.st_gid, facts.st_mode, facts.st_nlink, facts.st_ino,
                    facts.st_ctime_ns, contents,
                )  # fmt: skip
        return found


@pytest.fixture
def host() -> Iterator[Host]:
    folder = Path(tempfile.mkdtemp(prefix="fgtest-canary-"))
    yield Host(folder)
    subprocess.run(["umount", "-l", str(folder / "out/mount")], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def programs() -> Iterator[subprocess.Popen[str]]:
    """Run the process that hostile programs are forked from."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    command = [sys.executable, str(Path(__file__).with_name("hostile_programs.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
        yield process


@contextmanager
def hostile(programs: subprocess.Popen[str], kind: str, host: Host, *, serves: bool) -> Iterator[int]:
    """Run a hostile program; what it leaves behind is removed."""
    assert programs.stdin is not None and programs.stdout is not None
    print(kind, int(serves), USER, host.folder, sep="|", file=programs.stdin, flush=True)
    ready, pid = programs.stdout.readline().split()
    assert ready == "ready"
    try:
        yield int(pid)
    finally:
        os.kill(int(pid), signal.SIGKILL)
    for place in PLACES:
        for path in place.glob("funcgraph-*"):
            if path.lstat().st_uid == USER:
                path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def commands(pid: int, out: Path) -> dict[str, list[str]]:
    """Return what root does to a process; `out`: where its own files are."""
    target = ["-P", str(pid)]
    left = str(PLACES[0] / f"funcgraph-{pid}-left")
    return {
        "record": ["record", "-o", str(out / "trace.fg"), *target, "--", "sleep", "0.5"],
        "attach": ["attach", "--timeout", "5", str(pid)],
        "record again": ["record", "-o", str(out / "trace.dat"), *target, "--", "sleep", "0.2"],
        "recover": ["recover", "-o", str(out / f"recovered-{pid}.fg"), left],
        "recover to where it says": ["recover", left],
        "start": ["start", "-p", "function_graph", *target],
        "show": ["show", *target],
        "list": ["list", *target],
        "settings": ["settings", *target],
        "status": ["status"],
        "show all": ["show"],
        "mount": ["mount", str(out / "mount"), *target],
        "detach": ["detach", str(pid)],
    }


class Root:
    """Root's commands. Their output goes to files: a command may go on in the background."""

    def __init__(self, fg: Funcgraph, host: Host) -> None:
        self._fg, self._host = fg, host
        self._environment = {name: value for name, value in fg.env.items() if name != "XDG_RUNTIME_DIR"}

    def run(self, words: list[str], what: str) -> None:
        """Run a command. Fails if it hangs or dies."""
        errors = self._host.out / "errors"
        with errors.open("wb") as file:
            process = subprocess.Popen(
                [*self._fg.command, *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=self._host.out,
                env=self._environment,
            )
            try:
                status = process.wait(HANGS_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)
                process.wait()
                pytest.fail(f"{what} hangs: {errors.read_text(errors='replace')}")
        text = errors.read_text(errors="replace")
        assert status >= 0, f"{what} died of signal {-status}: {text}"
        assert "Traceback" not in text, f"{what}: {text}"

    def wait_until_unmounted(self, what: str) -> None:
        """A mount ends with its process."""
        place = str(self._host.out / "mount")
        for _ in range(10 * HANGS_S):
            if not any(line.split()[1] == place for line in Path("/proc/mounts").read_text().splitlines()):
                return
            time.sleep(0.1)
        pytest.fail(f"{what}: its mount stays")


_SLOW = {"bind": "attach", "stop_others": "attach", "answer_nonsense": "show"}


def rounds(chance: random.Random) -> Iterator[tuple[str, bool, list[str]]]:
    """Yield kinds of programs, whether they have a socket, and names of commands.

    By day each kind is recorded and meets one further command, so that each command has its turn; those that
    make root wait have one that waits 5 s at most. At night all kinds meet all commands, with a socket or
    attached to.
    """
    names = list(commands(0, Path()))
    if not CANARY_MINUTES:
        others = itertools.cycle(name for name in names if name not in ("record", *_SLOW.values()))
        for kind in KINDS[:CANARY_ROUNDS]:
            slow = _SLOW.get(kind)
            yield kind, slow != "attach", [slow] if slow else ["record", next(others)]
        return
    end = time.monotonic() + 60 * CANARY_MINUTES
    for kind in itertools.cycle(KINDS):
        if time.monotonic() > end:
            return
        yield kind, chance.random() < 0.5, chance.sample(names, len(names))


@some_mounts
def test_nothing_of_roots_changes_and_no_command_hangs_or_dies(
    fg: Funcgraph, host: Host, programs: subprocess.Popen[str]
) -> None:
    """Fails if root walks a path of the user's, believes what is in its files, or waits for the user."""
    chance = random.Random(seed())
    root = Root(fg, host)
    before = host.tree()
    for kind, serves, names in rounds(chance):
        with hostile(programs, kind, host, serves=serves) as pid:
            known = commands(pid, host.out)
            for name in names:
                what = f"{name} of a program of kind {kind}"
                root.run(known[name], what)
                assert host.tree() == before, what
        root.wait_until_unmounted(f"a program of kind {kind}")
        assert host.tree() == before, kind
