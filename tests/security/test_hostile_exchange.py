"""The user of a process that root attaches to leads the exchange folder elsewhere: root loses nothing."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "attach"))

from running import Running  # noqa: E402
from sizes import FOLDER_RACES, STOPPED_HELPERS  # noqa: E402
from targets import STRANGER, as_root, some_namespaces  # noqa: E402

from funcgraph.attach.access import access_to  # noqa: E402
from funcgraph.attach.deadline import Deadline  # noqa: E402
from funcgraph.attach.errors import AttachError  # noqa: E402
from funcgraph.attach.exchange import Exchange  # noqa: E402
from funcgraph.attach.inject import run_in  # noqa: E402
from funcgraph.attach.process import Process  # noqa: E402

pytestmark = [pytest.mark.one_python, as_root]

FILES = ("lock", "script", "source", "run", "result", "result.part", "source.new", "other")
SHM = "/dev/shm"

#: Gives up root's rights when all is imported: other users may be unable to read our Python.
_DROP = f"""
import ctypes, os, signal, stat, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def drop(own_mounts):
    os.setgroups([])
    os.setresgid({STRANGER}, {STRANGER}, {STRANGER})
    os.setresuid({STRANGER}, {STRANGER}, {STRANGER})
    libc.prctl(4, 1, 0, 0, 0)  # dumpable: its /proc files are its own again
    if own_mounts:
        assert libc.unshare(0x10000000 | 0x20000) == 0, ctypes.get_errno()  # NEWUSER, NEWNS
        for name, text in (
            ("setgroups", "deny"), ("uid_map", "0 {STRANGER} 1"), ("gid_map", "0 {STRANGER} 1")
        ):
            with open(f"/proc/self/{{name}}", "w") as file:
                file.write(text)
        assert libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0  # MS_REC, MS_PRIVATE
def mount(source, folder, kind, flags):
    return libc.mount(source.encode(), folder.encode(), kind, flags, None)
"""

#: Watches for a folder, and leads its path elsewhere as soon as it is there.
_RACER = """
def race(attack, shm="/dev/shm"):
    if os.fork():
        return
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    done = set()
    while True:
        for name in os.listdir(shm):
            if name.startswith("funcgraph-attach-") and name not in done:
                done.add(name)
                try:
                    attack(f"{shm}/{name}")
                except OSError:
                    pass
def link(folder):
    os.rename(folder, f"{folder}.away")
    os.symlink(canary, folder)
def link_files(folder):
    for name in files:
        try:
            os.unlink(f"{folder}/{name}")
        except OSError:
            pass
        os.symlink(f"{canary}/{name}", f"{folder}/{name}")
def bind(folder):
    mount(canary, folder, None, 0x1000)
def cover(folder):
    mount("none", folder, b"tmpfs", 0)
def bind_place(folder):
    mount(canary, "/dev/shm", None, 0x1000)
def end(number, frame):
    os._exit(7)
signal.signal(signal.SIGUSR1, end)
"""
PLAIN, MOUNTING = ("link", "link_files"), ("bind", "cover", "bind_place")


@pytest.fixture
def canary() -> Iterator[Path]:
    """A directory of root's with files of all the names that an exchange uses."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        for name in FILES:
            (path / name).write_text(name)
            (path / name).chmod(0o600)
        yield path
        for left in Path(SHM).glob("funcgraph-attach-*"):
            left.unlink() if left.is_symlink() else os.system(f"rm -rf {left}")


def state_of(folder: Path) -> str:
    """Return a hash of a directory: names, owners, modes and contents."""
    rows = []
    for path in sorted([folder, *folder.rglob("*")]):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        rows.append((str(path), facts.st_uid, facts.st_gid, facts.st_mode, facts.st_ino, content))
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _hostile(canary: Path, attack: str, *, own_mounts: bool) -> Running:
    setup = f"canary, files = {str(canary)!r}, {FILES!r}\ndrop({own_mounts})\nrace({attack})"
    return Running(f"{_DROP}\n{_RACER}\n{setup}\nready()\nwhile True: time.sleep(1000)", first="ready\n")


def _attach_often(canary: Path, attack: str, *, own_mounts: bool) -> None:
    before = state_of(canary)
    races = max(1, FOLDER_RACES // 5)
    with _hostile(canary, attack, own_mounts=own_mounts) as program:
        for number in range(races):
            try:
                assert run_in(program.pid, f"answer = {number}", 0.5) == str(number)
            except AttachError as error:
                assert str(error).isprintable()
            assert state_of(canary) == before, f"race {number}"
            assert program.process.poll() is None
    assert state_of(canary) == before


@pytest.mark.parametrize("attack", PLAIN)
def test_a_plain_user_that_puts_links_in_its_place_gains_nothing(canary: Path, attack: str) -> None:
    _attach_often(canary, attack, own_mounts=False)


@some_namespaces
@pytest.mark.parametrize("attack", [*PLAIN, *MOUNTING])
def test_a_user_with_mounts_of_its_own_gains_nothing(canary: Path, attack: str) -> None:
    _attach_often(canary, attack, own_mounts=True)


@pytest.mark.parametrize("own_mounts", [False, pytest.param(True, marks=some_namespaces)])
def test_a_process_of_another_user_is_attached_to_in_a_folder_of_its_own(own_mounts: bool) -> None:
    program = f"{_DROP}\nimport glob\ndrop({own_mounts})\nready()\nwhile True: time.sleep(1000)"
    source = """
import glob, os
(folder,) = [p for p in glob.glob("/dev/shm/funcgraph-attach-*") if os.path.exists(p + "/run")]
facts = os.stat(folder)
answer = oct(facts.st_mode & 0o777), facts.st_uid == os.geteuid(), facts.st_gid == os.getegid()
"""
    with Running(program) as running:
        assert run_in(running.pid, source, 30) == "('0o700', True, True)"
        assert not list(Path(SHM).glob("funcgraph-attach-*"))
        assert running.end() == (7, "", "")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        ("os.mkfifo(folder + '/result')", "not a regular file"),
        ("os.mkdir(folder + '/result')", "not a regular file"),
        ("os.symlink('/etc/passwd', folder + '/result')", "cannot be used"),
    ],
)
def test_an_answer_that_is_no_file_is_one_error(make: str, error: str) -> None:
    source = f"""
import glob, os
(folder,) = [p for p in glob.glob("/dev/shm/funcgraph-attach-*") if os.path.exists(p + "/run")]
open(folder + "/result.part", "x").close()  # it cannot put its answer there any longer
{make}
"""
    for drop in ("", "drop(False)"):
        program = f"{_DROP}\nimport glob\n{drop}\nready()\nwhile True: time.sleep(1000)"
        with Running(program) as running:
            with pytest.raises(AttachError, match=error):
                run_in(running.pid, source, 30)
            assert running.end() == (7, "", "")


def test_an_answer_without_an_end_is_cut() -> None:
    source = "answer = 'x' * (64 << 20)"
    with Running(f"{_DROP}\ndrop(False)\nready()\nwhile True: time.sleep(1000)") as running:
        assert len(run_in(running.pid, source, 30)) < 2 << 20
        assert running.end() == (7, "", "")


def test_a_helper_that_its_user_stops_is_one_error_in_time() -> None:
    """Whoever is the user may send signals to it, up to the moment when it has no user of its own."""
    program = f"""
{_DROP}
drop(False)
def parent_of(process):
    try:
        with open(f"/proc/{{process}}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
def stop():
    mine = str(os.getpid())
    while True:
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) > int(mine) and parent_of(name) == {os.getpid()}:
                try:
                    os.kill(int(name), signal.SIGSTOP)
                except OSError:
                    pass
threading.Thread(target=stop, daemon=True).start()
ready()
while True: time.sleep(1000)
"""
    errors = ("took more than", "was killed", "nothing was run")
    with Running(program) as running:
        for _ in range(STOPPED_HELPERS):
            try:
                assert run_in(running.pid, "answer = 1", 2.0) == "1"  # it was not stopped in time
            except AttachError as error:
                assert any(text in error.reason for text in errors), error.reason


def test_a_folder_that_a_killed_attacher_left_is_removed_with_the_rights_of_its_user(canary: Path) -> None:
    before = state_of(canary)
    with Running(f"{_DROP}\ndrop(False)\nready()\nwhile True: time.sleep(1000)") as running:
        left, linked, roots = (Path(SHM, f"funcgraph-attach-{running.pid}-{n:08x}") for n in range(3))
        left.mkdir(0o700)
        os.chown(left, STRANGER, STRANGER)
        (left / "source").write_text("")
        (left / "lock").write_text("")
        os.chown(left / "lock", STRANGER, STRANGER)
        linked.symlink_to(canary)
        roots.mkdir(0o700)
        assert run_in(running.pid, "answer = 1", 30) == "1"
        assert not left.exists()
        assert linked.is_symlink()
        assert roots.is_dir()
        assert running.end() == (7, "", "")
    assert state_of(canary) == before


@some_namespaces
def test_a_directory_mounted_over_what_looks_left_behind_keeps_its_files(canary: Path) -> None:
    before = state_of(canary)
    program = f"""
{_DROP}
{_RACER}
drop(True)
folder = f"/dev/shm/funcgraph-attach-{{os.getpid()}}-0123456789abcdef"
os.mkdir(folder)
assert mount({str(canary)!r}, folder, None, 0x1000) == 0
ready()
while True: time.sleep(1000)
"""
    with Running(program) as running:
        assert run_in(running.pid, "answer = 1", 30) == "1"
        assert state_of(canary) == before
        assert running.end() == (7, "", "")


def test_an_exchange_of_another_attacher_that_lives_is_kept() -> None:
    with Running(f"{_DROP}\ndrop(False)\nready()\nwhile True: time.sleep(1000)") as running:
        process = Process(running.pid, Deadline(60))
        try:
            with access_to(process.identity) as access, Exchange(process, access) as exchange:
                exchange.put("source", "")
                assert run_in(running.pid, "answer = 1", 30) == "1"
                assert exchange.is_owned(exchange.path)
                assert not exchange.is_claimed()
        finally:
            process.close()
        assert not list(Path(SHM).glob("funcgraph-attach-*"))
        os.kill(running.pid, signal.SIGUSR1)
        assert running.process.wait(60) == 7
