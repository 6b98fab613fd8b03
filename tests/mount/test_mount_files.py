"""A file of a mount behaves as the kernel's does: errors, truncation, appending, one write() at a time."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python


LATE = "written_at_close"


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the mount."""
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60)


def number_of(action: Callable[[], object]) -> int | None:
    """Return the errno of an action."""
    with pytest.raises(OSError) as caught:
        action()
    return caught.value.errno


def test_a_file_of_size_0_reads_whole(mounted: Path) -> None:
    file = mounted / "available_events"
    assert file.stat().st_size == 0
    assert file.read_text().splitlines() == [f"sched:event_{number}" for number in range(2000)]


def test_a_truncating_write_replaces_and_an_appending_one_adds(mounted: Path) -> None:
    done = shell(
        mounted, "echo a.* > set_ftrace_filter; echo b.f >> set_ftrace_filter; cat set_ftrace_filter"
    )
    assert (done.stdout, done.stderr) == ("a.*\nb.f\n", "")
    assert shell(mounted, "echo c.g > set_ftrace_filter; cat set_ftrace_filter").stdout == "c.g\n"
    assert shell(mounted, ": > set_ftrace_filter; cat set_ftrace_filter").stdout == ""


def test_each_write_arrives_as_one(mounted: Path) -> None:
    before = len((mounted / "writes").read_text().split())
    marker = os.open(mounted / "trace_marker", os.O_WRONLY)
    sizes = [1, 4096, 5000, 100_000, 131_072]
    try:
        for size in sizes:
            assert os.write(marker, b"x" * size) == size
    finally:
        os.close(marker)
    assert (mounted / "writes").read_text().split()[before:] == list(map(str, sizes))


@pytest.mark.parametrize(
    ("action", "number"),
    [
        (lambda at: (at / "nothing").read_text(), errno.ENOENT),
        (lambda at: (at / "available_events" / "x").read_text(), errno.ENOTDIR),
        (lambda at: (at / "set_ftrace_filter").write_text("bad"), errno.EINVAL),
        (lambda at: os.open(at / "trace_marker", os.O_RDONLY), errno.EACCES),
        (lambda at: os.open(at / "available_events", os.O_WRONLY), errno.EACCES),
        (lambda at: os.open(at / "instances", os.O_WRONLY), errno.EISDIR),
        (lambda at: (at / "new").touch(), errno.EACCES),
        (lambda at: (at / "new").mkdir(), errno.EPERM),
        (lambda at: os.mkfifo(at / "new"), errno.EPERM),
        (lambda at: (at / "new").symlink_to("writes"), errno.EPERM),
        (lambda at: (at / "writes").unlink(), errno.EPERM),
        (lambda at: (at / "writes").rename(at / "new"), errno.EPERM),
        (lambda at: (at / "nothing").chmod(0o600), errno.ENOENT),
        (lambda at: (at / "instances").rmdir(), errno.EPERM),
        (lambda at: (at / "instances" / "no").rmdir(), errno.ENOENT),
    ],
)
def test_what_the_kernel_refuses_has_its_number(
    mounted: Path, action: Callable[[Path], object], number: int
) -> None:
    assert number_of(lambda: action(mounted)) == number


def test_an_open_file_that_is_unlinked_keeps_its_name(mounted: Path) -> None:
    with (mounted / "writes").open():
        assert number_of((mounted / "writes").unlink) == errno.EPERM
    assert (mounted / "writes").exists()


def test_an_instance_that_is_used_is_busy_and_one_that_was_closed_is_not(mounted: Path) -> None:
    folder = mounted / "instances" / "one"
    for _ in range(100):  # the kernel tells of the end of an open file some time after close()
        folder.mkdir()
        (folder / "set_ftrace_filter").read_text()
        (folder / "set_ftrace_filter").write_text("a.f")
        folder.rmdir()
    folder.mkdir()
    with (folder / "set_ftrace_filter").open():
        assert number_of(folder.rmdir) == errno.EBUSY
        assert number_of(folder.mkdir) == errno.EEXIST
    folder.rmdir()
    assert not folder.exists()


def test_a_pipe_that_was_closed_can_be_opened_again_at_once(mounted: Path) -> None:
    for _ in range(20):
        os.close(os.open(mounted / "trace_pipe", os.O_RDONLY))
    reader = os.open(mounted / "trace_pipe", os.O_RDONLY)
    assert number_of(lambda: os.open(mounted / "trace_pipe", os.O_RDONLY)) == errno.EBUSY
    os.close(reader)


def test_what_waited_for_the_end_of_a_file_is_done_when_others_look(mounted: Path) -> None:
    """The tree carries out a last word, and an O_TRUNC without a write, when the file is closed."""
    for name in ("first", "second") * 10:
        assert shell(mounted, f": > {LATE}; cat {LATE}; printf {name} > {LATE}; cat {LATE}").stdout == name
        assert (mounted / LATE).read_text() == name


def test_a_word_goes_on_in_the_next_write_of_another_descriptor(mounted: Path) -> None:
    script = f"exec 7> {LATE}; printf shop. >&7; printf pay >&7; cat writes >/dev/null; exec 7>&-; cat {LATE}"
    assert shell(mounted, script).stdout == "shop.pay"


def test_a_descriptor_that_was_duplicated_goes_on_after_the_other_is_closed(mounted: Path) -> None:
    script = """
    exec 7> set_ftrace_filter
    echo a.f >&7
    (echo b.f >&7)
    echo c.f >&7
    exec 7>&-
    exec 8< set_ftrace_filter
    (:)
    cat <&8
    """
    done = shell(mounted, script)
    assert (done.stdout, done.stderr) == ("a.f\nb.f\nc.f\n", "")


def test_touch_changes_nothing_and_truncating_to_0_empties(mounted: Path) -> None:
    file = mounted / "set_ftrace_filter"
    done = shell(mounted, "echo a.f > set_ftrace_filter; touch set_ftrace_filter; cat set_ftrace_filter")
    assert (done.stdout, done.stderr) == ("a.f\n", "")
    os.truncate(file, 100)
    assert file.read_text() == "a.f\n"
    os.truncate(file, 0)
    assert file.read_text() == ""


def test_modes_and_owners_can_be_changed_until_the_file_goes(mounted: Path) -> None:
    folder = mounted / "instances" / "owned"
    folder.mkdir()
    file = folder / "writes"
    before = file.stat()
    file.chmod(0o600)
    os.chown(file, 7, -1)
    os.chown(file, -1, 8)
    after = file.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o600, 7, 8)
    assert (folder / "trace_pipe").stat().st_uid == before.st_uid
    folder.rmdir()
    folder.mkdir()
    assert file.stat() == before
    folder.rmdir()
