"""Where a recording is made, and what time it is there: what brings traces of several hosts together."""

from __future__ import annotations

import os
from typing import Any

from funcgraph import _tracedata

__all__ = ["HostFacts"]

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_TIME_NAMESPACE = "/proc/self/ns/time"


class HostFacts:
    """The entry `host` of a trace's JSON: `name`, `boot_id`, and `clocks`, the instants that are known.

    An instant is CLOCK_MONOTONIC, CLOCK_REALTIME and how far that may be off (None: not known), in ns. The
    first one is read here, the last one by each facts(). So the rates of two hosts' clocks can be compared.
    Processes with one boot_id have one CLOCK_MONOTONIC: it is the kernel's (random(4)) and that of the time
    namespace (time_namespaces(7)).
    """

    def __init__(self) -> None:
        self._first = _tracedata.real_time()
        self._name = os.uname().nodename
        self._boot_id = _boot_id()

    def facts(self) -> dict[str, Any]:
        """Return the entry, as it is now."""
        clocks = [list(self._first), list(_tracedata.real_time())]
        return {"host": {"name": self._name, "boot_id": self._boot_id, "clocks": clocks}}


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        return ""
    try:
        return f"{boot} {os.readlink(_TIME_NAMESPACE)}"
    except OSError:  # Linux before 5.6 has none
        return boot
