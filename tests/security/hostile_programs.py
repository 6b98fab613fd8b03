"""Programs of a hostile user, on which root uses every command (test_canary.py).

It is started as root. A line KIND|SERVES|USER|FOLDER makes one: it becomes that user, whom nobody else on the
machine is. With SERVES = 1 it has a control socket: nobody has to attach to it, and it attacks sessions.
FOLDER/user is the user's; FOLDER/canary and FOLDER/canary.spare are root's, and the program tries to have
them changed. It prints "ready PID" when it can be recorded. Until it is killed it calls turn(), and attacks
the folders of funcgraph that it finds, again and again.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import funcgraph

sys.path.append(str(Path(__file__).resolve().parent.parent / "support"))
from hostile_user import (
    MS_BIND,
    MS_REC,
    become,
    end_with_parent,
    load_all,
    mount,
    own_user_namespace,
    signal_others,
)

PLACES = (Path("/dev/shm"), Path("/tmp"))
#: Names in a session's folder, and in that of an attacher.
NAMES = (
    "lock", "page", "config", "config.closed", "config.new", "1.0.ring", "1.0.dump", "1.note",
    "run", "source", "script", "result",
)  # fmt: skip
FLOOD = 3000

Attack = Callable[[Path, Path], None]


def turn() -> None:
    """What is recorded."""


def names_in(folder: Path) -> set[str]:
    return {*NAMES, *os.listdir(folder)} - {"spare"}


def replace(folder: Path, make: Callable[[Path], None]) -> None:
    """Put something else where each file of a folder is, or may be."""
    for name in names_in(folder):
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)
            make(folder / name)


# ---- attacks on a folder that has just been found


def links(folder: Path, canary: Path) -> None:
    """Links to files of root's; the spare folder is one of root's."""
    replace(folder, lambda path: path.symlink_to(canary / "file"))
    (folder / "spare").unlink(missing_ok=True)
    (folder / "spare").symlink_to(f"{canary}.spare")


def pipes(folder: Path, canary: Path) -> None:
    """Whoever opens one waits for ever."""
    replace(folder, os.mkfifo)


def hard_links(folder: Path, canary: Path) -> None:
    """Links to a file of the user's own in another place."""
    own = canary.parent / "user" / "own"
    own.touch()
    replace(folder, lambda path: path.hardlink_to(own))


def swap(folder: Path, canary: Path) -> None:
    """A link to root's folder is where this one was."""
    if folder.is_symlink():
        return
    folder.rename(f"{folder}-gone-{random.getrandbits(32)}")
    folder.symlink_to(canary)


def bind(folder: Path, canary: Path) -> None:
    """In a mount namespace of the user's own, root's folder is where this one was."""
    if not os.path.ismount(folder):
        mount(canary, folder, flags=MS_BIND | MS_REC)


def truncate(folder: Path, canary: Path) -> None:
    for path in folder.glob("*.ring"):
        size = path.stat().st_size
        for _ in range(50):
            os.truncate(path, random.choice((0, 4096, random.randrange(size + 1))))
            os.truncate(path, size)


def scribble(folder: Path, canary: Path) -> None:
    """Any word of any file changes."""
    for path in folder.iterdir():
        with suppress(OSError), path.open("r+b", buffering=0) as file:
            for _ in range(100):
                file.seek(8 * random.randrange(600))
                file.write(random.choice((bytes(8), b"\xff" * 8, random.randbytes(8))))


def flood(folder: Path, canary: Path) -> None:
    """More names than anybody wants to read, with control characters."""
    with suppress(OSError):
        for number in range(FLOOD):
            (folder / f"{number}.note").write_text("\033[2J\nnote\n" * 100)
            (folder / f"\033]0;{number}\a.0.ring").touch()


def empty(folder: Path, canary: Path) -> None:
    """Everything is removed as soon as it is there."""
    for path in folder.iterdir():
        with suppress(OSError):
            path.unlink()


def kill_others(folder: Path, canary: Path) -> None:
    """A helper of root's that has become this user is killed."""
    signal_others(signal.SIGKILL)


def stop_others(folder: Path, canary: Path) -> None:
    """It is stopped: it never answers."""
    signal_others(signal.SIGSTOP)


def execute(folder: Path, canary: Path) -> None:
    """The process becomes another program, of the same process id, while root attaches to it."""
    os.execv(sys.executable, [sys.executable, __file__, str(canary)])


def answer_nonsense(folder: Path, canary: Path) -> None:
    """A socket is there that never says what it should."""
    for path in folder.glob("*.sock"):
        if path not in _served:
            _served.add(path)
            threading.Thread(target=_answer, args=(path,), daemon=True).start()


_served: set[Path] = set()
_ANSWERS = (b"null\n", b"\0\0\0\4null", b"\033[2J" * 1000, b"{" * 100_000, b"\xff" * 4096, b"")


def _answer(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
        listening.listen(1)
        kept = []
        while True:
            connection, _ = listening.accept()
            kept.append(connection)  # never closed
            with suppress(OSError):
                connection.sendall(random.choice(_ANSWERS))


ATTACKS: dict[str, Attack] = {
    one.__name__: one
    for one in (
        links, pipes, hard_links, swap, truncate, bind, scribble, flood, empty, kill_others, stop_others,
        execute, answer_nonsense,
    )
}  # fmt: skip


# ---- the process


def make_session(canary: Path) -> None:
    """Make what looks like the session of a killed recorder. It says that the trace goes to the canary."""
    folder = PLACES[0] / f"funcgraph-{os.getpid()}-left"
    folder.mkdir(0o700)
    for name in ("lock", "page", f"{os.getpid()}.0.ring"):
        (folder / name).write_bytes(bytes(4096))
    places = {
        "output": canary / "output.fg",
        "part": canary / "output.fg.part",
        "command": "x",
        "version": "1",
    }
    (folder / "config").write_text("".join(f"{key}={value}\n" for key, value in places.items()))


def squat() -> None:
    """Take the name that root needs for a folder of its own."""
    with suppress(OSError):
        (PLACES[0] / "funcgraph-control-0").mkdir()


def found() -> Iterator[Path]:
    for place in PLACES:
        with suppress(OSError):
            yield from (path for path in place.glob("funcgraph-*") if "-gone-" not in path.name)


def attack_all(attack: Attack, canary: Path, but: str = "") -> None:
    """Attack all folders but those whose names begin with `but`, if that is given."""
    ready = time.monotonic()
    while True:
        turn()
        time.sleep(0.001)
        if time.monotonic() - ready > 0.05:  # an attacher has found the process
            for folder in found():
                with suppress(OSError):
                    if not but or not folder.name.startswith(but):
                        attack(folder, canary)


def be_hostile(kind: str, serves: bool, user: int, canary: Path) -> None:
    become(user)
    end_with_parent()
    if kind == "bind":
        own_user_namespace(user)
    squat()
    make_session(canary)
    if serves:
        funcgraph.serve()
    print(f"ready {os.getpid()}", flush=True)
    keeps_socket = serves and kind != "answer_nonsense"
    attack_all(ATTACKS[kind], canary, "funcgraph-control-" if keeps_socket else "")


def main() -> None:
    """Fork a hostile process for each line: one that has loaded all, and has one thread."""
    if len(sys.argv) > 1:
        attack_all(links, Path(sys.argv[1]))
    load_all()
    for line in sys.stdin:
        kind, serves, user, folder = line.strip().split("|")
        if os.fork() == 0:
            be_hostile(kind, serves == "1", int(user), Path(folder, "canary"))


if __name__ == "__main__":
    main()
