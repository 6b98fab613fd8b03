"""The options of a report; FG_REPORT_OPTIONS in report_style.h is their one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from funcgraph import _tracedata
from funcgraph.settings.check import option_word


class ReportOption(NamedTuple):
    """One option of a report.

    Attributes:
        name: the kernel's name, `funcgraph-...`.
        bit: its bit in a set of options.
        initial: the default; "auto": on if the report shows more than one task.
        help: what it shows.
    """

    name: str
    bit: int
    initial: Literal["on", "off", "auto"]
    help: str


def report_options() -> tuple[ReportOption, ...]:
    """Return all options, in the table's order."""
    return tuple(ReportOption(*row) for row in _tracedata.REPORT_OPTIONS)


def parse_options(words: Iterable[str], others: Iterable[str] = ()) -> dict[str, bool]:
    """Return the options that the words name: option name -> on or off.

    Args:
        words: `funcgraph-abstime` turns an option on, `nofuncgraph-abstime` off; the last one wins.
        others: names of further options that are allowed, besides those of a report.

    Raises:
        ValueError: a word is not an option; the message lists all.
    """
    names = list(dict.fromkeys([*(option.name for option in report_options()), *others]))
    chosen: dict[str, bool] = {}
    for word in words:
        try:
            name, chosen[name] = option_word(word, names)
        except ValueError as error:
            raise ValueError(f"invalid option '{word}': {error}") from None
    return chosen


def known_options(words: Iterable[str]) -> dict[str, bool]:
    """Return the options that a trace's own words name, as `parse_options`.

    Unknown words, which another version of funcgraph wrote, are skipped.
    """
    chosen: dict[str, bool] = {}
    for word in words:
        try:
            chosen |= parse_options([word])
        except ValueError:
            continue
    return chosen


def option_bits(chosen: Mapping[str, bool], *, several_tasks: bool) -> int:
    """Return the set of a report's options: the chosen ones, and the defaults of all others."""
    bits = 0
    for option in report_options():
        initial = several_tasks if option.initial == "auto" else option.initial == "on"
        if chosen.get(option.name, initial):
            bits |= option.bit
    return bits


def options_help() -> str:
    """Return the table of options as lines of a help text."""
    options = report_options()
    width = max(len(option.name) for option in options)
    defaults = {"on": "[on]  ", "off": "[off] ", "auto": "[auto]"}
    lines = [f"  {option.name:<{width}}  {defaults[option.initial]}  {option.help}" for option in options]
    return "\n".join(lines)
