"""The command: which format, which trace, which file; and a file is whole or not there."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from exported import csv_rows
from tracefile import Trace

from funcgraph.export import export_trace, format, formats, run, source
from funcgraph.tracedata import TraceError

pytestmark = pytest.mark.one_python


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = Trace(["m.f"])
    task = made.task(41)
    task.enter(1000, 0, 0)
    task.leave(1100, 0, 0, calltime=1000)
    return made.save(tmp_path / "trace.dat")


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["csv"], "trace.csv"),
        (["csv", "trace.dat"], "trace.csv"),
        (["-F", "csv", "trace.dat"], "trace.csv"),
        (["-F", "csv"], "trace.csv"),
        (["csv", "-i", "trace.dat"], "trace.csv"),
        (["-o", "calls.csv"], "calls.csv"),
        (["trace.dat", "-o", "calls.csv"], "calls.csv"),
        (["csv", "-o", "calls.txt"], "calls.txt"),
    ],
)
def test_the_format_is_a_word_an_option_or_a_suffix(
    words: list[str], output: str, trace: Path, command: Callable[..., Any]
) -> None:
    ran = command("export", *words)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.splitlines()[-1].startswith(f"funcgraph: csv: {output} (")
    assert [row["function"] for row in csv_rows(Path(output))] == ["m.f"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["perfeto", "trace.dat"], "unknown format 'perfeto': must be one of"),
        (["perfeto"], "did you mean 'perfetto'?"),
        (["-F", "xml"], "unknown format 'xml'"),
        ([], "which format?"),
        (["trace.dat"], "which format?"),
        (["-o", "calls.xyz"], "calls.xyz: no format has this suffix"),
        (["csv", "a.fg", "b.fg"], "one trace at a time, got 'a.fg' and 'b.fg'"),
        (["csv", "missing.fg"], "missing.fg: No such file"),
        (["csv", "-o", "no/such/folder.csv"], "no/such/folder.csv: no folder"),
        (["csv", "-o", "trace.dat"], "trace.dat: is the output too"),
        (["csv", "--task", "nobody"], "no task 'nobody'"),
        (["csv", "-l", "nothing.*"], "nothing.*"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_writes_nothing(
    words: list[str], message: str, trace: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    ran = command("export", *words)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["trace.dat"]


def test_the_longest_suffix_wins() -> None:
    assert formats.format_of_file("a.json").name == "chrome"
    assert formats.format_of_file("a.speedscope.json").name == "speedscope"
    assert formats.format_of_file("a.json.gz").name == "firefox"


def test_each_format_has_a_suffix_of_its_own_and_a_section_in_the_document() -> None:
    """The section says what the format cannot hold, in the words of its message."""
    document = (Path(__file__).parent.parent.parent / "docs" / "reference" / "export.md").read_text()
    suffixes = [suffix for form in formats.all_formats() for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    words = " ".join(document.split())
    for form in formats.all_formats():
        assert f"`{form.name}`" in document, form.name
        assert form.suffixes[0] in document, form.name
        assert form.lacks in words, form.name


def test_minus_is_standard_output(trace: Path) -> None:
    words = [sys.executable, "-m", "funcgraph", "export", "csv", "-o", "-"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[1].startswith("m.f,")
    assert not Path("-").exists()


def test_a_reader_that_ends_early_is_no_error(trace: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "funcgraph", "export", "csv", "-o", "-"]
    ran = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert ran.returncode == 128 + signal.SIGPIPE
    assert "Traceback" not in ran.stderr


def broken(_source: source.Source, out: BinaryIO) -> None:
    out.write(b"half")
    out.flush()
    raise TraceError("damaged: for the test")


def test_an_export_that_fails_leaves_the_old_file(
    trace: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    form = format.Format("broken", (".broken",), "", "", broken)
    monkeypatch.setattr(formats, "all_formats", lambda: (form,))
    monkeypatch.setattr("funcgraph.commands.export.all_formats", formats.all_formats)
    (tmp_path / "old.broken").write_text("old")
    ran = command("export", "broken", "-o", "old.broken")
    assert ran.status == 2
    assert "damaged: for the test" in ran.err
    assert (tmp_path / "old.broken").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["old.broken", "trace.dat"]


def test_a_folder_without_nameless_files_is_written_too(
    trace: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """O_TMPFILE is not for every file system."""
    monkeypatch.setattr(os, "O_TMPFILE", os.O_RDWR | os.O_DIRECTORY)
    assert command("export", "csv").status == 0
    assert sorted(os.listdir(tmp_path)) == ["trace.csv", "trace.dat"]


def test_a_format_without_its_extra_says_what_to_install(
    trace: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    ran = command("export", "parquet")
    assert ran.status == 2
    assert "needs pyarrow: pip install 'funcgraph[arrow]'" in ran.err


def test_export_trace_writes_a_file_or_into_one(trace: Path, tmp_path: Path) -> None:
    notes = export_trace(trace, tmp_path / "calls.csv")
    assert notes == [formats.find_format("csv").lacks]
    out = io.BytesIO()
    export_trace(trace, out, "csv")
    assert out.getvalue() == (tmp_path / "calls.csv").read_bytes()
    with pytest.raises(format.ExportError, match="give the format"):
        export_trace(trace, io.BytesIO())
    assert formats.find_format("csv").is_text
