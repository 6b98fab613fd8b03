"""For the same calls funcgraph's text is the kernel's, line by line.

The folder data has texts that a Linux kernel (7.2) printed. Each text is parsed into its calls. The
simulated arch repeats these calls, funcgraph's tracer records them (replay.c), and the trace is reported
with the same options. One task cannot replay several tasks on a CPU, nor losses: these are written into a
trace file instead.

A file of data begins with lines that start with `#:`

    from     the place in the kernel's own captures that the text is a piece of, if it is one
    report   the options of the report
    record   the settings of the instance (replay.c)
    written  the text is written into a trace file
    made     no capture has this text: its form is known from elsewhere
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled import link_engine
from ringfile import add_ring

from funcgraph._tracedata import Recorder
from funcgraph.tracedata import TraceFile, parse_options
from kernel_text.capture import Capture, Script, Switch, Written

pytestmark = pytest.mark.one_python

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHARED = ROOT.parent / "shared/kernel"
DATA = sorted((HERE / "data").glob("*.txt"))


@dataclass(frozen=True)
class Text:
    """A file of data: the settings of its first lines, and the kernel's text."""

    settings: dict[str, str]
    text: str

    @classmethod
    def read(cls, path: Path) -> Text:
        lines = path.read_text().splitlines(keepends=True)
        settings = [line[2:].split(maxsplit=1) for line in lines if line.startswith("#:")]
        words = {word: rest[0].strip() if rest else "" for word, *rest in settings}
        return cls(words, "".join(line for line in lines if not line.startswith("#:")))

    def report(self, trace: Path) -> str:
        return b"".join(TraceFile(trace).report(parse_options(self.settings["report"].split()))).decode()


@pytest.fixture(scope="session")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the engine with the simulated arch as a program that runs scripts."""
    sources = [ROOT / "tests/engine/support/sim_arch.c", HERE / "replay.c"]
    return link_engine(tmp_path_factory.mktemp("replay") / "replay", sources)


def task_of(capture: Capture) -> list[str]:
    """Return the name and number of the only task, if the text has them."""
    for _, event in capture.events:
        if isinstance(event, Switch):
            name, _, tid = event.task.rpartition("-")
            return [f"name={name}", f"tid={tid}"]
    return []


def replayed(replay: Path, text: Text, folder: Path) -> Path:
    """Return the trace that funcgraph records of the text's calls."""
    capture = Capture(text.text)
    options = text.settings["record"].split()
    depth = next((int(option[6:]) for option in options if option.startswith("depth=")), 0)
    script = str(Script(capture, depth))
    command = [str(replay), str(folder), *task_of(capture), *options]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + script
    recorder = Recorder(str(folder / "trace.part"))
    recorder.finish(add_ring(recorder, str(next(folder.glob("*.ring")))))
    recorder.assemble(str(folder / "trace.dat"), "{}")
    return folder / "trace.dat"


def in_lane_0(text: str) -> str:
    """Return the text as if the task had run on CPU 0, because the first task has lane 0."""
    return re.sub(r"(?m)^ \d+\) ", " 0) ", text)


@pytest.mark.parametrize("path", DATA, ids=[path.stem for path in DATA])
def test_the_text_is_the_kernels(path: Path, replay: Path, tmp_path: Path) -> None:
    text = Text.read(path)
    if "written" in text.settings:
        assert text.report(Written(Capture(text.text)).save(tmp_path / "trace.dat")) == text.text
    else:
        assert text.report(replayed(replay, text, tmp_path)) == in_lane_0(text.text)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the kernel's own captures are not here")
@pytest.mark.parametrize("path", DATA, ids=[path.stem for path in DATA])
def test_the_data_is_what_the_kernel_printed(path: Path) -> None:
    text = Text.read(path)
    if "from" in text.settings:
        lines = [line for line in text.text.splitlines(keepends=True) if not line.startswith("#")]
        assert "".join(lines) in (SHARED / text.settings["from"]).read_text()
