"""All fetch arguments of a definition, with `$arg*` and `$argN` expanded to the parameters' names.

Documentation/trace/fprobetrace.rst, "BTF arguments".
"""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.definitions import messages
from funcgraph.definitions.command import Command
from funcgraph.definitions.fetch_argument import argument_text, parse_argument
from funcgraph.definitions.fetch_source import VARIABLES, Scope, nth_name
from funcgraph.definitions.fetch_steps import STEP_CHARACTERS
from funcgraph.definitions.fetch_type import RefusedError
from funcgraph.definitions.field import Field

__all__ = ["parse_arguments"]

_MOST = 128  # FG_EVENT_MAX_FIELDS


class _Argument(NamedTuple):
    """An argument after the expansion.

    Attributes:
        word: the number of the command's word that it comes from.
        text: the argument.
        expanded: how many of its characters replace `replaced` characters of the word.
    """

    word: int
    text: str
    expanded: int = 0
    replaced: int = 0

    def place(self, offset: int) -> int:
        """Return where in the word a place in the text is."""
        return offset - self.expanded + self.replaced if offset >= self.expanded else 0


def parse_arguments(
    command: Command, scope: Scope, first: int = 2, end: int | None = None
) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Return the fields that the arguments of a command describe, and how they read back.

    Args:
        command: the command.
        scope: what can be fetched where the event is.
        first: the number of the word that is the first argument.
        end: the number of the word after the last; None: the last word is one.

    Raises:
        ProbeError: an argument is wrong.
    """
    words = list(enumerate(command.words))[first:end]
    if scope.kind == "e":
        arguments = [_Argument(word, text) for word, text in words]
    else:
        arguments = _expanded(command, words, scope)
    if len(arguments) > _MOST:
        raise command.error(messages.TOO_MANY_ARGS, first, hint=f"An event has at most {_MOST} arguments.")
    fields: dict[str, Field] = {}
    texts = []
    for number, argument in enumerate(arguments, 1):
        try:
            field = parse_argument(argument.text, number, fields, scope)
        except RefusedError as error:
            place = argument.place(error.offset)
            raise command.error(error.message, argument.word, place, hint=error.hint) from None
        fields[field.name] = field
        texts.append(argument_text(argument.text, field))
    return tuple(fields.values()), tuple(texts)


def _expanded(command: Command, words: list[tuple[int, str]], scope: Scope) -> list[_Argument]:
    arguments = []
    is_used = False
    for word, text in words:
        try:
            if text == "$arg*":
                if is_used:
                    raise RefusedError(messages.DOUBLE_ARGS, 0)
                if scope.names is None:
                    by = "$argN" if scope.is_native else "them by name"
                    hint = f"The parameters are not known: give {by}."
                    raise RefusedError(messages.NOSUP_ALL_ARGS, 0, hint)
                is_used = True
                arguments += [_Argument(word, name, len(name)) for name in scope.names]
            else:
                arguments.append(_with_name(word, text, scope))
        except RefusedError as error:
            raise command.error(error.message, word, error.offset, hint=error.hint) from None
    return arguments


def _with_name(word: int, text: str, scope: Scope) -> _Argument:
    """Return an argument; `$argN` or `$argN:TYPE` gets the parameter's name, if that is known."""
    if not text.startswith("$arg") or scope.is_native:
        return _Argument(word, text)
    end = len("$arg")
    while text[end : end + 1] in tuple("0123456789"):
        end += 1
    rest = text[end:]
    if end == len("$arg") or rest[:1] not in ("", ":", *STEP_CHARACTERS):
        raise RefusedError(messages.BAD_VAR, 0, VARIABLES)
    # The value of $arg1.name or $arg1:len is not the parameter's.
    if scope.names is None or rest[:1] in tuple(STEP_CHARACTERS) or rest.startswith(":len"):
        return _Argument(word, text)
    name = nth_name(text[len("$arg") : end], scope)
    return _Argument(word, name + rest, len(name), end)
