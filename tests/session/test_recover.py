"""`funcgraph recover` joins only what belongs together, replaces no other trace, removes nothing given."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Funcgraph

pytestmark = pytest.mark.one_python

# Calls before the first line of input are drained when it comes; those after it stay in the ring buffer.
PROGRAM = """
import sys
def {name}(): pass
for _ in range({count}): {name}()
print("ready", flush=True)
input()
"""


def killed(fg: Funcgraph, name: str, count: int, *flags: str) -> Path:
    """Record a program, kill the recorder, and let the program end; return the session's directory."""
    before = set(fg.sessions())
    script = fg.script(PROGRAM.format(name=name, count=count), f"{name}.py")
    process = fg.start("record", "-q", "-o", fg.trace, "-l", f"*.{name}", *flags, script)
    assert process.stdout is not None
    process.stdout.readline()
    (session,) = set(fg.sessions()) - before
    process.kill()
    process.wait(timeout=30)
    process.communicate("\n", timeout=30)
    return session


@pytest.fixture
def two(fg: Funcgraph) -> tuple[Path, Path]:
    """Return two sessions that had one output, of which the first one's spool was deleted."""
    first = killed(fg, "first", 100)
    Path(f"{fg.trace}.part").unlink()
    return first, killed(fg, "second", 200)


def calls(fg: Funcgraph) -> dict[str, dict[str, int]]:
    """Return the calls in each trace of the folder."""
    return {path.name: dict(fg.calls(path)) for path in sorted(fg.folder.glob("*.fg*"))}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_recordings_of_one_name_are_two_traces(
    fg: Funcgraph, two: tuple[Path, Path], order: tuple[int, int]
) -> None:
    for index in order:
        done = fg.run("recover", two[index])
        assert done.returncode == 0, done.stderr
    assert sorted(calls(fg).values(), key=str) == [{"__main__.first": 100}, {"__main__.second": 200}]
    assert sorted(calls(fg)) == ["trace.fg", "trace.recovered.fg"]
    assert fg.sessions() == []


def test_a_spool_is_of_the_session_that_it_names(fg: Funcgraph, two: tuple[Path, Path]) -> None:
    first, second = two
    done = fg.run("recover", f"{fg.trace}.part")
    assert done.returncode == 2
    assert f"belongs to the session {second}; recover that instead" in done.stderr
    assert str(first) not in done.stderr


def test_the_spool_of_a_lost_session_does_not_go_to_another(fg: Funcgraph, two: tuple[Path, Path]) -> None:
    shutil.rmtree(two[1])
    done = fg.run("recover", two[0])
    assert done.returncode == 0, done.stderr
    assert f"{fg.trace}.part: of another recording; left as it is" in done.stderr
    assert calls(fg) == {"trace.fg": {"__main__.first": 100}, "trace.fg.part": {}}
    assert Path(f"{fg.trace}.part").exists()


def test_cleaning_one_session_leaves_the_spool_of_another(fg: Funcgraph) -> None:
    killed(fg, "first", 0)
    part = Path(f"{fg.trace}.part")
    part.unlink()
    second = killed(fg, "second", 200)
    (first,) = set(fg.sessions()) - {second}
    lines = fg.run("status", "--clean", env=fg.env | {"TMPDIR": str(fg.folder)}).stdout.splitlines()
    assert f"{first}: removed: nothing was recorded" in lines
    assert second.exists() and part.exists()


@pytest.mark.parametrize("given", [False, True])
def test_a_trace_that_is_there_is_not_replaced(fg: Funcgraph, given: bool) -> None:
    fg.trace.write_text("an older trace")
    session = killed(fg, "step", 100)
    done = fg.run("recover", session, *(("-o", fg.trace) if given else ()))
    assert fg.trace.read_text() == "an older trace"
    if given:
        assert (done.returncode, done.stderr) == (
            2,
            f"funcgraph: {fg.trace}: is there already, and is not replaced\n",
        )
        done = fg.run("recover", session, "-o", "other.fg")
    assert done.returncode == 0, done.stderr
    name = "other.fg" if given else "trace.recovered.fg"
    assert fg.calls(fg.folder / name) == {"__main__.step": 100}


GIVEN = {
    "a spool": lambda data: data,
    "a complete trace": lambda data: data,
    "its first bytes": lambda data: data[:200],
    "an empty file": lambda data: b"",
    "a header": lambda data: data[:16],
    "part of a header": lambda data: data[:9],
    "a text": lambda data: b"precious\n" * 100,
    "a short text": lambda data: b"precious",
}


@pytest.mark.parametrize("what", GIVEN)
@pytest.mark.parametrize("suffix", [".part", ".fg"])
def test_what_was_given_stays_as_it_was(fg: Funcgraph, what: str, suffix: str) -> None:
    if what == "a complete trace":
        script = fg.script("def step(): pass\nfor _ in range(100): step()\n")
        assert fg.record("-q", "-l", "*.step", script).returncode == 0
        data = fg.trace.read_bytes()
    else:
        shutil.rmtree(killed(fg, "step", 20_000))
        data = Path(f"{fg.trace}.part").read_bytes()
    given = fg.folder / f"given{suffix}"
    given.write_bytes(GIVEN[what](data))
    before = given.read_bytes()
    done = fg.run("recover", given, "-o", "made.fg")
    assert given.read_bytes() == before
    made = fg.folder / "made.fg"
    assert made.exists() == (done.returncode == 0) == (what in ("a spool", "a complete trace")), done.stderr
    assert [path.name for path in fg.folder.glob("made*")] == (["made.fg"] if made.exists() else [])


@pytest.mark.parametrize("what", ["its first bytes", "an empty file", "a short text", "a text"])
def test_a_part_with_nothing_in_it_stays(fg: Funcgraph, what: str) -> None:
    shutil.rmtree(killed(fg, "step", 20_000))
    part = Path(f"{fg.trace}.part")
    part.write_bytes(GIVEN[what](part.read_bytes()))
    before = part.read_bytes()
    done = fg.run("recover", part)
    assert (done.returncode, part.read_bytes()) == (2, before)
