"""Runs the benchmark programs in turn, several rounds, and compares them within each round.

The machine's speed drifts. So variants run in turn (A B C A B C ...), each round gives its own ratio, and the
result is the median of the ratios.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import funcgraph

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


@dataclass(frozen=True)
class Figure:
    """One row of the table: name, measured value, target, and whether the value meets the target."""

    name: str
    measured: str
    target: str = ""
    good: bool | None = None


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float  # resident memory


def at_most(name: str, value: float, limit: float, unit: str = "", digits: int = 2) -> Figure:
    """Return the figure of a value that must not exceed `limit`."""
    return Figure(name, f"{value:.{digits}f}{unit}", f"≤ {limit:g}{unit}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "", digits: int = 1) -> Figure:
    """Return the figure of a value that must not be below `limit`."""
    return Figure(name, f"{value:.{digits}f}{unit}", f"≥ {limit:g}{unit}", value >= limit)


class Bench:
    """Runs programs on this Python, untraced or traced, in a folder of their own.

    Args:
        folder: working directory of the programs, for traces and other files.
        rounds: the number of rounds of each comparison.
        share: the part of long programs to run, 1 for all, for a quick look at all figures.
    """

    def __init__(self, folder: Path, rounds: int, share: float = 1) -> None:
        self.folder = folder
        self.rounds = rounds
        self.share = share
        self.trace = folder / "trace.fg"
        self.python = sys.executable
        self.funcgraph = [sys.executable, "-m", "funcgraph"]
        self.environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(folder)}

    def sized(self, count: int) -> int:
        """Return how many rounds or calls of a long program to run."""
        return max(1, int(count * self.share))

    def program(self, name: str, *words: object) -> list[str]:
        """Return the command line of a benchmark program, without the interpreter."""
        return [str(PROGRAMS / name), *map(str, words)]

    def plain(self, name: str, *words: object) -> list[str]:
        return [self.python, *self.program(name, *words)]

    def recorded(self, name: str, *words: object, options: Sequence[str] = ()) -> list[str]:
        return [*self.funcgraph, "record", "-q", "-o", str(self.trace), *options, *self.program(name, *words)]

    def viztracer(self, name: str, *words: object, options: Sequence[str] = ()) -> list[str]:
        output = str(self.folder / "viztracer.json")
        return [
            self.python, "-m", "viztracer", "--quiet", "--output_file", output, *options, "--",
            *self.program(name, *words),
        ]  # fmt: skip

    def cprofile(self, name: str, *words: object) -> list[str]:
        return [
            self.python,
            "-m",
            "cProfile",
            "-o",
            str(self.folder / "profile"),
            *self.program(name, *words),
        ]

    def run(self, command: Sequence[str], **settings: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder. Raise RuntimeError with its output if it fails."""
        result = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            **settings,
        )
        if result.returncode != 0:
            raise RuntimeError(
                f"status {result.returncode} from {' '.join(command)}\n{result.stdout}{result.stderr}"
            )
        return result

    def result(self, command: Sequence[str]) -> dict[str, Any]:
        """Run a command and return the last JSON object that it printed on a line."""
        lines = self.run(command).stdout.strip().splitlines()
        found: dict[str, Any] = json.loads(next(line for line in reversed(lines) if line.startswith("{")))
        return found

    def compare(self, variants: Mapping[str, Callable[[], float]]) -> list[dict[str, float]]:
        """Measure all variants in turn, `rounds` times; return a dictionary per round."""
        return [{name: measure() for name, measure in variants.items()} for _ in range(self.rounds)]

    def cost(self, command: Sequence[str], status: int = 0) -> Cost:
        """Return what a command and its children take, start-up included. Its output is discarded.

        Raises:
            RuntimeError: it ended with another status than this one.
        """
        start = time.perf_counter()
        with (self.folder / "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
            _, ended, used = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(ended)
            if process.returncode != status:
                errors.seek(0)
                text = errors.read().decode(errors="replace")
                raise RuntimeError(
                    f"status {process.returncode}, not {status}, from {' '.join(command)}\n{text}"
                )
        return Cost(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)

    def wall_s(self, command: Sequence[str]) -> float:
        """Return the seconds that a command takes, its start-up included. Its output is discarded."""
        return self.cost(command).wall_s

    def instructions(self, command: Sequence[str], *, traced_by: Sequence[str] = ()) -> int:
        """Return the number of instructions of a program. Raise FileNotFoundError without valgrind."""
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            raise FileNotFoundError("valgrind")
        callgrind = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        errors = self.run([*traced_by, *callgrind, *command]).stderr
        collected = next(line for line in errors.splitlines() if "Collected :" in line)
        return int(collected.rpartition(":")[2])

    def compile_extension(self, name: str) -> None:
        """Compile benchmarks/NAME/NAME.c into the folder, where every program can import it."""
        source = HERE / name / f"{name}.c"
        target = self.folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        includes = ["-I", sysconfig.get_paths()["include"], "-I", funcgraph.get_include()]
        compiler = os.environ.get("CC") or "cc"
        self.run([compiler, "-O3", "-fPIC", "-shared", *includes, str(source), "-o", str(target)])

    def compile_program(self, name: str) -> str:
        """Compile benchmarks/NAME/NAME.c with the code that reads traces; return the program's path."""
        source = HERE.parent / "src"
        rooms = (
            *("engine/base", "engine/core", "engine/ring"),
            *("tracedata/base", "tracedata/spool", "tracedata/read"),
        )
        sources = [str(path) for room in rooms for path in sorted((source / room).rglob("*.c"))]
        target = str(self.folder / name)
        # The options of CMakeLists.txt.
        options = ["-O3", "-flto", "-std=gnu11", "-fno-tree-slp-vectorize"]
        if platform.machine() in ("x86_64", "AMD64"):
            options.append("-mprfchw")
        compiler = os.environ.get("CC") or "cc"
        command = [compiler, *options, "-I", str(source), str(HERE / name / f"{name}.c"), *sources]
        self.run([*command, "-o", target, "-pthread", "-ldl"])
        return target


def median_of(rounds: Sequence[Mapping[str, float]], value: Callable[[Mapping[str, float]], float]) -> float:
    """Return the median of `value(round)` over all rounds."""
    return statistics.median(value(one) for one in rounds)


def ratio_of_pairs(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean ratio of the second to the first of a pair, and its standard error.

    It is the mean of the logarithms, without the lowest and the highest fifth: other work on the machine
    causes those. The error is Tukey and McLaughlin's (1963), from the winsorized variance.
    """
    logs = sorted(math.log(second / first) for first, second in pairs)
    cut = len(logs) // 5
    middle = logs[cut : len(logs) - cut]
    winsorized = [min(max(one, middle[0]), middle[-1]) for one in logs]
    ratio = math.exp(statistics.fmean(middle))
    share = len(middle) / len(logs)
    return ratio, ratio * statistics.stdev(winsorized) / (share * math.sqrt(len(logs)))
