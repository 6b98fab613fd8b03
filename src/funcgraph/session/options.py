"""The options of a recording: their names, kinds and defaults, in one table.

The flags of `funcgraph record`, the keywords of `funcgraph.record()`, a session's config file and the
engine's keywords all come from it. Imported by every traced process, so it imports nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DEFAULTS", "LIMITS", "PATTERN_OPTIONS", "from_config", "to_config"]

# Name: default. The default's type is the option's kind; a tuple stands for any number of texts.
DEFAULTS: dict[str, str | int | bool | tuple[str, ...]] = {
    "tracer": "function_graph",
    "filter": (),
    "notrace": (),
    "graph": (),
    "max_graph_depth": 0,
    "thresh_us": 0,
    "args": False,
    "retval": False,
    "c_calls": False,
    "buffer_kb": 8192,
    "mode": "wait",
    "follow_fork": True,
}

# The options whose values are filter patterns.
PATTERN_OPTIONS = ("filter", "notrace", "graph")

# Least and greatest value of the numbers; the engine refuses others.
LIMITS = {"max_graph_depth": (0, (1 << 19) - 1), "thresh_us": (0, 1 << 40), "buffer_kb": (32, 1 << 30)}


def to_config(options: "dict[str, Any]") -> dict[str, list[str]]:
    """Return `options` (any subset of DEFAULTS) as the values of a config file."""
    return {
        name: list(value) if isinstance(DEFAULTS[name], tuple) else [str(value)]
        for name, value in options.items()
    }


def from_config(values: dict[str, list[str]]) -> "dict[str, Any]":
    """Return the options among a config file's values, each of its kind: keywords for the engine's start().

    Raises:
        ValueError: a number that is none.
    """
    options: dict[str, Any] = {}
    for name, default in DEFAULTS.items():
        if name not in values:
            continue
        texts = values[name]
        if isinstance(default, tuple):
            options[name] = texts
        elif isinstance(default, bool):
            options[name] = texts[-1] == "True"
        else:
            options[name] = type(default)(texts[-1])
    return options
