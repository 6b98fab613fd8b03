"""The texts of the kernel's files that hold a value of the table: what each prints, and what it takes.

The syntax is that of Documentation/trace/ftrace.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EINVAL

from funcgraph import _engine
from funcgraph.instance.control_files.access import available_clocks
from funcgraph.instance.control_files.numbers import unsigned
from funcgraph.settings import check
from funcgraph.settings.table import (
    CHOICE,
    FLAG,
    NAMES,
    NUMBER,
    PATTERNS,
    TEXT,
    THREADS,
    WORDS,
    Setting,
)

__all__ = ["FORMATS", "PARSERS", "invalid"]


def invalid(name: str, text: str, reason: object) -> OSError:
    """Return the error of a text that a file does not take."""
    return OSError(EINVAL, f"invalid {name} {text.strip()!r}: {reason}")


# ---- from values to text


def _items(value: object) -> Sequence[object]:
    """Return the items of a list's value."""
    assert isinstance(value, (tuple, list))
    return value


def _format_list(setting: Setting, value: object) -> str:
    items = _items(value)
    if not items and setting.empty:
        return f"{setting.empty}\n"
    return "".join(f"{item}\n" for item in items)


def _format_patterns(setting: Setting, value: object) -> str:
    patterns = list(map(str, _items(value)))
    return _format_list(setting, _engine.untraced(_resolved, patterns) if patterns else ())


def _resolved(patterns: Sequence[str]) -> list[str]:
    """Return the functions that patterns select now, and the patterns that select none yet."""
    names = set(_functions_of(*patterns))
    return [*sorted(names), *_idle([pattern for pattern in patterns if pattern not in names])]


def _idle(patterns: list[str]) -> list[str]:
    """Return those patterns that select no function.

    Each question looks at all functions of the process, so it is about many patterns at once. If some of them
    select functions, each half is looked at.
    """
    if not patterns or not _functions_of(*patterns):
        return patterns
    half = len(patterns) // 2
    return _idle(patterns[:half]) + _idle(patterns[half:]) if half else []


def _format_choice(setting: Setting, value: object) -> str:
    if setting.name != "clock":
        return f"{value}\n"
    return " ".join(f"[{clock}]" if clock == value else clock for clock in available_clocks()) + "\n"


# Kind -> the text of a value.
FORMATS: dict[str, Callable[[Setting, object], str]] = {
    FLAG: lambda setting, value: f"{bool(value):d}\n",
    NUMBER: lambda setting, value: f"{value}\n",
    CHOICE: _format_choice,
    PATTERNS: _format_patterns,
    THREADS: lambda setting, value: _format_list(setting, sorted(set(_tids(value)))),
    WORDS: _format_list,
    TEXT: lambda setting, value: f"{value}\n",
    NAMES: lambda setting, value: " ".join(map(str, _items(value))) + "\n",
}


# ---- from text to values


def _parse_flag(setting: Setting, text: str, former: object) -> bool:
    """Any number but 0 is on, as in the kernel."""
    return unsigned(setting.file, text, "0 or 1") != 0


def _parse_number(setting: Setting, text: str, former: object) -> int:
    number = unsigned(setting.file, text, check.range_text(setting))
    return max(number, setting.least) if number else number


def _parse_choice(setting: Setting, text: str, former: object) -> str:
    return text.strip()


def _parse_words(setting: Setting, text: str, former: object) -> list[str]:
    """One option at a time, as in the kernel."""
    return [text.strip()]


def _tids(value: object) -> list[int]:
    return [tid for tid in _items(value) if isinstance(tid, int)]


def _parse_threads(setting: Setting, text: str, former: object) -> list[int]:
    right = f"thread ids, each {check.range_text(setting)}"
    return list(
        dict.fromkeys([*_tids(former), *(unsigned(setting.file, word, right) for word in text.split())])
    )


def _parse_patterns(setting: Setting, text: str, former: object) -> list[str]:
    patterns = dict.fromkeys(map(str, _items(former)))  # in their order
    for word in text.split():
        if word.startswith("!"):
            patterns = dict.fromkeys(_without(setting, list(patterns), word))
        elif word.startswith("#"):
            raise invalid(setting.file, word, "a pattern must not begin with '#'")
        else:
            patterns[_function_at(setting, word) if word.isdecimal() else word] = None
    return list(patterns)


def _without(setting: Setting, patterns: list[str], word: str) -> list[str]:
    """Return the patterns without those that `word`, after its "!", is or matches.

    A pattern that selects other functions as well becomes the names of these.
    A function that is there but not in the list is no error for the function filters, as in the kernel: there
    it is one for the graph filters alone.
    """
    removed = word[1:]
    colon = ":" in removed
    if removed.isdecimal():
        removed = _function_at(setting, removed)
    rest = [one for one in patterns if one != removed and (colon or not _engine.glob_match(removed, one))]
    rest = list(_engine.untraced(_without_functions, rest, removed))
    if (
        rest == patterns
        and removed != "*"
        and not (
            setting.name in ("filter", "notrace") and not colon and _engine.untraced(_are_functions, removed)
        )
    ):
        listed = ", ".join(patterns) or "none"
        raise invalid(setting.file, word, f"must be or match a pattern in the list, which has {listed}")
    return rest


def _without_functions(patterns: list[str], removed: str) -> list[str]:
    """Return patterns that select the same functions without those that `removed` selects."""
    taken = set(_functions_of(removed))
    rest: list[str] = []
    for pattern in patterns:
        own = _functions_of(pattern) if taken else []
        rest += [name for name in own if name not in taken] if taken & set(own) else [pattern]
    return rest


def _functions_of(*patterns: str) -> list[str]:
    """Return the names of the functions that patterns select now, sorted; what is no pattern selects none."""
    try:
        return sorted(set(_engine.function_names(patterns)))
    except ValueError:
        half = len(patterns) // 2
        return sorted({*_functions_of(*patterns[:half]), *_functions_of(*patterns[half:])}) if half else []


def _are_functions(glob: str) -> bool:
    """Return whether there are functions of that name."""
    return any(_engine.glob_match(glob, name) for name in _functions())


def _function_at(setting: Setting, word: str) -> str:
    """Return the function in line `word`, counted from 1, of available_filter_functions."""
    names = _engine.untraced(_functions)
    number = unsigned(setting.file, word, "a number of a line")
    if not 1 <= number <= len(names):
        raise invalid(
            setting.file, word, f"must be a line of available_filter_functions, from 1 to {len(names)}"
        )
    return names[number - 1]


def _functions() -> list[str]:
    from funcgraph.fgraph import available_filter_functions

    return available_filter_functions()


# Kind -> the value in a text; the last argument is what the file holds already, if the text is appended.
PARSERS: dict[str, Callable[[Setting, str, object], object]] = {
    FLAG: _parse_flag,
    NUMBER: _parse_number,
    CHOICE: _parse_choice,
    TEXT: _parse_choice,
    PATTERNS: _parse_patterns,
    THREADS: _parse_threads,
    WORDS: _parse_words,
}
