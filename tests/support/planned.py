"""Objects for the planner: small ones from assembly or C, and those that this Python runs on."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import textwrap
from pathlib import Path

import pytest

from funcgraph.native.elf import Elf
from funcgraph.native.errors import PLANNER
from funcgraph.native.plan_file import Plan, PlanEntry
from funcgraph.native.planner import make_plan


def _has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


_IS_X86_64 = os.uname().machine == "x86_64"
_HAS_DECODER = _IS_X86_64 and _has("iced_x86") and _has("pydemumble")
#: Marks tests that plan themselves.
needs_decoder = pytest.mark.skipif(not _HAS_DECODER, reason="plans are made with iced-x86, which is not here")
#: Marks tests of programs whose functions are planned, if need be by another Python.
needs_plans = pytest.mark.skipif(
    not (_HAS_DECODER or (_IS_X86_64 and PLANNER in os.environ)),
    reason=f"plans are made with iced-x86, which is not here, and {PLANNER} names no other Python",
)
SUFFIXES = {"assembler": ".s", "c": ".c", "c++": ".cc"}


def build(folder: Path, source: str, *flags: str, language: str = "assembler", name: str = "libx.so") -> Path:
    """Compile a shared library, without a library of its own; return its path.

    Args:
        source: the text. In assembly `.fn NAME` begins a global function, `.endfn NAME` ends it.
        language: assembler, c or c++.
    """
    compiler = "g++" if language == "c++" else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    text = textwrap.dedent(source)
    if language == "assembler":
        text = f'{_MACROS}\n{text}\n.section .note.GNU-stack,""\n'
    path = folder / f"{name}{SUFFIXES[language]}"
    path.write_text(text)
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-O2",
        "-Wl,-Bsymbolic",
        *flags,
        "-o",
        str(folder / name),
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / name


_MACROS = """
.macro fn name
    .text
    .globl \\name
    .type \\name, @function
    .p2align 4
    \\name: .cfi_startproc
.endm
.macro endfn name
    .cfi_endproc
    .size \\name, . - \\name
.endm
"""


def elf_at(path: str | os.PathLike[str]) -> Elf:
    """Return an object; its descriptor stays open as long as the process."""
    return Elf(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def entries_of(path: str | os.PathLike[str]) -> list[PlanEntry]:
    """Plan an object; return its functions."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        elf = Elf(fd)
        return list(Plan(make_plan(elf), elf.build_id).entries())
    finally:
        os.close(fd)


def plan_of(path: str | os.PathLike[str]) -> dict[str, PlanEntry]:
    """Plan an object; return its functions by each of their names."""
    return {name: entry for entry in entries_of(path) for name in entry.names}


def loaded_object(pattern: str) -> Path:
    """Return the path of a library that this process has loaded; skips the test if it has none."""
    sqlite3.sqlite_version  # loaded by its import
    maps = Path("/proc/self/maps").read_text()
    found = re.search(rf" (/\S*/{pattern})$", maps, re.MULTILINE)
    if found is None:
        pytest.skip(f"this process has no {pattern}")
    return Path(found[1])
