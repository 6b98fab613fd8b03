"""What of a definition is accepted, but most likely a mistake: variables that its function does not have."""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.definitions.definition import COMPONENTS, Definition, Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from funcgraph.definitions.error_log import ErrorLog

__all__ = ["Doubt", "warnings_of"]


class Doubt(NamedTuple):
    """A doubt about a definition, which is carried out all the same: the function may be defined anew.

    Attributes:
        component: who has it, as error_log names it.
        message: what is wrong, and what would be right.
        command: the definition's line.
        caret: the place in it.
    """

    component: str
    message: str
    command: str
    caret: int

    def warn(self) -> None:
        """Warn the caller of whoever asks for that."""
        import warnings

        warnings.warn(self.message, RuntimeWarning, stacklevel=3)

    def log(self, log: ErrorLog) -> None:
        """Add it to a log."""
        log.add(self.component, self.message, self.command, self.caret, is_warning=True)


def warnings_of(line: str, definition: Definition, variables: Variables) -> list[Doubt]:
    """Return a doubt for each variable that a kprobe reads and its function does not have.

    Args:
        line: the definition as given.
        definition: what it means.
        variables: knows the variables of functions.
    """
    read = [str(field.source[1]) for field in definition.fields if field.source[0] == "name"]
    known = (
        variables(definition.symbol) if definition.kind == "p" and read and not definition.is_native else None
    )
    if known is None:
        return []
    return [_doubt(line, definition, name, known) for name in dict.fromkeys(read) if name not in known]


def _doubt(line: str, definition: Definition, name: str, known: list[str]) -> Doubt:
    import re  # these two only for a mistake

    from funcgraph.names import did_you_mean

    message = f"{definition.symbol} has no variable {name!r}, which will always be (fault)"
    arguments = line.find(definition.symbol) + len(definition.symbol)
    found = re.compile(rf"(?<![\w.$]){re.escape(name)}(?!\w)").search(line, arguments)
    caret = found.start() if found else 0
    return Doubt(COMPONENTS["p"], f"{message}{did_you_mean(name, known)}", line, caret)
