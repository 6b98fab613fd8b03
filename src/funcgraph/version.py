"""The version of funcgraph that is installed."""

from __future__ import annotations

import os

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the version of the installed distribution. Reading its metadata takes some milliseconds."""
    from importlib.metadata import distributions, version

    # Beside this package: a process that was attached to has none of it on sys.path.
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for distribution in distributions(name="funcgraph", path=[beside]):
        return distribution.version
    return version("funcgraph")
