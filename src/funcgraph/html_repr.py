"""How traces show in a notebook: the package registers a function of a room above those that have traces."""

TYPE_CHECKING = False  # as typing's, without importing typing: traced processes load this
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register", "trace_html"]

_functions: "list[Callable[[str | bytes, str, str], str]]" = []


def register(function: "Callable[[str | bytes, str, str], str]") -> None:
    """Have trace_html() call a function, with what it gets itself."""
    _functions[:] = [function]


def trace_html(source: "str | bytes", name: str, title: str) -> "str | None":
    """Return a trace as HTML; None: nobody has registered, and the text is shown.

    Args:
        source: the trace's path, or its bytes.
        name: of the trace, if it has no path.
        title: the first line.
    """
    return _functions[0](source, name, title) if _functions else None
