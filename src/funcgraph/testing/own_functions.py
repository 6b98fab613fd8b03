"""The functions of a project: those of the packages in its folder, and of the modules loaded from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

#: Folders of a project that packages are in, from its root.
_SOURCES = (".", "src", "lib")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def own_functions(root: Path, modules: Mapping[str, ModuleType]) -> list[str]:
    """Return patterns of the functions of a project.

    A package counts wherever it is imported from: an installed copy, too. What is installed below the root,
    as in a virtual environment, is not the project's.

    Args:
        root: the project's folder.
        modules: those that are loaded.
    """
    names = {name for source in _SOURCES for name in _packages(root / source)}
    names.update(name.partition(".")[0] for name in _loaded_from(root, modules))
    return sorted(f"{name}.*" for name in names if name.isidentifier())


def _packages(folder: Path) -> Iterable[str]:
    """Yield the names of the packages and modules in a folder."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        name, end = os.path.splitext(entry.name)
        if (end == ".py" and name != "setup") or os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield name


def _loaded_from(root: Path, modules: Mapping[str, ModuleType]) -> Iterable[str]:
    prefix = os.path.join(root, "")
    for name, module in list(modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(prefix) and not _is_installed(file[len(prefix) :]):
            yield name


def _is_installed(path: str) -> bool:
    return not _INSTALLED.isdisjoint(path.split(os.sep))
