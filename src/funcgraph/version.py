"""The version of funcgraph that is installed, and what it was built from."""

from __future__ import annotations

import os
import re
from contextlib import suppress

__all__ = ["installed_commit", "installed_extras", "installed_version"]


def installed_version() -> str:
    """Return the version of the installed distribution."""
    # Beside this package: a process that was attached to has none of it on sys.path. importlib.metadata would
    # import the parser of e-mails, forty milliseconds on a slow machine.
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in os.listdir(beside):
        if name.startswith("funcgraph-") and name.endswith(".dist-info"):
            with suppress(OSError, LookupError):
                return _version_in(os.path.join(beside, name, "METADATA"))
    from importlib.metadata import version

    return version("funcgraph")


def installed_commit() -> str:
    """Return the commit of which the installed package was built; "" if it was no checkout."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "commit.txt")
    with suppress(OSError), open(path, encoding="utf-8") as file:
        commit = file.read().strip()
        # Our own environments: their sources change between two commits.
        return "" if commit == "unknown" else commit
    return ""


def installed_extras() -> dict[str, str]:
    """Return the versions of the packages that an extra asks for, as far as they are installed, by name."""
    from importlib.metadata import PackageNotFoundError, requires, version

    found = {}
    for requirement in requires("funcgraph") or ():
        needed, _, condition = requirement.partition(";")
        if "extra ==" in condition:
            name = re.split(r"[^\w.-]", needed, maxsplit=1)[0]
            with suppress(PackageNotFoundError):
                found[name] = version(name)
    return dict(sorted(found.items()))


def _version_in(path: str) -> str:
    """Return the version that a file METADATA has. Raises LookupError: none."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "Version":
                return value.strip()
    raise LookupError(path)
