"""Traces of several machines as one, on one time line.

from funcgraph.merge import merge

merged = merge(["web1.fg", "web2.fg"], "all.fg")
for host in merged.hosts:
    print(host.name, host.source, host.error_ns)
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph.merge.clock_line import ClockLine
    from funcgraph.merge.join import Merged, MergedHost, MergeError, merge
    from funcgraph.merge.messages import Match
    from funcgraph.merge.stamps import Exchange, exchange, stamp

__all__ = [
    "ClockLine",
    "Exchange",
    "Match",
    "MergeError",
    "Merged",
    "MergedHost",
    "exchange",
    "merge",
    "stamp",
]

_LAZY = {
    "ClockLine": "clock_line",
    "Exchange": "stamps",
    "Match": "messages",
    "MergeError": "join",
    "Merged": "join",
    "MergedHost": "join",
    "exchange": "stamps",
    "merge": "join",
    "stamp": "stamps",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
