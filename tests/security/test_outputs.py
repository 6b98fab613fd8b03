"""Nobody chooses by a link or a file of theirs which file another user's commands write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import Funcgraph

from funcgraph import _tracedata, output_file
from funcgraph.session.output import check_output

pytestmark = pytest.mark.one_python

OTHER = 12345
CONTENTS = "of root"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")

Write = Callable[[Funcgraph, Path], object]


# ---- the folders


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a file that must stay as it is, alone in a folder where nothing may appear."""
    path = tmp_path / "kept" / "file"
    path.parent.mkdir(mode=0o700)
    path.write_text(CONTENTS)
    return path


def check_kept(kept: Path) -> None:
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    assert kept.read_text() == CONTENTS


@pytest.fixture(params=["sticky", "of another user"])
def shared(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder in which others may write."""
    folder = tmp_path / "shared"
    folder.mkdir()
    if request.param == "sticky":
        folder.chmod(0o1777)
    else:
        os.chown(folder, OTHER, OTHER)
    return folder


def others_link(path: Path, target: Path) -> None:
    path.symlink_to(target)
    os.chown(path, OTHER, OTHER, follow_symlinks=False)


# ---- what writes


#: The trace of trace_of(), recorded once.
_TRACE: list[bytes] = []


def trace_of(fg: Funcgraph) -> Path:
    """Return a trace to read."""
    path = fg.folder / "source.fg"
    if not _TRACE:
        assert fg.record("-q", "-o", path, "-c", "def f(): pass\nf()").returncode == 0
        _TRACE.append(path.read_bytes())
    path.write_bytes(_TRACE[0])
    return path


def record(fg: Funcgraph, output: Path) -> None:
    fg.record("-q", "-o", output, "-c", "def f(): pass\nf()")


def record_ring(fg: Funcgraph, output: Path) -> None:
    fg.record("-q", "--ring", "1M", "-o", output, "-c", "def f(): pass\nf()\nraise SystemExit(1)")


def record_block(fg: Funcgraph, output: Path) -> None:
    code = f"import funcgraph\ndef f(): pass\nwith funcgraph.record({str(output)!r}): f()"
    fg.plain(sys.executable, "-c", code)


def export(fg: Funcgraph, output: Path) -> None:
    fg.run("export", "speedscope", trace_of(fg), "-o", output)


def export_dat(fg: Funcgraph, output: Path) -> None:
    fg.run("export", "trace-dat", trace_of(fg), "-o", output)


def export_by_api(fg: Funcgraph, output: Path) -> None:
    words = f"{str(trace_of(fg))!r}, {str(output)!r}, 'chrome'"
    code = f"from funcgraph.export import export_trace\nexport_trace({words})"
    fg.plain(sys.executable, "-c", code)


def merge(fg: Funcgraph, output: Path) -> None:
    fg.run("merge", trace_of(fg), "-o", output)


def recover(fg: Funcgraph, output: Path) -> None:
    part = fg.folder / "lost.fg.part"
    part.write_bytes(trace_of(fg).read_bytes())
    fg.run("recover", part, "-o", output)


def dump_at_exit(fg: Funcgraph, output: Path) -> None:
    variables = {**fg.env, "FUNCGRAPH": f"ftrace=function_graph ftrace_dump_on_exit={output}"}
    fg.plain(sys.executable, "-c", "def f(): pass\nf()", env=variables)


def save(fg: Funcgraph, output: Path) -> None:
    fg.plain(sys.executable, "-c", f"import funcgraph\nfuncgraph.Instance('i').save({str(output)!r})")


def save_snapshot(fg: Funcgraph, output: Path) -> None:
    code = f"import funcgraph\nfuncgraph.Instance('i').snapshot().save({str(output)!r})"
    fg.plain(sys.executable, "-c", code)


def extract(fg: Funcgraph, output: Path) -> None:
    with served(fg) as pid:
        fg.run("extract", "-P", str(pid), "-B", "i", "-o", output)


def profile(fg: Funcgraph, output: Path) -> None:
    with served(fg) as pid:
        fg.run("profile", "-P", str(pid), "-o", output, "--", "true")


SERVED = """
import funcgraph, time
instance = funcgraph.Instance("i")
funcgraph.serve()
print(flush=True)
time.sleep(300)
"""


@contextmanager
def served(fg: Funcgraph) -> Iterator[int]:
    """Run a process that can be steered for the block; return its id."""
    process = subprocess.Popen([sys.executable, "-c", SERVED], env=fg.env, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


WRITERS: dict[str, tuple[Write, str]] = {
    "record": (record, "t.fg"),
    "record, trace.dat": (record, "t.dat"),
    "record --ring": (record_ring, "t.fg"),
    "funcgraph.record": (record_block, "t.fg"),
    "export": (export, "t.json"),
    "export trace-dat": (export_dat, "t.dat"),
    "export_trace": (export_by_api, "t.json"),
    "merge": (merge, "t.fg"),
    "recover": (recover, "t.fg"),
    "recover, trace.dat": (recover, "t.dat"),
    "ftrace_dump_on_exit": (dump_at_exit, "t.dat"),
    "Instance.save": (save, "t.fg"),
    "Instance.save, trace.dat": (save, "t.dat"),
    "snapshot": (save_snapshot, "t.fg"),
    "extract": (extract, "t.fg"),
    "profile": (profile, "t.txt"),
}
writers = pytest.mark.parametrize(("write", "name"), WRITERS.values(), ids=list(WRITERS))


# ---- each of them


@as_root
@writers
def test_link_of_another_user_leads_nowhere(
    fg: Funcgraph, shared: Path, kept: Path, write: Write, name: str
) -> None:
    others_link(shared / name, kept)
    write(fg, shared / name)
    check_kept(kept)
    (shared / name).unlink()
    others_link(shared / name, kept.parent / "new")
    write(fg, shared / name)
    check_kept(kept)


@as_root
@writers
def test_folder_that_is_a_link_of_another_user_leads_nowhere(
    fg: Funcgraph, shared: Path, kept: Path, write: Write, name: str
) -> None:
    others_link(shared / "folder", kept.parent)
    write(fg, shared / "folder" / name)
    check_kept(kept)


@as_root
@writers
def test_file_of_another_user_stays(fg: Funcgraph, shared: Path, write: Write, name: str) -> None:
    path = shared / name
    path.write_text("theirs")
    os.chown(path, OTHER, OTHER)
    write(fg, path)
    assert (path.read_text(), path.stat().st_uid) == ("theirs", OTHER)
    assert [path.name for path in shared.iterdir()] == [name]


@writers
def test_second_name_of_a_file_loses_only_that_name(
    fg: Funcgraph, tmp_path: Path, kept: Path, write: Write, name: str
) -> None:
    folder = tmp_path / "sticky"
    folder.mkdir()
    folder.chmod(0o1777)
    os.link(kept, folder / name)
    write(fg, folder / name)
    check_kept(kept)
    if write is not recover:  # it replaces nothing
        assert not (folder / name).samefile(kept)


@writers
def test_own_link_is_followed(fg: Funcgraph, tmp_path: Path, write: Write, name: str) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    link = tmp_path / "here" / name
    link.symlink_to(os.path.join("..", "there", name))
    write(fg, link)
    assert link.is_symlink()
    assert (tmp_path / "there" / name).exists()
    assert [path.name for path in (tmp_path / "here").iterdir()] == [name]


# ---- between the look and the write


@as_root
@pytest.mark.parametrize("name", ["t.fg", "t.dat"])
def test_link_that_is_made_during_the_recording_leads_nowhere(
    fg: Funcgraph, shared: Path, kept: Path, name: str
) -> None:
    script = fg.script("""
        import os, sys
        def f(): pass
        f()
        os.symlink(*sys.argv[1:])
        os.lchown(sys.argv[2], 12345, 12345)
        """)
    result = fg.record("-o", shared / name, script, kept, shared / name)
    check_kept(kept)
    if name == "t.fg":
        assert fg.calls(shared / name)["__main__.f"] == 1
    else:
        assert f"funcgraph recover {shared / name}.part" in result.stderr


@as_root
@pytest.mark.parametrize("name", ["t.fg", "t.dat"])
def test_folder_that_becomes_a_link_during_the_recording_leads_nowhere(
    fg: Funcgraph, shared: Path, kept: Path, name: str
) -> None:
    folder = shared / "folder"
    folder.mkdir()
    script = fg.script("""
        import os, sys
        folder, kept = sys.argv[1:]
        os.rename(folder, folder + ".old")
        os.symlink(kept, folder)
        os.lchown(folder, 12345, 12345)
        """)
    result = fg.record("-o", folder / name, script, folder, kept.parent)
    assert result.returncode == 2
    check_kept(kept)


def test_link_that_is_made_while_a_file_is_written_is_not_followed(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "new"
    writing = output_file.whole_file(path)
    writing.__enter__().write(b"new")
    path.symlink_to(kept)
    with pytest.raises(OSError, match="symbolic links"):
        writing.__exit__(None, None, None)
    check_kept(kept)
    assert path.is_symlink()


def test_folder_that_is_exchanged_while_a_file_is_written_gets_nothing(tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with output_file.whole_file(folder / "new") as file:
        file.write(b"new")
        folder.rename(tmp_path / "moved")
        folder.symlink_to(kept.parent)
    check_kept(kept)
    assert (tmp_path / "moved" / "new").read_bytes() == b"new"


@pytest.mark.parametrize("change", ["replace", "unlink", "create", "open_there"])
def test_resolved_path_is_not_resolved_again(tmp_path: Path, kept: Path, change: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = output_file.resolve(folder / "file")
    folder.rmdir()
    folder.symlink_to(kept.parent)
    changes: dict[str, Callable[[], object]] = {
        "replace": lambda: output_file.replace(path, path + ".1"),
        "unlink": lambda: output_file.unlink(path),
        "create": lambda: os.close(output_file.create(path + ".1")),
        "open_there": lambda: os.close(output_file.open_there(path, os.O_RDWR)),
    }
    with pytest.raises(NotADirectoryError):
        changes[change]()
    check_kept(kept)


@pytest.mark.parametrize("call", ["convert", "replace_file"])
def test_c_code_follows_no_link(fg: Funcgraph, kept: Path, call: str) -> None:
    trace = str(trace_of(fg))
    calls: dict[str, Callable[[str], object]] = {
        "convert": lambda path: _tracedata.convert(trace, path),
        "replace_file": lambda path: _tracedata.replace_file(path, b"new"),
    }
    (fg.folder / "link").symlink_to(kept.parent)
    with pytest.raises(NotADirectoryError):
        calls[call](str(fg.folder / "link" / "file"))
    (fg.folder / "t.dat").symlink_to(kept)
    with pytest.raises(OSError, match="symbolic links"):
        calls[call](str(fg.folder / "t.dat"))
    check_kept(kept)


@as_root
def test_recover_does_not_write_to_a_spool_behind_a_link(fg: Funcgraph, shared: Path) -> None:
    spool = fg.folder / "other.fg.part"
    spool.write_bytes(trace_of(fg).read_bytes())
    before = spool.read_bytes()
    others_link(shared / "t.fg.part", spool)
    assert fg.run("recover", shared / "t.fg.part").returncode == 2
    (shared / "t.fg.part").unlink()
    os.link(spool, shared / "t.fg.part")
    assert fg.run("recover", shared / "t.fg.part").returncode == 2
    assert spool.read_bytes() == before


# ---- which links and files


@as_root
def test_reasons_name_the_link_and_the_file(shared: Path, kept: Path) -> None:
    link = shared / "link"
    others_link(link, kept)
    with pytest.raises(PermissionError, match=f"{link} is a link of another user"):
        check_output(link)
    theirs = shared / "file"
    theirs.touch()
    os.chown(theirs, OTHER, OTHER)
    with pytest.raises(PermissionError, match="is a file of another user"):
        check_output(theirs)


@as_root
def test_folder_that_only_we_change_may_have_links_and_files_of_others(tmp_path: Path, kept: Path) -> None:
    others_link(tmp_path / "link", kept)
    os.chown(kept, OTHER, OTHER)
    assert check_output(tmp_path / "link") == str(kept)


def test_paths_are_resolved_as_realpath_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "up").symlink_to("../a/b/..")
    (tmp_path / "all").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path / "a")
    for name in (
        "x",
        "./x",
        "b/../x",
        "up/x",
        "../all/a/up/b//x",
        "up",
        "..",
        "/",
        "b/",
        f"{tmp_path}/a/../x",
    ):
        assert output_file.resolve(name) == os.path.realpath(name)


def test_endless_links_end(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        output_file.resolve(tmp_path / "loop")


# ---- what is no regular file


def test_text_goes_into_a_fifo_a_device_or_a_standard_stream(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    for name in (fifo, os.devnull):
        with output_file.text_file(str(name)) as file:
            file.write("text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    code = "from funcgraph.output_file import text_file\nwith text_file('/dev/stdout') as f: f.write('text')"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"text"


@as_root
def test_text_goes_into_no_fifo_of_another_user(shared: Path) -> None:
    fifo = shared / "fifo"
    os.mkfifo(fifo)
    os.chown(fifo, OTHER, OTHER)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(PermissionError), output_file.text_file(str(fifo)) as file:
        file.write("text")
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_whole_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    for forbidden in (None, "link", "O_TMPFILE"):
        if forbidden == "link":
            monkeypatch.setattr(os, "link", _refuse)
        if forbidden == "O_TMPFILE":
            monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY | os.O_WRONLY)
        for text in (b"old", b"new"):
            with output_file.whole_file(path) as file:
                file.write(text)
            assert path.read_bytes() == text
        with suppress(ZeroDivisionError), output_file.whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError
        assert path.read_bytes() == b"new"
        assert [found.name for found in tmp_path.iterdir()] == ["file"]


def _refuse(*args: object, **keywords: object) -> None:
    raise PermissionError(1, "Operation not permitted")
