"""The version of funcgraph that is installed."""

from __future__ import annotations

__all__ = ["installed_version"]


def installed_version() -> str:
    """Return the version of the installed distribution. Reading its metadata takes some milliseconds."""
    from importlib.metadata import version

    return version("funcgraph")
