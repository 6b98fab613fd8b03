"""The settings of a recording: their defaults, as the engine takes them, and as the config file holds them.

What settings there are is in funcgraph.settings.table. A recording's settings are a dict: those of
RECORDING, and `instances`, a list with a dict for each instance: its `name` ("": the top instance) and
the settings of DEFAULTS.

Every traced process imports this module, so it imports nothing but that table.
"""

from funcgraph.settings.table import INSTANCE, SETTINGS
from funcgraph.settings.table import RECORDING as WHOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DEFAULTS",
    "RECORDING",
    "describe",
    "engine_keywords",
    "from_config",
    "most_buffer_kb",
    "requested_patterns",
    "ring_bytes",
    "to_config",
]

# The settings of each instance and their defaults.
DEFAULTS: "dict[str, Any]" = {
    setting.name: setting.default for setting in SETTINGS if setting.scope == INSTANCE
}

# The settings of the whole recording and their defaults.
RECORDING: "dict[str, Any]" = {
    setting.name: setting.default for setting in SETTINGS if setting.scope == WHOLE
}

# The settings of an instance that the engine's start() does not take: how the report shows the trace, what
# the instance gets after its start, and what stands for patterns of other settings (native/under.py).
_NOT_AT_START = ("options", "events", "native_under", "native_objects")

# The config file's key for the names of the instances, in order. The setting NAME of instance i has the
# key i.NAME.
_INSTANCES = "instances"


def engine_keywords(settings: "dict[str, Any]", instance: "dict[str, Any]") -> "dict[str, Any]":
    """Return the keywords of the engine's start() for one instance of a recording."""
    keywords = {name: value for name, value in instance.items() if name not in _NOT_AT_START}
    keywords["instance"] = keywords.pop("name")
    keywords["follow_fork"] = settings["follow_fork"]
    return keywords


def ring_bytes(settings: "dict[str, Any]") -> int:
    """Return how many bytes the ring buffers of one process of a recording may have."""
    kib: int = sum(instance["buffer_kb"] for instance in settings["instances"])
    return 1024 * kib


def most_buffer_kb(settings: "dict[str, Any]") -> int:
    """Return the size of the largest ring buffer that a process of a recording may have, in KiB."""
    kib: int = max(instance["buffer_kb"] for instance in settings["instances"])
    return kib


def requested_patterns(settings: "dict[str, Any]") -> list[str]:
    """Return the patterns of all instances; an empty list if one instance records all functions."""
    selecting = ("filter", "graph", "native_under")
    of_instances = [
        [pattern for name in selecting for pattern in instance[name]] for instance in settings["instances"]
    ]
    return [pattern for patterns in of_instances for pattern in patterns] if all(of_instances) else []


def describe(settings: "dict[str, Any]") -> "dict[str, Any]":
    """Return the entries of a trace's JSON that say how it was recorded.

    These are tracer and options of the first instance, and `instances`: name -> options.
    """
    options = [
        {name: value for name, value in instance.items() if name != "name"}
        for instance in settings["instances"]
    ]
    names = [instance["name"] for instance in settings["instances"]]
    recording = {name: settings[name] for name in RECORDING}
    return {
        "tracer": options[0]["tracer"],
        "options": options[0] | recording,
        "instances": dict(zip(names, options, strict=True)),
    }


def to_config(settings: "dict[str, Any]") -> dict[str, list[str]]:
    """Return a recording's settings as the values of a config file."""
    values = {name: _texts(settings[name]) for name in RECORDING}
    values[_INSTANCES] = [instance["name"] for instance in settings["instances"]]
    for number, instance in enumerate(settings["instances"]):
        values |= {f"{number}.{name}": _texts(instance[name]) for name in DEFAULTS}
    return values


def from_config(values: dict[str, list[str]]) -> "dict[str, Any]":
    """Return the settings in a config file's values; a setting without a value has its default.

    Raises:
        ValueError: the value of a number is no number.
    """
    settings = {name: _value(values, name, default) for name, default in RECORDING.items()}
    settings[_INSTANCES] = [
        {"name": instance}
        | {name: _value(values, f"{number}.{name}", default) for name, default in DEFAULTS.items()}
        for number, instance in enumerate(values.get(_INSTANCES, [""]))
    ]
    return settings


def _texts(value: "Any") -> list[str]:
    return list(value) if isinstance(value, (tuple, list)) else [str(value)]


def _value(values: dict[str, list[str]], key: str, default: str | int | bool | tuple[str, ...]) -> "Any":
    texts = values.get(key)
    if isinstance(default, tuple):
        return texts or []
    if texts is None:
        return default
    if isinstance(default, bool):
        return texts[-1] == "True"
    return type(default)(texts[-1])
