"""The example fprobe_example prints entries, returns and backtraces of any function of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "fprobe_example" / "fprobe_example.py"

PROGRAM = """
import time

class Place:
    def find(self, name, *more, deep=False):
        if not more:
            raise LookupError(name)
        time.sleep(0)
        return len(more)

def use(place):
    try:
        place.find("a", deep=True)
    except LookupError:
        return place.find("b", 1, 2)

print(use(Place()))
"""


def run(folder: Path, *words: str) -> list[str]:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-B", str(EXAMPLE), *words, str(script)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    return done.stderr.replace(str(script), "program.py").splitlines()


def test_entries_and_returns(tmp_path: Path) -> None:
    assert run(tmp_path, "__main__.*find") == [
        "Enter __main__.Place.find(self=<Place>, name='a', deep=True, more=<tuple>) from program.py:13",
        "Return from __main__.Place.find, raised <LookupError> to program.py:13",
        "Enter __main__.Place.find(self=<Place>, name='b', deep=False, more=<tuple>) from program.py:15",
        "Return from __main__.Place.find, result 2 to program.py:15",
        "0 missed, 0 errors",
    ]


def test_c_functions_and_exceptions_to_the_pattern(tmp_path: Path) -> None:
    lines = run(tmp_path, "--not", "*.find", "time.sleep")
    assert lines[0] == "Enter time.sleep() from program.py:8"
    assert lines[1].startswith("Return from time.sleep, result")
    assert lines[2:] == ["0 missed, 0 errors"]


def test_backtraces(tmp_path: Path) -> None:
    lines = run(tmp_path, "--backtrace", "__main__.Place.find")
    callers = [line.split(", in ")[1] for line in lines if line.startswith("  File")]
    assert callers[-3:] == ["<module>", "use", "find"]
