"""Compiles small extension modules that use the C API, for the tests."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from compiled import link

import funcgraph

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
#: Name of a compiler -> its command, as C or as C++.
COMPILERS = {
    "gcc": ["gcc", "-std=c11", "-D_GNU_SOURCE"],
    "g++": ["g++", "-x", "c++", "-std=c++11"],
    "clang": ["clang", "-std=c11", "-D_GNU_SOURCE"],
    "clang++": ["clang++", "-x", "c++", "-std=c++11"],
}


def available() -> list[str]:
    """Return the names of the installed compilers."""
    return [name for name in COMPILERS if shutil.which(name)]


def compile_extension(
    folder: Path, name: str, sources: Sequence[Path], compiler: str = "gcc", include: str | None = None
) -> Path:
    """Compile and link the extension module `name` in `folder`; warnings are errors."""
    target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    includes = [include or funcgraph.get_include(), sysconfig.get_paths()["include"]]
    flags = ["-O1", "-fPIC", *WARNINGS, "-I", includes[0], "-isystem", includes[1]]
    return link(target, [*COMPILERS[compiler], *flags], sources, "-shared")


def compile_library(folder: Path, source: Path) -> Path:
    """Compile a C file as a shared library in `folder`, with gcc; warnings are errors."""
    target = folder / f"{source.stem}.so"
    return link(target, ["gcc", "-std=gnu11", "-O1", "-fPIC", *WARNINGS], [source], "-shared", "-ldl")


def load(path: Path, name: str) -> ModuleType:
    """Import the extension module at `path`, without adding it to sys.modules."""
    spec = importlib.util.spec_from_loader(name, importlib.machinery.ExtensionFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pip_install(source: Path, folder: Path) -> None:
    """Build the project at `source` against the installed funcgraph, and install it into `folder`."""
    binaries = os.path.dirname(sys.executable)  # cmake and ninja may come from PyPI
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    command += ["--no-build-isolation", "--no-deps", "--no-index", "--target", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
