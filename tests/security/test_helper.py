"""A helper has its target's rights and no others. Whatever that does, each request has one clear end."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from targets import (
    AS_STRANGER,
    OWN_MOUNTS,
    OWN_NAMESPACES,
    STRANGER,
    Target,
    as_root,
    in_child,
    jail,
    running,
    some_mounts,
    some_namespaces,
)

from funcgraph import _system
from funcgraph.rights import service
from funcgraph.rights.folder import Folder
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import IdentityError, ProcessIdentity

pytestmark = [pytest.mark.one_python, as_root]

SHORT_S = 0.2
PREFIX = "fgtest-"


class Case:
    """A target, its helper, and a folder of it."""

    def __init__(self, target: Target, helper: Helper, folder: Folder) -> None:
        self.target, self.helper, self.folder = target, helper, folder
        self.pid = helper._child._pid

    def status(self) -> dict[str, str]:
        with open(f"/proc/{self.pid}/status") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


Begin = Callable[..., Case]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Start a target by a command, and a helper that has made a folder in `place`, a folder for all users."""
    with ExitStack() as stack:

        def start(*command: str, place: str = "") -> Case:
            target = stack.enter_context(running(*command))
            identity = ProcessIdentity.of(target.pid)
            stack.callback(identity.close)
            helper = stack.enter_context(Helper.start(identity))
            return Case(target, helper, helper.make_folder([place or str(public(tmp_path))], PREFIX))

        yield start


def public(tmp_path: Path) -> Path:
    """Return a folder in which every user may make files; the way to it is open for all."""
    folder = tmp_path / "public"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    for parent in folder.parents:
        if parent.stat().st_mode & 0o011 != 0o011 and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of root's with files, which nobody else may change."""
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in ("lock", "page", "config"):
        (folder / name).write_text("root's")
    return folder


def untouched(victim: Path) -> bool:
    facts = [(path.name, path.read_text(), path.stat().st_uid) for path in sorted(victim.iterdir())]
    return facts == [(name, "root's", 0) for name in ("config", "lock", "page")] and victim.stat().st_uid == 0


# ---- whom it is


COMMANDS = {"user": AS_STRANGER, "own namespaces": (*AS_STRANGER, *OWN_NAMESPACES)}


@some_namespaces
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_helper_has_the_rights_of_its_target_and_no_others(begin: Begin, kind: str) -> None:
    case = begin(*COMMANDS[kind])
    status = case.status()
    assert {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert status["Uid"].split() == status["Gid"].split() == [str(STRANGER)] * 4
    assert (status["Groups"].strip(), status["NoNewPrivs"]) == ("", "1")
    roots = [os.stat(f"/proc/{pid}/root") for pid in (case.pid, case.target.pid)]
    assert os.path.samestat(*roots)


@some_namespaces
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_helper_holds_nothing_of_its_owners(kind: str) -> None:
    with running(*COMMANDS[kind]) as target:
        identity = ProcessIdentity.of(target.pid)
        with Helper.start(identity) as helper:
            folder = f"/proc/{helper._child._pid}/fd"
            fds = sorted(os.readlink(f"{folder}/{fd}").split(":")[0] for fd in os.listdir(folder))
            assert fds == [*["/dev/null"] * 3, "socket"]
        identity.close()


@some_namespaces
@pytest.mark.parametrize("kind", COMMANDS)
def test_nobody_looks_into_a_helper(begin: Begin, kind: str) -> None:
    case = begin(*COMMANDS[kind])

    def attack() -> None:
        ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        if kind == "user":
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
        else:  # with all capabilities in the target's user namespace
            _system.setns(os.pidfd_open(case.target.pid), _system.CLONE_NEWUSER)
            os.setresuid(0, 0, 0)
        assert ptrace(16, case.target.pid, 0, 0) == 0, "PTRACE_ATTACH to the target itself"
        assert (ptrace(16, case.pid, 0, 0), ctypes.get_errno()) == (-1, errno.EPERM)
        for name in ("mem", "maps", "environ", "fd/0", "root/etc", "cwd/etc"):
            with pytest.raises(PermissionError):
                os.stat(f"/proc/{case.pid}/{name}") if "/" in name else open(
                    f"/proc/{case.pid}/{name}"
                ).close()

    in_child(attack)


def test_a_helper_loads_no_code_once_it_sees_the_files_of_others() -> None:
    def load() -> None:
        service._forbid_imports()
        with pytest.raises(ModuleNotFoundError):
            import wave  # noqa: F401

    in_child(load)


def test_a_helper_sees_the_files_of_its_target(begin: Begin, tmp_path: Path) -> None:
    case = begin(*jail(tmp_path / "jail"), place="/dev/shm")
    name = os.path.basename(case.folder.path)
    assert case.folder.path == f"/dev/shm/{name}"
    assert [path.name for path in (tmp_path / "jail/dev/shm").iterdir()] == [name]
    assert not os.path.exists(case.folder.path)
    case.folder.remove([])
    with pytest.raises(OSError, match="No such file or directory"):
        case.helper.make_folder([str(tmp_path)], PREFIX)


@some_mounts
def test_what_a_container_runtime_gives_root_suffices_with_ptrace(tmp_path: Path) -> None:
    """A debug container shares the processes and has SYS_PTRACE, but not SYS_ADMIN."""
    given = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,sys_chroot,mknod,setfcap"
    program = f"""
import sys
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity
with Helper.start(ProcessIdentity.of(int(sys.argv[1]))) as helper:
    helper.make_folder(["/dev/shm"], {PREFIX!r})
"""
    container = (*OWN_MOUNTS, *jail(tmp_path / "jail"))
    with running(*container) as target:
        bounding = ",".join(f"+{name}" for name in [*given.split(","), "sys_ptrace"])
        words = ["setpriv", f"--bounding-set=-all,{bounding}", sys.executable, "-c", program, str(target.pid)]
        subprocess.run(words, check=True)
        assert [path.name.startswith(PREFIX) for path in (tmp_path / "jail/dev/shm").iterdir()] == [True]


@some_namespaces
def test_an_owner_without_rights_has_helpers_in_containers_of_its_own(tmp_path: Path) -> None:
    place = str(public(tmp_path))

    def be_owner() -> None:
        os.setgroups([])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        _system.set_dumpable(True)
        with running(*OWN_NAMESPACES) as target:
            target.run(f"mount -t tmpfs none {place}")
            identity = ProcessIdentity.of(target.pid)
            assert not identity.is_like_us
            with Helper.start(identity) as helper:
                folder = helper.make_folder([place], PREFIX)
                folder.write("file", b"inside")
                assert target.run(f"cat {folder.path}/file") == "inside"
        assert os.listdir(place) == []

    in_child(be_owner)


@some_namespaces
def test_a_user_who_has_no_number_here_is_refused() -> None:
    """Else the helper would be another user: the one whose number stands for all unknown ones."""
    with running(*AS_STRANGER) as target, running(*OWN_NAMESPACES) as container:

        def be_owner() -> None:
            _system.setns(os.pidfd_open(container.pid), _system.CLONE_NEWUSER)
            identity = ProcessIdentity.of(target.pid)
            with pytest.raises(
                OSError, match=f"uid 65534 of process {target.pid} is not mapped in our user names"
            ):
                Helper.start(identity)

        in_child(be_owner)


def test_a_process_that_is_another_by_now_gets_no_helper() -> None:
    with running(*AS_STRANGER) as target:
        identity = ProcessIdentity.of(target.pid)
        target.end()
        with pytest.raises(IdentityError, match="has ended"):
            Helper.start(identity)
        identity.close()


# ---- what it does


def test_files_are_the_users_own(begin: Begin) -> None:
    folder = begin(*AS_STRANGER).folder
    facts = os.lstat(folder.path)
    assert (facts.st_uid, facts.st_gid, facts.st_mode & 0o7777) == (STRANGER, STRANGER, 0o700)
    folder.write("config", b"a" * 3_000_000)
    folder.write("config", b"b" * 3_000_000)
    assert folder.read("config", 1 << 22) == b"b" * 3_000_000
    assert folder.read("config", 3) == b"bbb"
    fd = folder.open("ring", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    facts = os.fstat(fd)
    assert (facts.st_uid, facts.st_mode & 0o7777) == (STRANGER, 0o600)
    assert not os.get_inheritable(fd)
    os.close(fd)
    folder.rename("config", "config.closed")
    assert folder.names() == ["config.closed", "ring"]
    assert (folder.has("config"), folder.has("ring")) == (False, True)
    folder.unlink("ring")
    folder.remove(["config.closed"])
    assert not os.path.exists(folder.path)


def test_it_makes_no_folder_where_its_user_may_not(begin: Begin, victim: Path, tmp_path: Path) -> None:
    case = begin(*AS_STRANGER)
    with pytest.raises(
        OSError, match=rf"no folder can be used \({victim}: Permission denied; /absent: No such"
    ):
        case.helper.make_folder([str(victim), "/absent"], PREFIX)
    assert case.helper.make_folder([str(victim), str(public(tmp_path))], PREFIX).path.startswith(
        str(public(tmp_path))
    )
    assert untouched(victim)
    assert case.helper.statvfs("/").f_blocks == os.statvfs("/").f_blocks


def test_it_connects_as_its_user_does(begin: Begin, tmp_path: Path) -> None:
    case = begin(*AS_STRANGER)
    deep = public(tmp_path) / ("long" * 20) / ("path" * 20)
    deep.mkdir(parents=True)
    os.chdir(deep)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        os.chdir("/")
        listener.listen()
        (deep / "socket").chmod(0o666)
        with case.helper.connect(f"{deep}/socket") as connection:
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            assert struct.unpack("=3i", raw)[0] == os.getpid()
            accepted = listener.accept()[0]
            accepted.sendall(b"hello")
            assert connection.recv(5) == b"hello"
            accepted.close()
        (deep / "socket").chmod(0o600)
        with pytest.raises(PermissionError):
            case.helper.connect(f"{deep}/socket")
    (deep / "socket").chmod(0o666)
    with pytest.raises(ConnectionRefusedError):
        case.helper.connect(f"{deep}/socket")


def test_threads_share_a_helper(begin: Begin) -> None:
    folder = begin(*AS_STRANGER).folder
    wrong: list[object] = []

    def work(name: str) -> None:
        for number in range(30):
            data = f"{name}{number}".encode()
            folder.write(name, data)
            if (got := folder.read(name, 100)) != data:
                wrong.append((data, got))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_request_that_was_interrupted_leaves_the_next_one_its_answer(begin: Begin) -> None:
    case = begin(*AS_STRANGER)
    case.folder.write("file", b"right")

    def interrupt(*_: object) -> None:
        raise InterruptedError

    former = signal.signal(signal.SIGALRM, interrupt)
    os.kill(case.pid, signal.SIGSTOP)
    signal.setitimer(signal.ITIMER_REAL, SHORT_S)
    with pytest.raises(InterruptedError):
        case.folder.names()
    signal.signal(signal.SIGALRM, former)
    os.kill(case.pid, signal.SIGCONT)
    assert case.folder.read("file", 100) == b"right"


def test_its_owner_keeps_no_descriptor(tmp_path: Path) -> None:
    with running(*AS_STRANGER) as target:
        before = sorted(os.listdir("/proc/self/fd"))
        identity = ProcessIdentity.of(target.pid)
        with Helper.start(identity) as helper:
            folder = helper.make_folder([str(public(tmp_path))], PREFIX)
            folder.write("file", b"")
            folder.read("file", 1)
            folder.close()
            folder.close()
        helper.close()
        identity.close()
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert not os.path.exists(f"/proc/{helper._child._pid}")


# ---- what its user does to it


def test_a_stopped_helper_is_one_clear_error(begin: Begin) -> None:
    case = begin(*AS_STRANGER)
    case.helper.timeout_s = SHORT_S
    case.target.run(f"kill -STOP {case.pid}")
    with pytest.raises(
        TimeoutError, match=f"with the rights of process {case.target.pid} took more than 0.2 s"
    ):
        case.folder.names()
    assert not os.path.exists(f"/proc/{case.pid}")
    with pytest.raises(OSError, match=r"the helper .* was killed"):
        case.folder.write("config", b"")
    case.folder.close()


def test_a_killed_helper_is_one_clear_error(begin: Begin) -> None:
    case = begin(*AS_STRANGER)
    case.target.run(f"kill -KILL {case.pid}")
    with pytest.raises(OSError, match=f"the helper with the rights of process {case.target.pid} was killed"):
        case.folder.has("page")


def test_signals_to_a_terminals_or_services_group_leave_it_its_owner(begin: Begin) -> None:
    case = begin(*AS_STRANGER)
    for name in ("INT", "TERM", "HUP", "QUIT", "TSTP"):
        case.target.run(f"kill -{name} {case.pid}")
    assert case.folder.names() == []


def test_it_ends_with_its_owner(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity
helper = Helper.start(ProcessIdentity.of(int(sys.argv[1])))
os.kill(helper._child._pid, signal.SIGSTOP)
print(helper._child._pid, flush=True)
sys.stdin.read()
"""
    with running(*AS_STRANGER) as target:
        command = [sys.executable, "-c", program, str(target.pid)]
        owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert owner.stdout is not None
        pidfd = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
        owner.communicate()
        ended, _, _ = select.select([pidfd], [], [], 60)
        os.close(pidfd)
    assert ended == [pidfd]


@some_mounts
def test_a_file_system_that_never_answers_is_one_clear_error(tmp_path: Path) -> None:
    """A FUSE mount for all users, whose server has not even said hello."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    place = public(tmp_path) / "mounted"
    place.mkdir()
    program = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
failed = libc.mount(b"none", {os.fsencode(place)!r}, b"fuse", 6, options)
print("refused" if failed else "mounted", flush=True)
sys.stdin.read()
"""
    command = [*OWN_MOUNTS, sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        if server.stdout.readline() != "mounted\n":
            server.kill()
            pytest.skip("FUSE may not be mounted here")
        identity = ProcessIdentity.of(server.pid)
        with Helper.start(identity) as helper:
            helper.timeout_s = SHORT_S
            with pytest.raises(TimeoutError, match="a file system there does not answer"):
                helper.make_folder([str(place)], PREFIX)
        server.kill()
        identity.close()


# ---- what its user does to the folder


def test_a_link_in_place_of_the_folder_leads_nowhere(begin: Begin, victim: Path) -> None:
    case = begin(*AS_STRANGER)
    path = case.folder.path
    case.folder.write("lock", b"the user's")
    case.target.run(f"mv {path} {path}.away; ln -s {victim} {path}")
    assert case.folder.read("lock", 100) == b"the user's"
    with pytest.raises(OSError, match="another directory has its name"):
        case.folder.remove(["lock", "page", "config"])
    assert untouched(victim)
    assert os.listdir(f"{path}.away") == []


@some_namespaces
def test_a_mount_over_the_folder_leads_nowhere(begin: Begin, victim: Path) -> None:
    case = begin(*OWN_NAMESPACES)
    case.folder.write("lock", b"the user's")
    case.target.run(f"mount --bind {victim} {case.folder.path}")
    assert "config" in case.target.run(f"ls {case.folder.path}")
    assert case.folder.names() == ["lock"]
    with pytest.raises(OSError):
        case.folder.remove(["lock", "page", "config"])
    assert untouched(victim)


@some_namespaces
def test_nothing_but_the_users_regular_files_is_opened(begin: Begin, victim: Path) -> None:
    case = begin(*OWN_NAMESPACES)
    path = case.folder.path
    case.target.run(f"mkfifo {path}/fifo; mkdir {path}/folder; touch {path}/mounted")
    case.target.run(f"ln -s {victim}/page {path}/link; ln -s /proc/self/root {path}/magic")
    case.target.run(f"mount --bind {victim}/page {path}/mounted")
    before = len(os.listdir("/proc/self/fd"))
    expected = {"fifo": errno.EINVAL, "folder": errno.EINVAL, "link": errno.ELOOP, "magic": errno.ELOOP}
    for name, number in (expected | {"mounted": errno.EXDEV, "absent": errno.ENOENT}).items():
        with pytest.raises(OSError) as caught:
            case.folder.open(name, os.O_RDONLY)
        assert caught.value.errno == number, name
    with pytest.raises(OSError):
        case.folder.read("link", 100)
    with pytest.raises(ValueError, match="invalid file name"):
        case.folder.open("../victim/page", os.O_RDONLY)
    assert len(os.listdir("/proc/self/fd")) == before
    assert untouched(victim)


def test_a_file_of_another_user_in_the_folder_is_refused(begin: Begin) -> None:
    case = begin(*AS_STRANGER)
    Path(case.folder.path, "ring").touch()
    os.chmod(f"{case.folder.path}/ring", 0o666)
    with pytest.raises(PermissionError, match=f"user 0 owns it, not user {STRANGER}"):
        case.folder.open("ring", os.O_RDWR)
