"""The row of the kernel's folder `options`: a file for each trace option."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from errno import EOPNOTSUPP, ERANGE
from typing import NamedTuple

from funcgraph.instance.control_files.control_file import BoundFile, ControlFile, File, Row
from funcgraph.instance.control_files.numbers import unsigned
from funcgraph.instance.control_files.texts import invalid
from funcgraph.instance.options import set_options
from funcgraph.instance.state import State
from funcgraph.settings.table import OPTIONS

__all__ = ["OPTION_FILES", "OPTION_FOLDER"]

OPTION_FOLDER = "options/"


class _Option(NamedTuple):
    """An option of an instance."""

    state: State
    name: str


def _read(option: _Option) -> str:
    return f"{option.state.options[option.name]:d}\n"


def _write(option: _Option, text: str, append: bool) -> None:
    file = OPTION_FOLDER + option.name
    number = unsigned(file, text, "0 or 1")
    if number > 1:
        raise invalid(file, text, "must be 0 or 1")
    set_options(option.state, {option.name: bool(number)})


_ROW = ControlFile(
    f"{OPTION_FOLDER}NAME",
    _read,
    _write,
    errors=(EOPNOTSUPP, ERANGE),
    notes="one for each option of an Instance",
)


class _OptionFiles:
    """The files of the options: a FileGroup."""

    folder = OPTION_FOLDER

    def rows(self) -> Iterable[Row]:
        return (_ROW,)

    def names(self, state: State, folder: str | None) -> Iterator[str]:
        for option in OPTIONS:
            yield OPTION_FOLDER + option

    def find(self, state: State, name: str) -> File | None:
        option = name.removeprefix(OPTION_FOLDER)
        if option == name or option not in OPTIONS:
            return None
        return BoundFile(_ROW, _Option(state, option), name)


OPTION_FILES = _OptionFiles()
