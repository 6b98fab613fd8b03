"""Names of events and their groups: those that a definition gives, and those made up where it gives none."""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.command import Command

__all__ = ["NAME_CHARACTERS", "base_event", "given_name", "is_identifier", "made_up"]

#: The longest name of an event or a group.
NAME_CHARACTERS = 63

_DIGITS = "0123456789"


def is_identifier(text: str, more: str = "") -> bool:
    """Return whether a text is a C identifier; `more` has further characters that may follow the first."""
    if not text or not text.isascii() or text[0] in _DIGITS or text[0] in more:
        return False
    return all(character == "_" or character.isalnum() or character in more for character in text)


def given_name(command: Command, offset: int) -> tuple[str, str]:
    """Return the group and the event that a command's first word names.

    Args:
        command: the command.
        offset: where the name begins in its first word: "GROUP/EVENT", "GROUP/", "EVENT". "." is as good
            as "/".

    Returns:
        The group and the event, "" for one that is not given.

    Raises:
        ProbeError: a name is missing, too long or no identifier.
    """
    return _names(command, 0, offset)


def base_event(command: Command) -> tuple[str, str]:
    """Return the group and the event that an event probe is attached to, its second word.

    Raises:
        ProbeError: the group or the event is missing or no name.
    """
    from funcgraph.definitions.errors import ProbeError  # only to catch it

    try:
        group, event = _names(command, 1, 0)
    except ProbeError as error:
        raise command.error(messages.NO_EVENT_INFO, 1) from error
    if not group or not event:
        raise command.error(messages.NO_EVENT_INFO, 1)
    return group, event


def _names(command: Command, word: int, offset: int) -> tuple[str, str]:
    text = command.words[word][offset:]
    slash = text.find("/")
    if slash < 0:
        slash = text.find(".")
    group = ""
    if slash >= 0:
        group = text[:slash]
        if not group:
            raise command.error(messages.NO_GROUP_NAME, word, offset)
        if len(group) > NAME_CHARACTERS:
            raise command.error(messages.GROUP_TOO_LONG, word, offset)
        if not is_identifier(group, "-"):
            raise command.error(messages.BAD_GROUP_NAME, word, offset)
        offset += slash + 1
    event = text[slash + 1 :]
    if not event:
        if group:
            return group, ""
        raise command.error(messages.NO_EVENT_NAME, word, offset)
    if len(event) > NAME_CHARACTERS:
        raise command.error(messages.EVENT_TOO_LONG, word, offset)
    if not is_identifier(event):
        raise command.error(messages.BAD_EVENT_NAME, word, offset)
    return group, event


def made_up(symbol: str, before: str = "", after: str = "") -> str:
    """Return the name of an event whose definition gives none, such as "app_load__entry".

    Each character of the symbol that an identifier cannot have becomes "_", as the kernel does with "." and
    "*". If the name gets too long, the symbol loses its first parts: the kernel cuts the end off, but the
    names of functions of one Python package often begin with the same 60 characters.

    Args:
        symbol: the function's name.
        before: what stands before the symbol in the name, "p_".
        after: what stands after it, "__entry".
    """
    room = NAME_CHARACTERS - len(before) - len(after)
    while len(symbol) > room and "." in symbol:
        symbol = symbol.partition(".")[2]
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in symbol[-room:])
    if not before and name[:1] in (*_DIGITS, ""):
        name = f"_{name}"[: NAME_CHARACTERS - len(after)]
    return f"{before}{name}{after}"
