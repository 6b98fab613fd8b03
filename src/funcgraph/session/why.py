"""The option `why` of a recording: all that `funcgraph why` needs, as settings of instances."""

from __future__ import annotations

from typing import Any

from funcgraph.session.options import DEFAULTS

__all__ = ["WHY_INSTANCES", "add_why"]

_EVENTS = ("py/gc_start", "py/gc_done")
# Instances of their own, as a tracer records either calls or waits. Each wait of a microsecond counts.
_WAITS = {"why-gil": "gilwait", "why-ready": "wakeup"}
WHY_INSTANCES = tuple(_WAITS)


def add_why(settings: dict[str, Any]) -> None:
    """Have the first instance of a recording record what calls spend their time on, if `why` is set.

    Args:
        settings: those of the recording (options.py), which change.
    """
    if not settings["why"]:
        return
    instances: list[dict[str, Any]] = settings["instances"]
    first = instances[0]
    if not first["c_calls"]:  # with --c-calls all of them are recorded
        first["c_calls"] = first["no_brief"] = True
    first["events"] = [*first["events"], *(event for event in _EVENTS if event not in first["events"])]
    names = [instance["name"] for instance in instances]
    for name, tracer in _WAITS.items():
        if name not in names:
            own = {key: list(value) if isinstance(value, tuple) else value for key, value in DEFAULTS.items()}
            waits = {"name": name, "tracer": tracer, "thresh_us": 1, "mode": first["mode"], "buffer_kb": 1024}
            instances.append(own | waits)
