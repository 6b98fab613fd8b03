"""The options of a recording: their names, kinds and defaults, in one table.

The flags of `funcgraph record`, the keywords of `funcgraph.record()`, a session's config file and the
engine's keywords all come from it. Imported by every traced process, so it imports nothing.

A recording's settings are RECORDING's options and `instances`: for each instance its `name` ("": the top one)
and DEFAULTS' options.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DEFAULTS",
    "LIMITS",
    "PATTERN_OPTIONS",
    "RECORDING",
    "describe",
    "engine_keywords",
    "from_config",
    "to_config",
    "wanted_patterns",
]

# Name: default. The default's type is the option's kind; a tuple stands for any number of texts.

# The options that each instance has.
DEFAULTS: dict[str, str | int | bool | tuple[str, ...]] = {
    "tracer": "function_graph",
    "filter": (),
    "notrace": (),
    "graph": (),
    "max_graph_depth": 0,
    "thresh_us": 0,
    "args": False,
    "retval": False,
    "retaddr": False,
    "stack_trace": False,
    "no_repeats": False,
    "no_sleep_time": False,
    "no_irqs": False,
    "c_calls": False,
    "buffer_kb": 8192,
    "mode": "wait",
    "options": (),  # how the report shows it: names, with "no" in front: off
}

# The options of the whole recording.
RECORDING: dict[str, str | int | bool | tuple[str, ...]] = {"follow_fork": True, "clock": "mono"}

# The options whose values are filter patterns.
PATTERN_OPTIONS = ("filter", "notrace", "graph")

# Least and greatest value of the numbers; the engine refuses others.
LIMITS = {"max_graph_depth": (0, (1 << 18) - 1), "thresh_us": (0, 1 << 40), "buffer_kb": (32, 1 << 30)}

# Those of an instance that the engine has nothing to do with.
_DISPLAY_OPTIONS = ("options",)

# In a config file: the instances' names in their order; an option of the i-th is i.NAME.
_INSTANCES = "instances"


def engine_keywords(settings: "dict[str, Any]", instance: "dict[str, Any]") -> "dict[str, Any]":
    """Return the keywords of the engine's start() for one instance of a recording."""
    keywords = {name: value for name, value in instance.items() if name not in _DISPLAY_OPTIONS}
    keywords["instance"] = keywords.pop("name")
    keywords["follow_fork"] = settings["follow_fork"]
    return keywords


def wanted_patterns(settings: "dict[str, Any]") -> list[str]:
    """Return the patterns that functions had to match, of all instances; none if one had no such pattern."""
    wanted = [[*instance["filter"], *instance["graph"]] for instance in settings["instances"]]
    return [pattern for patterns in wanted for pattern in patterns] if all(wanted) else []


def describe(settings: "dict[str, Any]") -> "dict[str, Any]":
    """Return what a trace's own JSON says of how it was recorded: tracer and options of its first instance,
    and `instances`: name -> options."""
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
    """Return the settings in a config file's values; what is not there has its default.

    Raises:
        ValueError: a number that is none.
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
