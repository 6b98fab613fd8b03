"""A folder is one directory, whatever is put at its path or into it meanwhile."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from targets import OWN_MOUNTS, STRANGER, as_root, some_mounts

from funcgraph.rights.descriptors import is_memory
from funcgraph.rights.folder import OwnFolder

pytestmark = pytest.mark.one_python


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[OwnFolder]:
    made = OwnFolder.create(str(tmp_path), "own-")
    yield made
    made.close()


@pytest.fixture(params=["openat2", "without openat2"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to open: with openat2(), and where a filter of system calls forbids it."""
    if request.param == "without openat2":
        monkeypatch.setattr("funcgraph._system.openat2", _refuse)
    return str(request.param)


def _refuse(*arguments: object) -> int:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_new_folder_is_ours_alone(folder: OwnFolder, tmp_path: Path) -> None:
    facts = os.lstat(folder.path)
    assert (facts.st_uid, facts.st_mode & 0o777) == (os.geteuid(), 0o700)
    assert Path(folder.path).parent == tmp_path
    assert folder.names() == []


def test_what_is_written_is_read_and_removed(folder: OwnFolder, opening: str) -> None:
    folder.write("config", b"one")
    folder.write("config", b"two")
    folder.rename("config", "config.closed")
    assert folder.names() == ["config.closed"]
    assert (folder.has("config"), folder.has("config.closed")) == (False, True)
    assert (folder.read("config.closed", 100), folder.read("config.closed", 2)) == (b"two", b"tw")
    folder.remove(["config.closed", "absent"])
    assert not os.path.exists(folder.path)


def test_what_a_killed_writer_left_is_in_nobodys_way(folder: OwnFolder) -> None:
    Path(folder.path, "config.new").write_bytes(b"half")
    folder.write("config", b"whole")
    assert folder.names() == ["config"]
    Path(folder.path, "config.new").write_bytes(b"half")
    folder.remove(["config"])
    assert not os.path.exists(folder.path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../a", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(folder: OwnFolder, name: str) -> None:
    calls = [
        lambda: folder.open(name, os.O_RDONLY),
        lambda: folder.has(name),
        lambda: folder.read(name, 1),
        lambda: folder.write(name, b""),
        lambda: folder.rename(name, "a"),
        lambda: folder.rename("a", name),
        lambda: folder.unlink(name),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="invalid file name"):
            call()


def test_only_regular_files_are_opened(folder: OwnFolder, tmp_path: Path, opening: str) -> None:
    (tmp_path / "target").write_text("untouched")
    here = Path(folder.path)
    (here / "link").symlink_to(tmp_path / "target")
    (here / "magic").symlink_to("/proc/self/fd/0")
    (here / "folder").mkdir()
    os.mkfifo(here / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/proc/self/fd/{folder._fd}/socket")
    expected = {"link": errno.ELOOP, "magic": errno.ELOOP, "socket": errno.ENXIO}
    expected |= {"fifo": errno.EINVAL, "folder": errno.EINVAL}
    descriptors_before = len(os.listdir("/proc/self/fd"))
    for name, number in expected.items():
        with pytest.raises(OSError) as caught:
            folder.open(name, os.O_RDONLY)
        assert caught.value.errno == number, name
    assert len(os.listdir("/proc/self/fd")) == descriptors_before
    assert (tmp_path / "target").read_text() == "untouched"
    listener.close()


@as_root
def test_a_device_is_not_opened_as_a_file(folder: OwnFolder, opening: str) -> None:
    os.mknod("null", 0o020600, os.makedev(1, 3), dir_fd=folder._fd)
    with pytest.raises(OSError, match="not a regular file"):
        folder.open("null", os.O_RDONLY)


@some_mounts
@pytest.mark.parametrize("refused", ["", "_refuse"])
def test_what_is_mounted_in_it_is_not_entered(tmp_path: Path, refused: str) -> None:
    program = f"""
import errno, os
from funcgraph import _system
from funcgraph.rights.folder import OwnFolder
def refuse(*arguments):
    raise PermissionError(errno.EPERM, "")
if {refused!r}:
    _system.openat2 = refuse
folder = OwnFolder.create({str(tmp_path)!r}, "own-")
open(folder.path + "/page", "w").close()
assert os.system(f"mount --bind /proc/version {{folder.path}}/page") == 0
try:
    folder.open("page", os.O_RDONLY)
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    command = [*OWN_MOUNTS, sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "EXDEV\n"


def test_a_folder_stays_itself_when_its_path_is_exchanged(folder: OwnFolder, tmp_path: Path) -> None:
    folder.write("lock", b"mine")
    os.rename(folder.path, tmp_path / "away")
    victim = Path(folder.path)
    victim.mkdir()
    (victim / "lock").write_text("a stranger's")
    assert folder.read("lock", 100) == b"mine"
    with pytest.raises(OSError, match="another directory has its name"):
        folder.remove(["lock"])
    assert (victim / "lock").read_text() == "a stranger's"
    assert list((tmp_path / "away").iterdir()) == []


def test_a_folder_with_other_files_stays(folder: OwnFolder) -> None:
    folder.write("lock", b"")
    folder.write("other", b"")
    with pytest.raises(OSError) as caught:
        folder.remove(["lock"])
    assert caught.value.errno == errno.ENOTEMPTY
    assert folder.names() == ["other"]


def test_a_folder_that_others_may_use_is_refused(folder: OwnFolder) -> None:
    OwnFolder.at(folder.path).close()
    os.chmod(folder.path, 0o750)
    with pytest.raises(PermissionError, match="other users may use it"):
        OwnFolder.at(folder.path)


@as_root
def test_a_folder_of_another_user_is_refused(folder: OwnFolder) -> None:
    os.chown(folder.path, STRANGER, STRANGER)
    with pytest.raises(PermissionError, match=f"user {STRANGER} owns it"):
        OwnFolder.at(folder.path)


def test_a_link_to_a_folder_is_refused(folder: OwnFolder, tmp_path: Path, opening: str) -> None:
    (tmp_path / "link").symlink_to(folder.path)
    with pytest.raises(OSError) as caught:
        OwnFolder.at(str(tmp_path / "link"))
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


def test_only_files_in_memory_are_memory(tmp_path: Path) -> None:
    memory, pipe = os.memfd_create("memory"), os.pipe()
    assert is_memory(memory)
    assert not any(is_memory(fd) for fd in pipe)
    with open("/proc/self/stat", "rb") as file:
        assert not is_memory(file.fileno())
    for fd in (memory, *pipe):
        os.close(fd)
