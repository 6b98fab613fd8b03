"""`--file-version` and `--compression`: which trace.dat a recording, a conversion and a recovery write."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph._tracedata import CODECS, codec_names
from funcgraph.session.check import OptionError

pytestmark = pytest.mark.one_python

MAGIC = b"\x17\x08\x44tracing"

STEPS = """
import os, time

def step():
    pass

def main():
    for _ in range(100):
        step()
    open("ready", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)

main()
"""

# The options, and what the file then says that it is; None: no compression.
FORMATS = {
    "default": ([], "7", codec_names()[0]),
    "6": (["--file-version", "6"], "6", None),
    "6 none": (["--file-version", "6", "--compression", "none"], "6", None),
    "7": (["--file-version", "7"], "7", codec_names()[0]),
    **{name: (["--compression", name], "7", name) for name in codec_names()},
}


def format_of(path: Path) -> tuple[str, str | None]:
    """Return a trace.dat's version and the name of its compression."""
    head = path.read_bytes()[:64]
    assert head.startswith(MAGIC)
    version, _, rest = head[len(MAGIC) :].partition(b"\0")
    if version == b"6":
        return "6", None
    return version.decode(), rest[6:].partition(b"\0")[0].decode()  # after byte order, word and page size


@pytest.mark.parametrize("name", FORMATS)
def test_record_and_convert_write_what_they_were_told(fg: Funcgraph, name: str) -> None:
    options, version, compression = FORMATS[name]
    script = fg.script("def f(): pass\nfor _ in range(50): f()\n")
    recorded, converted = fg.folder / "x.dat", fg.folder / "y.dat"
    assert fg.record("-o", recorded, *options, script).returncode == 0
    assert format_of(recorded) == (version, compression)
    assert fg.calls(recorded)["__main__.f"] == 50
    assert fg.record(script).returncode == 0
    assert fg.run("convert", *options, fg.trace, converted).returncode == 0
    assert format_of(converted) == (version, compression)
    assert fg.calls(converted) == fg.calls(fg.trace)


WRONG = [
    (["--file-version", "5"], "--file-version 5: must be a whole number from 6 to 7"),
    (["--file-version", "six"], "argument --file-version: invalid int value: 'six'"),
    (["--compression", "lz4"], f"--compression lz4: must be one of {', '.join(CODECS)}"),
    (["--file-version", "6", "--compression", "zlib"], "--compression zlib: version 6 has no compression"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_format_is_one_clear_error(fg: Funcgraph, words: list[str], message: str) -> None:
    for command in (["record", "-o", "x.dat", *words, "-c", "print('ran')"], ["convert", *words, "x.fg"]):
        result = fg.run(*command)
        assert (result.returncode, result.stdout) == (2, "")
        assert message in result.stderr
    assert os.listdir(fg.folder) == [] and fg.sessions() == []


@pytest.mark.parametrize("words", [["--file-version", "7"], ["--compression", "none"]])
@pytest.mark.parametrize("output", [[], ["-o", "x.fg"], ["-o", "dat"]])
def test_a_fg_has_no_such_format(fg: Funcgraph, words: list[str], output: list[str]) -> None:
    result = fg.record(*words, *output, "-c", "print('ran')")
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    name = output[-1] if output else "trace.fg"
    reason = f"only for a trace.dat, and '{name}' is to be a .fg: must be given with a NAME.dat"
    assert line == f"funcgraph: {' '.join(words)}: {reason}"
    assert os.listdir(fg.folder) == []


def step() -> None:
    pass


def test_the_keywords_of_a_block_are_checked_as_the_options(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    with funcgraph.record(path, file_version=6):
        step()
    assert format_of(path) == ("6", None)
    with funcgraph.record(path, compression="none"):
        step()
    assert format_of(path) == ("7", "none")
    with pytest.raises(OptionError, match="from 6 to 7"):
        funcgraph.record(path, file_version=8)
    with pytest.raises(OptionError, match="must be one of"):
        funcgraph.record(path, compression="lz4")
    with pytest.raises(OptionError, match=r"NAME\.dat"):
        funcgraph.record(tmp_path / "x.fg", file_version=6)


def _knows_step(fg: Funcgraph, options: Sequence[str]) -> bool:
    """Return whether the recorder knows the function; it takes events of full buffers only."""
    name = options[options.index("-o") + 1] if "-o" in options else fg.trace.name
    try:
        with funcgraph.open(fg.folder / f"{name}.part") as trace:
            return any(function.name == "__main__.step" for function in trace.functions)
    except (OSError, funcgraph.TraceError):
        return False


def killed(fg: Funcgraph, *options: str) -> Path:
    """Kill the recorder of a program that has made its calls; return the session's directory."""
    process = fg.start("record", "-l", "__main__.step", *options, fg.script(STEPS))
    deadline = time.monotonic() + 30
    while not (fg.folder / "ready").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    while not _knows_step(fg, options):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.kill()
    (fg.folder / "go").touch()
    process.communicate(timeout=30)
    (session,) = fg.sessions()
    return session


@pytest.mark.parametrize("has_session", [True, False], ids=["session", "part"])
def test_recover_makes_the_trace_dat_that_was_asked_for(fg: Funcgraph, has_session: bool) -> None:
    """Fails if a recovery does not read the session's config, or the spool's description."""
    session = killed(fg, "-o", "x.dat", "--file-version", "6")
    trace = fg.folder / "x.dat"
    if not has_session:
        # The rings are in it; a spool whose session is gone has what was drained.
        shutil.rmtree(session)
    result = fg.run("recover", session if has_session else f"{trace}.part")
    assert result.returncode == 0, result.stderr
    assert format_of(trace) == ("6", None)
    if has_session:
        assert fg.calls(trace)["__main__.step"] == 100


def test_recover_into_another_kind_of_file(fg: Funcgraph) -> None:
    """A .fg of a recording that was to be a trace.dat, and the other way round."""
    session = killed(fg, "-o", "x.dat", "--file-version", "6")
    assert fg.run("recover", "-o", "y.fg", session).returncode == 0
    assert fg.calls("y.fg")["__main__.step"] == 100
    os.unlink(fg.folder / "ready")
    os.unlink(fg.folder / "go")
    session = killed(fg)
    assert fg.run("recover", "-o", "y.dat", session).returncode == 0
    assert format_of(fg.folder / "y.dat") == ("7", codec_names()[0])


def without_zstd(fg: Funcgraph) -> dict[str, str]:
    """Return an environment in which neither the system nor Python has zstd."""
    hidden = fg.folder / "hidden"
    (hidden / "backports").mkdir(parents=True)
    (hidden / "backports" / "__init__.py").write_text("raise ImportError\n")
    (hidden / "libzstd.so.1").touch()
    environ = {**fg.env, "LD_LIBRARY_PATH": str(hidden), "PYTHONPATH": str(hidden)}
    code = "from funcgraph.tracedata.codecs import *; provide(); from funcgraph._tracedata import *; "
    names = fg.plain(*fg.command[:1], "-c", code + "print(codec_names())", env=environ)
    if names.returncode or "zstd" in names.stdout:
        pytest.skip("this Python has its own zstd, or does not start without the library")
    return environ


def test_a_compression_that_is_not_there_is_refused_before_the_command_runs(fg: Funcgraph) -> None:
    """Fails if a recording ends in this error."""
    environ = without_zstd(fg)
    words = ("-o", "x.dat", "--compression", "zstd", "-c", "print('ran')")
    result = fg.record(*words, env=environ)
    assert (result.returncode, result.stdout) == (2, "")
    assert "x.dat: this system has no zstd; it has zlib, none" in result.stderr
    assert sorted(os.listdir(fg.folder)) == ["hidden"] and fg.sessions() == []
    result = fg.record("--or-untraced", *words, env=environ)
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert "this system has no zstd; it has zlib, none; the program runs untraced" in result.stderr


def test_what_cannot_be_compressed_is_not_recovered_and_nothing_is_removed(fg: Funcgraph) -> None:
    if "zstd" not in codec_names():
        pytest.skip("no zstd")
    session = killed(fg, "-o", "x.dat", "--compression", "zstd")
    environ = without_zstd(fg)
    result = fg.run("recover", session, env=environ)
    assert result.returncode == 2 and "zstd" in result.stderr
    assert fg.sessions() == [session] and (fg.folder / "x.dat.part").exists()
    assert fg.run("recover", session).returncode == 0
    assert fg.calls("x.dat")["__main__.step"] == 100
