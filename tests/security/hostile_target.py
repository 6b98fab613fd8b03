"""A process of a hostile user, which root records: it serves its control socket, and attacks the session.

Its argument is the user, whom no other run of the tests may have: some attacks are on all of its processes.
A line JAIL|ATTACK|FOLDER makes one: it starts as root, enters its jail and becomes the user. FOLDER/user is
the user's; FOLDER/canary and FOLDER/canary.spare are root's, and nothing in them may ever change. It prints
"ready PID" when it can be recorded, and makes FOLDER/user/done when it has attacked. It calls turn() until
it is killed.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import funcgraph
from funcgraph.control import server, wire

sys.path.append(str(Path(__file__).resolve().parent.parent / "support"))
from hostile_user import (
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    become,
    end_with_parent,
    load_all,
    mount,
    own_mounts,
    own_user_namespace,
    signal_others,
)
from ringfile import Header

STRANGER = int(sys.argv[1])
MANY, MANY_NOTES = 150, 1100
PLACES = (Path("/dev/shm"), Path("/tmp"))


def turn() -> None:
    """What is recorded."""


# ---- jails: what root does, then what the user does


def container(folder: Path) -> None:
    """A mount namespace and another root directory, no user namespace. The user owns its /dev."""
    root = folder / "root"
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    own_mounts()
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", root / "proc", "proc")
    (root / "tmp").chmod(0o1777)
    (root / "user").mkdir()
    mount(folder / "user", root / "user", flags=MS_BIND)
    (root / "dev/shm").mkdir()
    (root / "dev/shm").chmod(0o1777)
    (root / "dev/null").touch()
    mount("/dev/null", root / "dev/null", flags=MS_BIND)
    os.chown(root / "dev", STRANGER, STRANGER)
    os.chroot(root)
    os.chdir("/")


def serve_everybody() -> None:
    """Answer everybody at the place of the engine's socket, which would refuse root of outside."""
    funcgraph.serve()
    sockets = f"funcgraph-control-*/{os.getpid()}-*.sock"
    path = next(path for place in PLACES for path in place.glob(sockets))
    path.unlink()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(16)
    threading.Thread(target=accept, args=(listening,), daemon=True).start()


def accept(listening: socket.socket) -> None:
    for number in itertools.count(1 << 20):
        connection, _ = listening.accept()
        threading.Thread(target=serve_connection, args=(connection, number), daemon=True).start()


def serve_connection(connection: socket.socket, number: int) -> None:
    with suppress(EOFError, OSError):
        while True:
            connection.sendall(wire.framed(server.handle(number, wire.receive(connection))))


# ---- attacks on the session, once the process records into it


def none(session: Path, canary: Path) -> None:
    pass


def mounted(session: Path, canary: Path) -> None:
    """The folder of the host is where the session was."""
    mount(canary, session, flags=MS_BIND | MS_REC)


def swapped(session: Path, canary: Path) -> None:
    """A link is where the session was."""
    session.rename(f"{session}-gone")
    session.symlink_to(canary)


def replaced(session: Path, canary: Path) -> None:
    """Another folder is where the session was, with links for all of its files."""
    session.rename(f"{session}-gone")
    session.mkdir()
    for name in ("lock", "page", "config", "1.1.ring", "1.1.dump", "1.note"):
        (session / name).symlink_to(canary / "file")


def spare(session: Path, canary: Path) -> None:
    (session / "spare").unlink(missing_ok=True)
    (session / "spare").symlink_to(f"{canary}.spare")


def links(session: Path, canary: Path) -> None:
    """Links for each kind of file."""
    for name in ("2.1.ring", "2.1.dump", "2.note", "config.closed", "config.new", "lock.new"):
        (session / name).unlink(missing_ok=True)
        (session / name).symlink_to(canary / "file")
    for name in ("page", "config", "lock"):
        (session / name).unlink()
        (session / name).symlink_to(canary / "file")


def pipes(session: Path, canary: Path) -> None:
    """Whoever opens one of them waits for ever."""
    for name in ("2.1.ring", "2.1.dump", "2.note"):
        os.mkfifo(session / name)
    for name in ("page", "config", "lock"):
        (session / name).unlink()
        os.mkfifo(session / name)


def config(session: Path, canary: Path) -> None:
    """It says where root writes."""
    places = {"output": canary / "output", "part": canary / "output.part"}
    (session / "config").unlink()
    (session / "config").write_text("".join(f"{key}={value}\n" for key, value in places.items()))


def many(session: Path, canary: Path) -> None:
    """More notes, rings and requests than there can be, and texts that do harm on a terminal."""
    (session / "2.note").write_text("\033[2J\nnote\n" * 100_000)
    for number in range(3, MANY_NOTES):
        (session / f"{number}.note").touch()
    for number in range(MANY):
        (session / f"{number}.1.ring").touch()
        (session / f"{number}.1.dump").touch()


def huge(session: Path, canary: Path) -> None:
    """A ring that nobody has asked for: its header is sound, and it has 2^26 sub-buffers."""
    own = next(session.glob("*.ring")).read_bytes()[:4096]
    with open(session / "2.1.ring.new", "wb") as file:
        # struct fg_ring_header: symbols_offset, symbols_capacity, data_offset, subbuf_bytes, nr_subbufs
        values = (1 << 30, 0, 1 << 31, 4096, 1 << 26)
        sizes = (8, 8, 8, 4, 4)
        file.write(own[:32])
        file.write(
            b"".join(value.to_bytes(size, "little") for value, size in zip(values, sizes, strict=True))
        )
        file.write(own[64:])
        file.truncate(1 << 40)
    (session / "2.1.ring.new").rename(session / "2.1.ring")


def copied(session: Path, canary: Path) -> None:
    """The user reads what root has written."""
    (canary.parent / "user/config").write_bytes((session / "config").read_bytes())


def killed_helper(session: Path, canary: Path) -> None:
    """All processes of the user but this one are killed."""
    until_drained(session)
    signal_others(signal.SIGKILL)


def stopped_helper(session: Path, canary: Path) -> None:
    until_drained(session)
    signal_others(signal.SIGSTOP)


def until_recorded(session: Path) -> None:
    """Call until the ring has turn(): its symbol is there before its first record."""
    for path in session.glob(f"{os.getpid()}.*.ring"):
        with path.open("rb") as ring:
            at = Header.symbols_offset.offset
            symbols = int.from_bytes(os.pread(ring.fileno(), 8, at), "little")
            while b"turn" not in os.pread(ring.fileno(), 1 << 16, symbols):
                turn()


def until_drained(session: Path) -> None:
    """Call until the recorder has taken a sub-buffer, so that it has the ring."""
    ring = next(session.glob(f"{os.getpid()}.*.ring"))
    at = Header.full_tail.offset
    while not any(ring.read_bytes()[at : at + 8]):
        for _ in range(1000):
            turn()


# ---- attacks on the places of sessions, before there is one


def linked_place(canary: Path) -> None:
    """The user's /dev/shm is a link, which for a process outside leads into the host's folder."""
    Path("/dev/shm").rmdir()
    Path("/dev/shm").symlink_to(canary)


LATE: dict[str, Callable[[Path, Path], None]] = {
    one.__name__: one
    for one in (
        none, mounted, swapped, replaced, spare, links, pipes, config, many, huge, copied, killed_helper,
        stopped_helper,
    )
}  # fmt: skip
EARLY: dict[str, Callable[[Path], None]] = {"linked_place": linked_place}


def sessions() -> list[Path]:
    return [path for place in PLACES for path in place.glob("funcgraph-[0-9]*")]


def attack(jail: str, attack: str, name: str) -> None:
    """Be the hostile process, until somebody kills it."""
    end_with_parent()
    folder = Path(name)
    canary, done = folder / "canary", folder / "user/done"
    if jail == "container":
        container(folder)
        done = Path("/user/done")
    become(STRANGER)
    if jail == "user namespace":
        own_user_namespace(STRANGER)
    if attack in EARLY:
        EARLY[attack](canary)
    before = set(sessions())
    serve_everybody()
    print(f"ready {os.getpid()}", flush=True)
    while not done.exists():
        turn()
        time.sleep(0.001)
        for session in set(sessions()) - before:
            if not done.exists() and any(session.glob("*.ring")):
                until_recorded(session)
                if attack in LATE:
                    LATE[attack](session, canary)
                done.touch()
    while True:
        turn()
        time.sleep(0.001)


def main() -> None:
    """Fork a hostile process for each line: one that has loaded all, and has one thread."""
    load_all()
    for line in sys.stdin:
        if os.fork() == 0:
            attack(*line.strip().split("|"))


if __name__ == "__main__":
    main()
