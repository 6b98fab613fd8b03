"""The trace options of an instance: the kernel's folder `options` and its file `trace_options`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from errno import EINVAL

from funcgraph.instance import forks
from funcgraph.instance.state import State
from funcgraph.instance.tracers import apply_options, restart_latency
from funcgraph.settings import check
from funcgraph.settings.table import EXCLUSIVE, OPTIONS

__all__ = ["Options", "current_options", "option_words", "parse_words", "set_options"]


def set_options(state: State, chosen: Mapping[str, bool]) -> None:
    """Change the options in `chosen`, which exist.

    Raises:
        OSError: EINVAL: two options that cannot be on together.
    """
    with state.lock:
        if all({**state.options, **chosen}[option] for option in EXCLUSIVE):
            raise OSError(EINVAL, f"invalid options: {' and '.join(EXCLUSIVE)} cannot be on together")
        if "overwrite" in chosen:
            state.engine.set_overwrite(chosen["overwrite"])
        before = dict(state.options)
        state.options.update(chosen)
        try:
            forks.watch()
        except OSError:
            state.options.update(before)
            raise
        apply_options(state, state.engine.tracer)
        if "display-graph" in chosen:
            restart_latency(state)


def current_options(state: State) -> dict[str, bool]:
    """Return the options that every tracer has, and those of the current tracer."""
    allowed = ("", state.engine.tracer)
    return {name: on for name, on in state.options.items() if OPTIONS[name].tracer in allowed}


def parse_words(what: str, words: str | Iterable[object], allowed: Iterable[str]) -> dict[str, bool]:
    """Return what words such as "funcgraph-args" and "nofuncgraph-cpu" say: option -> on or off.

    Args:
        what: the name of the setting, for the error.
        words: the words, or a text with white space or commas between them.
        allowed: the options that may be named.

    Raises:
        OSError: EINVAL: a word that names none of these.
    """
    names = tuple(allowed)
    chosen = {}
    for word in words.replace(",", " ").split() if isinstance(words, str) else words:
        try:
            name, chosen[name] = check.option_word(word, names)
        except ValueError as error:
            raise OSError(EINVAL, f"invalid {what} {word!r}: {error}") from None
    return chosen


def option_words(values: Mapping[str, bool]) -> list[str]:
    """Return options as the kernel's `trace_options` lists them: with "no" before those that are off."""
    return [name if on else f"no{name}" for name, on in values.items()]


class Options(MutableMapping[str, bool]):
    """All trace options of an instance: name -> on or off, as the files of the kernel's folder `options`.

        i.options["funcgraph-args"] = True

    Raises:
        OSError: EINVAL: no option has that name; the text lists the names. Or the value is neither 0 nor
            1.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def __getitem__(self, name: str) -> bool:
        try:
            return self._state.options[name]
        except KeyError:
            allowed = f"{', '.join(OPTIONS)}{check.meant(name, OPTIONS)}"
            raise OSError(EINVAL, f"invalid option {name!r}: must be one of {allowed}") from None

    def __contains__(self, name: object) -> bool:
        return name in OPTIONS

    def __setitem__(self, name: str, value: bool) -> None:
        self[name]  # raises if there is none
        try:
            on = check.flag(value)
        except ValueError as error:
            raise OSError(EINVAL, f"invalid option {name}={value!r}: {error}") from None
        set_options(self._state, {name: on})

    def __delitem__(self, name: str) -> None:
        raise TypeError("an option cannot be deleted; set it to False")

    def __iter__(self) -> Iterator[str]:
        return iter(OPTIONS)

    def __len__(self) -> int:
        return len(OPTIONS)

    def __repr__(self) -> str:
        return f"<options {' '.join(option_words(self._state.options))}>"
