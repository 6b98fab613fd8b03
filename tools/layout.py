"""Where things lie, and what pyproject.toml says about what we depend on."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Everything that is built goes here; FG_BUILD and FG_VENVS move it, for two people who share one checkout.
BUILD = Path(os.environ.get("FG_BUILD") or ROOT / "build").resolve()
VENVS = Path(os.environ.get("FG_VENVS") or ROOT / ".venvs").resolve()
LOGS = BUILD / "logs"
#: Debian's newest suite, if it is there (tools/sid.py).
SID = Path(os.environ.get("FG_SID") or "/srv/sid").resolve()

#: `make nightly`: everything is run, however long it takes.
NIGHTLY = os.environ.get("FUNCGRAPH_NIGHTLY") == "1"

#: What may differ between two builds of the package.
BUILD_INPUTS = (
    "src",
    "docs/man",
    "tools/manual_pages.py",
    "CMakeLists.txt",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


def pyproject() -> dict[str, Any]:
    """Return the parsed pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def requirements(*groups: str) -> list[str]:
    """Return the requirements of the dependency groups `groups`, in order.

    "build" has the build system's, "run" what the package itself needs.
    """
    project = pyproject()
    named: dict[str, list[str]] = {
        "build": project["build-system"]["requires"],
        "run": project["project"]["dependencies"],
        **project["dependency-groups"],
    }
    return [requirement for group in groups for requirement in named[group]]


def files(*parts: str, suffixes: tuple[str, ...] = ()) -> list[Path]:
    """Return the files in and under `parts` (relative to the root) with one of `suffixes`, sorted.

    Caches (of Python, of tools) are left out. A part that does not exist has no files.
    """
    found: list[Path] = []
    for part in parts:
        path = ROOT / part
        found += [path] if path.is_file() else path.rglob("*")
    return sorted(file for file in found if _is_source(file) and (not suffixes or file.suffix in suffixes))


def _is_source(file: Path) -> bool:
    folders = file.relative_to(ROOT).parent.parts
    return file.is_file() and not any(name == "__pycache__" or name.startswith(".") for name in folders)
