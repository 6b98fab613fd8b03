"""A user exchanges its folder and files again and again while root works there: nothing of root's changes."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sizes import RIGHTS_RACES
from targets import AS_STRANGER, OWN_NAMESPACES, STRANGER, Target, as_root, running, some_namespaces

from funcgraph.control.sockets import connect_to
from funcgraph.rights.folder import Folder
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity

pytestmark = [pytest.mark.one_python, as_root]

PREFIX = "fgtest-"
FILES = ("config", "lock", "page")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder in which every user may make files."""
    folder = tmp_path / "place"
    folder.mkdir()
    folder.chmod(0o1777)
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o011 != 0o011:
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder of root's with the files of a session; nothing in it may have changed in the end."""
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("root's")
        (folder / name).chmod(0o666)
    yield folder
    facts = [(path.name, path.read_text(), path.stat().st_uid) for path in sorted(folder.iterdir())]
    assert facts == [(name, "root's", 0) for name in FILES]


@contextmanager
def attack(target: Target, flag: Path, steps: str) -> Iterator[None]:
    """Have the target take some steps again and again during the block."""
    flag.touch()
    target.run(f"(while [ -e {flag} ]; do {steps}; done) >/dev/null 2>&1 &")
    try:
        yield
    finally:
        flag.unlink()
        target.run("wait")


def links(place: Path, victim: Path) -> str:
    """Steps that put a link in place of each folder, and of a file in it."""
    step = f"mv $f $f.away && ln -s {victim} $f && rm $f; ln -s {victim}/page $f.away/page; mv $f.away $f"
    return f"for f in {place}/{PREFIX}????????; do {step}; done"


def mounts(place: Path, victim: Path) -> str:
    """Steps that mount the victim over each folder, and one of its files over a file in it."""
    step = f"mount --bind {victim} $f; umount $f; mount --bind {victim}/page $f/page; umount $f/page"
    return f"for f in {place}/{PREFIX}????????; do {step}; done"


KINDS = {"links": (AS_STRANGER, links), "mounts": (OWN_NAMESPACES, mounts)}


@some_namespaces
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_in_a_users_folder_reaches_nothing_else(place: Path, victim: Path, kind: str) -> None:
    command, steps = KINDS[kind]
    with running(*command) as target, attack(target, place.parent / "flag", steps(place, victim)):
        with Helper.start(ProcessIdentity.of(target.pid)) as helper:
            for _ in range(RIGHTS_RACES):
                with suppress(OSError):
                    work(helper.make_folder([str(place)], PREFIX))


def work(folder: Folder) -> None:
    """Do what a recorder does with a session's folder, each step whatever came of the others."""
    with suppress(OSError):
        folder.write("lock", b"a session's")
    with suppress(OSError):
        fd = folder.open("page", os.O_RDWR | os.O_CREAT)
        os.write(fd, b"a session's")
        os.close(fd)
    with suppress(OSError):
        folder.rename("lock", "config")
    with suppress(OSError):
        folder.unlink("page")
    with suppress(OSError):
        folder.remove(list(FILES))
    folder.close()


def test_a_connection_never_leads_root_to_a_socket_of_its_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    mine, theirs = place / "funcgraph-control-0", place / f"funcgraph-control-{STRANGER}"
    mine.mkdir(mode=0o700)
    with running(*AS_STRANGER) as target, socket.socket(socket.AF_UNIX) as listener:
        name = f"{target.pid}-0123abcd.sock"
        monkeypatch.chdir(mine)
        listener.bind(name)
        listener.listen()
        steps = f"mkdir -m 700 {theirs}; ln -s {mine}/{name} {theirs}; rm -r {theirs}; "
        steps += f"ln -s {mine} {theirs}; rm {theirs}"
        with attack(target, place.parent / "flag", steps):
            identity = ProcessIdentity.of(target.pid)
            (mine / name).rename(mine / "away.sock")
            for _ in range(RIGHTS_RACES // 2):
                assert connect_to(identity, 10.0) is None
        assert select.select([listener], [], [], 0)[0] == []
