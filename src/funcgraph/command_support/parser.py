"""The parser of a command line: one-line errors, and a help that leaves rare options to --help-all."""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from funcgraph.command_support.messages import CommandError
from funcgraph.names import did_you_mean, nearest_names

__all__ = ["Common", "Option", "Parser"]

_MANY = 18  # --help shows all options of a command that has no more
_WIDEST = 100  # columns: longer lines are hard to read
_ROW = re.compile(r"( +\S.*?  +)(\S.*)")


class Common(str):
    """The help of an option that `--help` shows also where a command has many (Setting.common)."""

    __slots__ = ()


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs to the width of the terminal, and the second column of indented lines."""

    def __init__(self, prog: str) -> None:
        columns = shutil.get_terminal_size().columns
        super().__init__(prog, max_help_position=22, width=min(columns, _WIDEST))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            _fill_rows(part, width) if re.search(r"^ ", part, re.MULTILINE) else _fill(part, width)
            for part in text.split("\n\n")
        )


def _fill(text: str, width: int, begin: str = "") -> str:
    return textwrap.fill(
        text, width, initial_indent=begin, subsequent_indent=" " * len(begin), break_on_hyphens=False
    )


def _fill_rows(text: str, width: int) -> str:
    """Fill the lines of a table: "  NAME  TEXT", where TEXT can go on in further lines below it."""
    rows: list[tuple[str, str]] = []  # all before TEXT, and TEXT
    for line in text.splitlines():
        if rows and rows[-1][0] and re.match(rf" {{{len(rows[-1][0])}}}\S", line):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        elif row := _ROW.fullmatch(line):
            rows.append((row[1], row[2]))
        else:
            rows.append(("", line))
    return "\n".join(_fill(text, width, begin) if begin else text for begin, text in rows)


class Option(argparse.Action):
    """An option whose value a function takes.

    Args:
        take: gets the parser, for its errors; the namespace; and the value.
    """

    def __init__(
        self,
        *args: Any,
        take: Callable[[argparse.ArgumentParser, argparse.Namespace, Any], None],
        **keywords: Any,
    ) -> None:
        super().__init__(*args, **keywords)
        self._take = take

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        self._take(parser, namespace, values)


class _HelpAll(argparse.Action):
    """--help-all: print the help with every option."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(parser, Parser)
        print(parser.format_all(), end="")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, and finds where a traced command begins.

    Its description is paragraphs. Of a command with many options `--help` has the first one, and the options
    whose help is `Common`; `--help-all` has everything.
    """

    def __init__(self, **settings: Any) -> None:
        self._takes_value: dict[str, bool] = {}  # flags of a group are missing: they must take no value
        self._flags: dict[str, str] = {}  # a word that a person may try -> the flag
        super().__init__(**settings, formatter_class=_Formatter, allow_abbrev=False)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        action = super().add_argument(*args, **kwargs)
        for flag in action.option_strings:
            self._takes_value[flag] = action.nargs != 0
        if action.option_strings:
            # The long name of a short flag: "filter" for -l.
            self._flags.setdefault(action.dest.replace("_", "-"), action.option_strings[-1])
            self._flags |= {flag.lstrip("-"): flag for flag in action.option_strings if flag[:2] == "--"}
        return action

    def complete(self) -> None:
        """Add --help-all if there are many options. Must be called after all others have been added."""
        if self.is_long:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options and exit")

    @property
    def is_long(self) -> bool:
        """Whether `--help` leaves options out."""
        own = [action for action in self._actions if action.dest not in ("help", "help_all")]
        return len([action for action in own if action.option_strings]) > _MANY

    def format_help(self) -> str:
        """Return what `--help` prints."""
        if not self.is_long:
            return self.format_all()
        first, _, _ = (self.description or "").partition("\n\n")
        note = f"'{self.prog} --help-all' shows all options and says more."
        return self._format(first, note, everything=False)

    def format_all(self) -> str:
        """Return the help with all options."""
        return self._format(self.description, self.epilog, everything=True)

    def _format(self, description: str | None, epilog: str | None, *, everything: bool) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(
                action for action in group._group_actions if everything or _is_common(action)
            )
            formatter.end_section()
        formatter.add_text(epilog)
        return formatter.format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but operands may stand anywhere: `why shop.order --json trace.fg`.

        argparse gives all operands their words when it meets the first one. An optional operand gets none
        then, and a word behind an option is one too many.
        """
        words = list(sys.argv[1:] if args is None else args)
        if "--" not in words and not any(
            action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._get_positional_actions()
        ):
            words = self._operands_first(words)
        return super().parse_known_args(words, namespace)

    def _operands_first(self, words: Sequence[str]) -> list[str]:
        """Return the words in another order: those that are neither options nor their values come first."""
        operands: list[str] = []
        options: list[str] = []
        position = 0
        while position < len(words):
            if not _is_option(words[position]):
                operands.append(words[position])
                position += 1
                continue
            end = position + 1 + self._values_after(words, position)
            options += words[position:end]
            position = end
        return operands + options

    def _values_after(self, words: Sequence[str], position: int) -> int:
        """Return how many words after an option are its values."""
        action = self._option_string_actions.get(
            words[position]
        )  # none: it is unknown, or has its value in it
        if action is None:
            return 0
        if action.nargs is None:
            return 1
        if isinstance(action.nargs, int):
            return action.nargs
        values = itertools.takewhile(lambda word: not _is_option(word), words[position + 1 :])
        return min(sum(1 for _ in values), 1 if action.nargs == argparse.OPTIONAL else len(words))

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, extras = self.parse_known_args(args, namespace)
        if extras:
            self.error(f"unrecognized arguments: {' '.join(extras)}{self._meant(extras)}")
        return parsed

    def _meant(self, extras: Sequence[str]) -> str:
        """Return the end of the message about words that are no arguments: the flag that was meant."""
        word = next((word for word in extras if word.startswith("-")), "").partition("=")[0].lstrip("-")
        near = nearest_names(word, list(self._flags), 1)
        return f"; did you mean '{self._flags[near[0]]}'?" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = list(map(str, action.choices))
            text = f"invalid choice {value!r}: must be one of {', '.join(names)}{did_you_mean(value, names)}"
            raise argparse.ArgumentError(action, text)

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see '{self.prog} --help')")

    def split_command(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Split `words` before the first one that is neither an option of ours nor an option's value.

        `-m` and `-c` begin a command too (a module, a piece of code for Python), and `--` precedes one.
        argparse's REMAINDER cannot do this: it takes options of ours for the command's, or the reverse.
        """
        position = 0
        while position < len(words):
            word = words[position]
            if word == "--":
                return list(words[:position]), list(words[position + 1 :])
            if word in ("-m", "-c") or len(word) < 2 or not word.startswith("-"):
                break
            position += 2 if self._takes_value.get(word) else 1
        return list(words[:position]), list(words[position:])


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not word[1].isdigit()


def _is_common(action: argparse.Action) -> bool:
    return isinstance(action.help, Common) or not action.option_strings or action.dest in ("help", "help_all")
