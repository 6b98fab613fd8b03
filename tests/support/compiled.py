"""Compiles what tests need. With CMAKE_C_COMPILER_LAUNCHER=ccache, as in CI, nothing is compiled twice.

ccache keeps objects, not what they are linked to: each source becomes an object first.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import native

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "").split()
CC = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-O1", "-fPIC", f"-I{ROOT / 'src'}"]


def link(target: Path, compiler: Sequence[str], sources: Sequence[Path], *flags: str | Path) -> Path:
    """Compile C files with the words `compiler`, and link them to `target` with the linker's `flags`."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        objects = [Path(folder, f"{source.stem}.o") for source in sources]
        for source, file in zip(sources, objects, strict=True):
            _run([*LAUNCHER, *compiler, "-c", source, "-o", file])
        _run([compiler[0], *objects, "-o", target, *flags])
    return target


def link_engine(target: Path, sources: Sequence[Path], *flags: str) -> Path:
    """Link C files, which may include what supports the engine's C tests, with the engine of these tests."""
    engine = native.built("fg_engine") / "libfg_engine.a"
    return link(target, [*CC, f"-I{ROOT / 'tests/engine'}"], sources, *flags, engine, "-pthread", "-lm")


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
