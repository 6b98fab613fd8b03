"""A client's connection: made with the rights of the process that was named, to that process and no other."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from hostile_user import become
from targets import AS_STRANGER, OWN_NAMESPACES, STRANGER, as_root, jail, running, some_namespaces

from funcgraph import _system
from funcgraph.control import processes
from funcgraph.control.sockets import connect_to
from funcgraph.rights.identity import IdentityError, ProcessIdentity

pytestmark = [pytest.mark.one_python, as_root]

SHORT_S = 0.5
NUMBER = "0123abcd"
NEW_MOUNTS = 0x20000  # CLONE_NEWNS


def claim_environment(strings: bytes, size: int) -> None:
    """Say that the environment is somewhere else, and of any size: who may write the memory may do that."""
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_NORESERVE)
    memory.write(strings)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sbrk.restype = ctypes.c_void_p
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fields = [int(field) for field in Path("/proc/self/stat").read_text().rpartition(")")[2].split()[1:]]
    code, stack = fields[22:24], fields[24]  # from field 4 of proc(5) on
    data, heap, arguments = fields[41:43], fields[43], fields[44:46]
    numbers = [*code, *data, heap, libc.sbrk(0), stack, *arguments, begin, begin + size, 0]
    claim = struct.pack("=12QII", *numbers, 0, 0xFFFFFFFF)
    if libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, claim, ctypes.c_ulong(len(claim)), ctypes.c_ulong(0)) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    _kept.append(memory)


_PR_SET_MM, _PR_SET_MM_MAP = 35, 14
_kept: list[mmap.mmap] = []


class Listener:
    """A child that listens where a traced process would; it writes who has connected.

    Args:
        prepare: what it does first: it may give up its rights.
        base: where the folder of its socket lies.
        user: the user in the folder's name.
        after: what it does when it listens.
        accepts: whether it accepts connections.
    """

    def __init__(
        self,
        prepare: Callable[[], None],
        base: str,
        user: int = STRANGER,
        after: Callable[[], None] = lambda: None,
        accepts: bool = True,
    ) -> None:
        read_fd, write_fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                prepare()
                with self._made_socket(base, user) as listener:
                    after()
                    os.write(write_fd, b"listens\n")
                    while accepts:
                        self._greet(listener.accept()[0], write_fd)
                    signal.pause()
            finally:
                os._exit(1)
        os.close(write_fd)
        self._output = open(read_fd)
        assert self.line() == "listens"

    @staticmethod
    def _made_socket(base: str, user: int) -> socket.socket:
        os.makedirs(f"{base}/funcgraph-control-{user}", 0o700, exist_ok=True)
        os.chdir(f"{base}/funcgraph-control-{user}")
        name = f"{os.getpid()}-{NUMBER}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"./{name}.new")
        listener.listen(0)
        os.rename(f"{name}.new", f"{name}.sock")
        return listener

    @staticmethod
    def _greet(connection: socket.socket, write_fd: int) -> None:
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        os.write(write_fd, b"uid %d\n" % struct.unpack("=3i", raw)[1])
        connection.sendall(b"hello")

    def line(self) -> str:
        """Return the next line that it writes."""
        return self._output.readline().rstrip("\n")

    def end(self) -> None:
        """Kill it and wait for it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._output.close()


Listen = Callable[..., Listener]


@pytest.fixture
def listen() -> Iterator[Listen]:
    with ExitStack() as stack:

        def start(*arguments: object, **keywords: object) -> Listener:
            listener = Listener(*arguments, **keywords)  # type: ignore[arg-type]
            stack.callback(listener.end)
            return listener

        yield start


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which every user may make files, and which clients look into."""
    folder = tmp_path / "base"
    folder.mkdir()
    folder.chmod(0o1777)
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o011 != 0o011:
            parent.chmod(parent.stat().st_mode | 0o011)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@contextmanager
def connection(pid: int) -> Iterator[socket.socket | None]:
    identity = ProcessIdentity.of(pid)
    made = connect_to(identity, 10.0)
    yield made
    if made is not None:
        made.close()
    identity.close()


def is_served(pid: int) -> bool:
    with connection(pid) as made:
        return made is not None and made.recv(5) == b"hello"


def test_root_connects_with_the_rights_of_the_user(listen: Listen, base: Path) -> None:
    listener = listen(partial(become, STRANGER), str(base))
    assert is_served(listener.pid)
    assert listener.line() == f"uid {STRANGER}"
    assert listener.pid in processes.running()


def test_a_process_in_a_jail_is_reached_there(listen: Listen, tmp_path: Path, base: Path) -> None:
    jail(tmp_path / "jail")

    def enter() -> None:
        os.chroot(tmp_path / "jail")
        become(STRANGER)

    listener = listen(enter, "/dev/shm")
    assert is_served(listener.pid)
    assert listener.pid in processes.running()


@some_namespaces
def test_a_process_in_a_user_namespace_meets_its_own_user(listen: Listen, base: Path) -> None:
    """It would refuse the host's root, who is nobody there."""

    def enter() -> None:
        with running(*AS_STRANGER, *OWN_NAMESPACES) as target:
            _system.setns(os.pidfd_open(target.pid), _system.CLONE_NEWUSER | NEW_MOUNTS)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)

    listener = listen(enter, str(base), 0)
    assert ProcessIdentity.of(listener.pid).uid == STRANGER
    assert is_served(listener.pid)
    assert listener.line() == "uid 0"


def test_a_process_that_gave_up_being_root_is_reached(listen: Listen, base: Path) -> None:
    listener = listen(lambda: None, str(base), 0, after=partial(become, STRANGER))
    assert is_served(listener.pid)
    assert listener.pid in processes.running()


def test_an_environment_of_any_size_is_read_in_part(listen: Listen, base: Path) -> None:
    """Broken by: reading what a process says its environment is, as ps(1) may, up to its end."""
    strings = b"TMPDIR=/%b\0XDG_RUNTIME_DIR=%b\0" % (b"a" * 200_000, os.fsencode(base / "other"))

    def lie() -> None:
        become(STRANGER)
        claim_environment(strings, 1 << 32)

    (base / "other").mkdir()
    (base / "other").chmod(0o1777)
    listener = listen(lie, str(base / "other"))
    assert Path(f"/proc/{listener.pid}/environ").open("rb").read(len(strings)) == strings
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), limits[1]))
    try:
        assert is_served(listener.pid)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_who_stands_in_for_a_process_gets_nothing(listen: Listen, base: Path) -> None:
    """Another process of the same user takes the name that the socket would have."""
    with running(*AS_STRANGER) as target:
        listener = listen(partial(become, STRANGER), str(base))
        folder = base / f"funcgraph-control-{STRANGER}"
        (folder / f"{listener.pid}-{NUMBER}.sock").rename(folder / f"{target.pid}-{NUMBER}.sock")
        assert not is_served(target.pid)
        assert target.pid not in processes.running()


def test_links_do_not_lead_root_to_its_own_sockets(listen: Listen, base: Path) -> None:
    mine = listen(lambda: None, str(base), 0)
    folder = base / f"funcgraph-control-{os.geteuid()}"
    with running(*AS_STRANGER) as target:
        theirs = f"{base}/funcgraph-control-{STRANGER}"
        target.run(f"mkdir -m 700 {theirs}")
        target.run(f"ln -s {folder}/{mine.pid}-{NUMBER}.sock {theirs}/{target.pid}-{NUMBER}.sock")
        assert not is_served(target.pid)
        target.run(f"rm -r {theirs}; ln -s {folder} {theirs}")
        assert not is_served(target.pid)
    assert is_served(mine.pid)
    assert mine.line() == "uid 0"  # the first that came


def test_a_process_that_takes_no_connections_is_one_clear_error(
    listen: Listen, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = listen(partial(become, STRANGER), str(base), accepts=False)
    monkeypatch.chdir(base / f"funcgraph-control-{STRANGER}")
    with ExitStack() as stack:
        waiting = None
        while waiting is None or waiting.connect_ex(f"{listener.pid}-{NUMBER}.sock") == 0:
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
        with pytest.raises(TimeoutError):
            connect_to(ProcessIdentity.of(listener.pid), SHORT_S)


def test_an_exec_of_another_program_gets_no_connection(base: Path) -> None:
    with running(*AS_STRANGER) as target:
        identity = ProcessIdentity.of(target.pid)
        target.execute("sleep 60")
        with pytest.raises(IdentityError, match="executes another program"):
            connect_to(identity, SHORT_S)


def test_finding_processes_connects_to_none(base: Path) -> None:
    folder = base / f"funcgraph-control-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as stack:
        directory = os.open(folder, os.O_PATH)  # an address has 107 bytes: the folder's path may be longer
        stack.callback(os.close, directory)
        listener.bind(f"/proc/self/fd/{directory}/{os.getpid()}-{NUMBER}.sock")
        assert os.getpid() not in processes.running()
        listener.listen()
        assert os.getpid() in processes.running()
        assert select.select([listener], [], [], 0)[0] == []
