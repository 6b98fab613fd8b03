"""The options of an instance: the kernel's names, whose each of them is, and what is set at first.

What a report can show is said by the table FG_REPORT_OPTIONS (report_style.h), what a tracer can record
besides by FG_INSTANCE_FLAGS (instance.h). An option may be of both: `funcgraph-args` records arguments, and shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from errno import EINVAL
from typing import TYPE_CHECKING, Any

from funcgraph import _engine

if TYPE_CHECKING:
    from funcgraph.instance.instance import Instance

# The kernel's: those that are on before anybody says anything.
_INITIALLY_ON = frozenset(
    {
        "overwrite",
        "funcgraph-cpu",
        "funcgraph-overhead",
        "funcgraph-duration",
        "funcgraph-irqs",
        "sleep-time",
        "graph-time",
    }
)
_OF_FUNCTION_GRAPH = frozenset({"sleep-time", "graph-time"})
# Not both, as in the kernel: calls that are counted together have arguments of their own.
EXCLUSIVE = ("func-args", "func-no-repeats")


def option_names() -> list[str]:
    """Return the names of all options."""
    from funcgraph import _tracedata

    shown = [row[0] for row in _tracedata.REPORT_OPTIONS]
    return list(dict.fromkeys(["overwrite", "display-graph", *shown, *_engine.INSTANCE_FLAGS, "graph-time"]))


def tracer_of(option: str) -> str:
    """Return the tracer whose option it is; "" if it is one of the buffer's, which all have."""
    if option.startswith("funcgraph-") or option in _OF_FUNCTION_GRAPH:
        return "function_graph"
    return "function" if option.startswith(("func-", "func_")) else ""


def initial_options() -> dict[str, bool]:
    """Return all options as they are in a new instance."""
    return {name: name in _INITIALLY_ON for name in option_names()}


def not_allowed(what: str, value: object, allowed: Iterable[str]) -> OSError:
    """Return the error for a value that is none of those allowed, which it names."""
    return OSError(EINVAL, f"{what}: {value!r} is not allowed; there are: {', '.join(allowed)}")


def parse_words(what: str, words: str | Iterable[str], names: Iterable[str]) -> dict[str, bool]:
    """Return what words like `funcgraph-args` and `nofuncgraph-cpu` say: name -> on or off.

    Raises:
        OSError: EINVAL: a word that is no option of `names`.
    """
    known = list(names)
    chosen = {}
    for word in words.replace(",", " ").split() if isinstance(words, str) else words:
        if word in known:
            chosen[word] = True
        elif word.startswith("no") and word[2:] in known:
            chosen[word[2:]] = False
        else:
            raise not_allowed(what, word, known)
    return chosen


class Options(MutableMapping[str, bool]):
    """All options of an instance: name -> on or off, as the files of the kernel's `options` folder.

        i.options["funcgraph-args"] = True

    Raises:
        OSError: EINVAL: there is no such option; the text names those that there are.
    """

    def __init__(self, instance: Instance, values: dict[str, bool]) -> None:
        self._instance = instance
        self._values = values

    def __getitem__(self, name: str) -> bool:
        try:
            return self._values[name]
        except KeyError:
            raise not_allowed("options", name, self._values) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __setitem__(self, name: str, value: bool) -> None:
        self[name]  # it is there
        if value not in (0, 1):
            raise not_allowed(f"options: {name}", value, ("0", "1"))
        self._instance._set_options({name: bool(value)})

    def __delitem__(self, name: str) -> None:
        raise TypeError("an option cannot be deleted; it can be set to False")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<options {' '.join(option_words(self._values))}>"


def option_words(values: Mapping[str, Any]) -> list[str]:
    """Return options as the kernel's `trace_options` has them: with `no` before what is off."""
    return [name if on else f"no{name}" for name, on in values.items()]
