"""Root records a process of a user who attacks the session: nothing that is not that user's ever changes.

Each attack is made by `hostile_target` in each jail where it can be: as a plain user, in a container (a mount
namespace and a root directory of its own), and in a user namespace where the user may mount. The canary is a
folder of root's: no attack may add, change, own or remove anything there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Done, Funcgraph
from recorders import Recorder, calls, recorders
from ringfile import FULL, RingFile, leaf
from targets import AS_STRANGER, STRANGER, may, some_mounts

from funcgraph.command_support.running import RunningProcess, reach_all
from funcgraph.recorder.directory import Session
from funcgraph.recorder.process import ProcessWatch
from funcgraph.recorder.reach import OUR_REACH, Reach
from funcgraph.rights.folder import Folder, OwnFolder
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import IdentityError, ProcessIdentity
from funcgraph.session import options
from funcgraph.session.places import OwnPlaces, folders

pytestmark = pytest.mark.one_python

TARGET = Path(__file__).with_name("hostile_target.py")
JAILS = ("plain", "container", "user namespace")
#: Attacks after which the process's own ring is as it was: what it called is in the trace.
LATE = ("none", "swapped", "replaced", "spare", "links", "pipes", "config", "many", "huge")


needs_user_namespaces = pytest.mark.skipif(
    not may(*AS_STRANGER, "unshare", "-U"), reason="users may make no user namespaces"
)


class Host:
    """A folder with a user's part, and a canary that is root's.

    Attributes:
        folder: everybody may look into it.
        user: the user's own folder.
        canary: root's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user, self.canary = folder / "user", folder / "canary"
        folder.chmod(0o755)
        for place in (self.canary, self.canary.with_suffix(".spare")):
            (place / "sub").mkdir(parents=True)
            (place / "file").write_bytes(b"root's" * 1000)
            (place / "sub/file").touch(mode=0o600)
        self.user.mkdir()
        os.chown(self.user, STRANGER, STRANGER)
        self.settle()

    def tree(self) -> dict[str, tuple[object, ...]]:
        """Return what there is of root's: owner, mode, time and contents of each."""
        found = {}
        for place in (self.canary, self.canary.with_suffix(".spare")):
            for path in (place, *sorted(place.rglob("*"))):
                facts = path.lstat()
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                found[str(path)] = (
                    facts.st_uid, facts.st_gid, facts.st_mode, facts.st_ctime_ns, facts.st_ino, digest
                )  # fmt: skip
        return found

    def settle(self) -> None:
        """Take what there is now for what is to stay."""
        self._before = self.tree()

    def check(self) -> None:
        """Compare."""
        assert self.tree() == self._before


def children(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def dead_process() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def host() -> Iterator[Host]:
    folder = Path(tempfile.mkdtemp(prefix="fgtest-host-"))
    yield Host(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def targets() -> Iterator[subprocess.Popen[str]]:
    """Run the process that hostile processes are forked from."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    command = [sys.executable, str(TARGET), str(STRANGER)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
        yield process


@pytest.fixture(scope="module")
def helper() -> Iterator[Recorder]:
    with recorders() as one:
        yield one


Start = Callable[[str, str], int]


@pytest.fixture
def start(targets: subprocess.Popen[str], host: Host) -> Iterator[Start]:
    """Return a function that makes a hostile process, of a jail and an attack, and returns its id."""
    started = []

    def make(jail: str, attack: str) -> int:
        assert targets.stdin is not None and targets.stdout is not None
        print(jail, attack, host.folder, sep="|", file=targets.stdin, flush=True)
        ready, pid = targets.stdout.readline().split()
        assert ready == "ready"
        started.append(int(pid))
        return int(pid)

    yield make
    for pid in started:
        os.kill(pid, signal.SIGKILL)
    for session in Path("/dev/shm").glob("funcgraph-*"):
        if session.lstat().st_uid == STRANGER:
            shutil.rmtree(session, ignore_errors=True)


def until_done(host: Host, pid: int) -> list[str]:
    """Return a command that ends when process `pid` has made its attack, or has ended."""
    return ["--", "sh", "-c", f"until [ -e {host.user}/done ] || ! [ -d /proc/{pid} ]; do sleep 0.05; done"]


def cases() -> list[object]:
    """Return each attack in each jail where it can be made."""
    found = [(jail, attack) for jail in JAILS for attack in LATE]
    found += [("user namespace", "mounted"), ("container", "linked_place")]
    marks = {"user namespace": [needs_user_namespaces]}
    return [pytest.param(jail, attack, marks=marks.get(jail, [])) for jail, attack in found]


def record(pid: int, trace: Path) -> list[str]:
    """Return the words that record process `pid`."""
    return ["record", "-P", str(pid), "-l", "__main__.turn", "-o", str(trace)]


@some_mounts
@pytest.mark.parametrize(("jail", "attack"), cases())
def test_no_attack_on_a_session_reaches_what_is_roots(
    fg: Funcgraph, host: Host, helper: Recorder, start: Start, jail: str, attack: str
) -> None:
    """Fails if anything of the session is done by its path, or with root's rights."""
    pid = start(jail, attack)
    status = helper.run(fg.folder, fg.env, *record(pid, fg.trace), *until_done(host, pid))
    host.check()
    assert "Traceback" not in helper.errors
    assert status == 0, helper.errors
    assert calls(fg.trace)["__main__.turn"] > 0
    assert ERRORS.get(attack, "") in helper.errors
    assert "\033" not in helper.errors and len(helper.errors) < 1 << 20


#: What is said of an attack.
ERRORS = {
    "many": "more than 1,000 notes: the others are not looked at",
    "huge": "1.0 TiB are more than a ring buffer of this recording has",
    "pipes": "2.1.ring: not a ring-buffer file: not a regular file",
}


@some_mounts
@pytest.mark.parametrize("attack", ["killed_helper", "stopped_helper"])
def test_without_its_helper_a_recording_goes_on(
    fg: Funcgraph, host: Host, helper: Recorder, start: Start, attack: str
) -> None:
    """Fails if the helper's end is an error of the spool, or a request to it has no end."""
    pid = start("plain", attack)
    status = helper.run(fg.folder, fg.env, *record(pid, fg.trace), "-b", "32", *until_done(host, pid))
    host.check()
    assert status == 0, helper.errors
    assert ": not looked at any longer: " in helper.errors
    assert calls(fg.trace)["__main__.turn"] > 0


@some_mounts
@pytest.mark.parametrize("attack", ["pipes", "many", "stopped_helper"])
def test_sigterm_ends_the_recorder_with_a_trace(fg: Funcgraph, host: Host, start: Start, attack: str) -> None:
    """Fails if a pipe at the page's place is opened at the end, or a wait has none."""
    recorder = fg.start(*record(start("plain", attack), fg.trace), "-b", "32")
    while not (host.user / "done").exists():
        assert recorder.poll() is None
        time.sleep(0.01)
    recorder.terminate()
    recorder.communicate(timeout=60)
    assert recorder.returncode == 0
    assert calls(fg.trace)["__main__.turn"] > 0
    host.check()


@some_mounts
def test_what_another_session_has_stays_there(
    fg: Funcgraph, host: Host, helper: Recorder, start: Start
) -> None:
    """Fails if `spare` is read back: the rings of root's other session were drained and deleted."""
    Path(host.canary.with_suffix(".spare"), "7.1.ring").write_bytes(b"of another session")
    host.settle()
    pid = start("plain", "spare")
    status = helper.run(fg.folder, fg.env, *record(pid, fg.trace), *until_done(host, pid))
    host.check()
    assert status == 0 and "7.1.ring" not in helper.errors


@some_mounts
def test_the_config_of_another_users_session_says_nothing_of_roots(
    fg: Funcgraph, host: Host, helper: Recorder, start: Start
) -> None:
    pid = start("plain", "copied")
    assert helper.run(fg.folder, fg.env, *record(pid, fg.trace), *until_done(host, pid)) == 0
    config = (host.user / "config").read_text()
    assert "filter=__main__.turn\n" in config
    assert str(fg.folder) not in config


@some_mounts
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_recover_refuses_a_session_of_another_user(
    host: Host, in_process: Callable[..., Done], mode: int
) -> None:
    """Fails if the config of the session says where root writes, or the name of the folder is enough."""
    session = host.user / "funcgraph-1-abcdef01"
    session.mkdir()
    places = f"output={host.canary}/output\npart={host.canary}/output.part\ncommand=a\n"
    for name, text in (("config", places), ("lock", ""), ("page", "\0" * 4096), ("1.1.ring", "")):
        (session / name).write_text(text)
        os.chown(session / name, STRANGER, STRANGER)
    session.chmod(mode)
    os.chown(session, STRANGER, STRANGER)
    before = sorted(path.name for path in session.iterdir())
    for words in ((), ("-o", str(host.folder / "t.fg"))):
        done = in_process("recover", *words, session)
        assert done.returncode == 2
        assert f"{session}: not a session of this user's (user {STRANGER} owns it)" in done.stderr
    assert sorted(path.name for path in session.iterdir()) == before
    assert not (host.folder / "t.fg").exists()
    host.check()


@some_mounts
def test_what_a_killed_recorder_has_of_another_users_process_is_recovered_without_its_session(
    fg: Funcgraph, host: Host, start: Start, in_process: Callable[..., Done]
) -> None:
    """The helper ends with the recorder. Root's `recover` needs nothing of the session, the user's."""
    recorder = fg.start(*record(start("plain", "replaced"), fg.trace), "-b", "32")
    part = Path(f"{fg.trace}.part")
    while not ((host.user / "done").exists() and calls(part)["__main__.turn"]):
        assert recorder.poll() is None
        time.sleep(0.05)
    (helper,) = children(recorder.pid)
    watch = ProcessWatch(helper)
    recorder.kill()
    recorder.communicate()
    watch.wait()
    assert in_process("recover", part).returncode == 0
    assert calls(fg.trace)["__main__.turn"] > 0
    host.check()


def test_what_is_left_of_another_users_recording_takes_a_name(
    fg: Funcgraph, in_process: Callable[..., Done]
) -> None:
    """The config of a session that a recorder of root's had made says nothing of root's files."""
    session = Session.create(most_ring_bytes=1 << 30)
    settings = options.from_config({})
    session.write_config(settings, output="/root/t.fg", part="/root/t.fg.part", command=["x"])
    ring = RingFile(Path(session.path) / f"{dead_process()}.0.ring", 7, nr_subbufs=4)
    ring.function(0, "m.f")
    ring.task(1, 7)
    ring.put(1, leaf(1_000_000, 0, 0, 1000), state=FULL)
    session.close()
    done = in_process("recover", session.path)
    assert (done.returncode, "/root" in done.stderr) == (2, False)
    assert "recorded by another user, who has the trace; -o FILE takes what is left" in done.stderr
    assert in_process("recover", "-o", fg.trace, session.path).returncode == 0
    assert calls(fg.trace) == {"m.f": 1}
    assert not os.path.exists(session.path)


@some_mounts
def test_no_command_touches_what_another_user_put_beside_our_sessions(
    fg: Funcgraph, host: Host, in_process: Callable[..., Done]
) -> None:
    """Fails if what looks like a session is listed, recovered or removed by its name alone."""
    other = host.canary.with_suffix(".spare")
    fg.runtime.chmod(0o1777)
    for name, place in (("funcgraph-1-aaaaaaaa", host.canary), ("funcgraph-1-bbbbbbbb.spare", other)):
        (fg.runtime / name).symlink_to(place)
    theirs = fg.runtime / "funcgraph-1-cccccccc"
    theirs.mkdir(0o700)
    (theirs / "lock").touch()
    os.chown(theirs, STRANGER, STRANGER)
    for words in (("status",), ("status", "--clean"), ("recover",)):
        done = in_process(*words)
        assert str(fg.runtime) not in done.stdout + done.stderr
    assert theirs.exists()
    host.check()


REPLACED: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "fifo": os.mkfifo,
    "link": lambda path: path.symlink_to("/dev/zero"),
    "nonsense": lambda path: path.write_bytes(b"\xff\n" * 99),
}


@pytest.mark.parametrize("kind", REPLACED)
def test_a_session_whose_files_were_replaced_keeps_no_command_from_the_others(
    fg: Funcgraph, in_process: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Broken by a folder in place of the lock: `status`, `recover` and `status --clean` did nothing else."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    sessions = [Session.create(output=str(fg.trace)) for _ in range(2)]
    for session in sessions:
        session.write_config(
            options.from_config({}), output=str(fg.trace), part=f"{fg.trace}.part", command=["x"]
        )
        session.close()
    bad, good = (Path(session.path) for session in sessions)
    for path in bad.iterdir():
        if path.name != "spare":
            path.unlink()
            REPLACED[kind](path)
    REPLACED[kind](bad / "7.0.ring")
    done = in_process("status")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  {bad}: " in done.stdout and f"  {good}: " in done.stdout
    assert str(good) in in_process("recover").stderr
    done = in_process("recover", bad)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = in_process("status", "--clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{good}: removed: nothing was recorded" in done.stdout and f"{bad}: kept: " in done.stdout
    assert not good.exists()


@some_mounts
def test_a_folder_that_is_no_sessions_is_not_removed_by_its_name(
    fg: Funcgraph, in_process: Callable[..., Done]
) -> None:
    """Whoever owns the folder above may give any folder of root's a name like that."""
    folder = fg.runtime / f"funcgraph-{dead_process()}-aaaaaaaa.spare"
    (folder / "sub").mkdir(parents=True)
    folder.chmod(0o700)
    for name in ("file", "sub/file"):
        (folder / name).touch()
    assert str(folder) not in in_process("status", "--clean").stdout
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == ["file", "sub", "sub/file"]


@some_mounts
def test_roots_session_is_not_made_in_a_folder_of_another_user(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sudo may keep XDG_RUNTIME_DIR: its user would exchange the folder by which root's program finds it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    assert str(fg.runtime) in folders()
    for mode, uid in ((0o700, STRANGER), (0o1777, STRANGER), (0o777, 0)):
        fg.runtime.chmod(mode)
        os.chown(fg.runtime, uid, uid)
        assert str(fg.runtime) not in folders()
    os.chown(fg.runtime, 0, 0)
    fg.runtime.chmod(0o1777)
    assert str(fg.runtime) in folders()


def test_an_own_session_never_follows_the_link_to_its_spare_folder(
    fg: Funcgraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    other = tmp_path / "other.spare"
    other.mkdir(0o700)
    (other / "1.1.ring").touch()
    session = Session.create(output=str(tmp_path / "t.fg"))
    Path(session.path, "spare").unlink(missing_ok=True)
    Path(session.path, "spare").symlink_to(other)
    session.write_config(options.from_config({}), output="t.fg", part="t.fg.part", command=[])
    again = Session.at(session.path)
    assert session.files.ring_names() == again.files.ring_names() == []
    again.close()
    session.remove()
    assert os.listdir(other) == ["1.1.ring"]
    assert not os.path.exists(session.path)


def test_a_recovery_finds_the_spare_folder_that_the_recorder_made(
    fg: Funcgraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The config of our own session names it. Fails also if the trace's folder is all that is looked at."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    if os.stat(tmp_path).st_dev == os.stat(fg.runtime).st_dev:
        pytest.skip("one file system has all folders")
    session = Session.create(output=str(tmp_path / "t.fg"))
    spare = Path(os.readlink(f"{session.path}/spare"))
    (spare / "1.1.ring").touch(mode=0o600)
    session.write_config(options.from_config({}), output="t.fg", part="t.fg.part", command=[])
    again = Session.at(session.path)
    assert again.files.ring_names() == ["spare/1.1.ring"]
    os.close(again.files.open_ring("spare/1.1.ring"))
    again.remove()
    assert not spare.exists() and not os.path.exists(session.path)
    session.close()


def test_a_place_that_fails_leaves_the_helper_to_the_next_one(fg: Funcgraph, tmp_path: Path) -> None:
    """Fails if the attempt in the first folder ends what the attempt in the second one needs."""

    class TwoPlaces(OwnPlaces):
        is_closed = False

        def bases(self) -> list[str]:
            return [str(fg.runtime), str(tmp_path)]

        def make(self, base: str, prefix: str) -> Folder:
            assert not self.is_closed
            folder = OwnFolder.create(base, prefix)
            if base == str(fg.runtime):
                folder.write("page", b"")
            return folder

        def close(self) -> None:
            self.is_closed = True

    places = TwoPlaces()
    session = Session.create(places=places, most_ring_bytes=1 << 20)
    assert session.path.startswith(str(tmp_path)) and not places.is_closed
    session.remove()
    assert places.is_closed and fg.sessions() == []


def test_a_recording_of_our_own_processes_has_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(identity: ProcessIdentity) -> Helper:
        raise AssertionError("a helper was started")

    monkeypatch.setattr(Helper, "start", start)
    for reach in (OUR_REACH, Reach.of(ProcessIdentity.of(os.getpid()))):
        session = Session.create(places=reach.places())
        assert session.is_own
        session.remove()


@some_mounts
@pytest.mark.parametrize(
    "step", ["os.setresuid(65534, 65534, 65534)", "os.execv('/bin/sleep', ['sleep', '60'])"]
)
def test_a_process_that_is_another_by_now_does_not_join(fg: Funcgraph, step: str) -> None:
    """Between the look at it and the request it may execute a program that gives it other rights."""
    source = f"import os, time\nprint('ready', flush=True)\ninput()\n{step}\ntime.sleep(60)"
    environment = {**fg.env, "FUNCGRAPH": "control"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", source], text=True, env=environment, **pipes) as target:
        assert target.stdin is not None and target.stdout is not None
        assert target.stdout.readline() == "ready\n"
        ((_, process),) = reach_all([target.pid])
        assert isinstance(process, RunningProcess)
        try:
            target.stdin.write("\n")
            target.stdin.flush()
            with suppress(IdentityError):
                while True:
                    process.identity.check()
                    time.sleep(0.005)
            with pytest.raises(IdentityError, match=r"has changed its user|executes another program"):
                process.join("/dev/shm/no-session")
        finally:
            target.kill()
            process.close()
