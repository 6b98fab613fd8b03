"""The recording of a cell: the context manager around its code."""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from funcgraph.command_support.messages import CommandError, os_error_text
from funcgraph.command_support.parser import Common, Parser
from funcgraph.command_support.record_settings import add_settings, settings_of
from funcgraph.session.block import RecordBlock

__all__ = ["RecordedCell", "options_parser"]

#: The packages that run a notebook's code.
_KERNEL = ("IPython", "ipykernel", "jupyter_client", "traitlets", "zmq")


def options_parser() -> Parser:
    """Return the parser of the magic's options: those of `funcgraph record` that say what is recorded."""
    parser = Parser(
        prog="%%funcgraph",
        usage="%%%%funcgraph [OPTIONS], in the first line of a cell",
        description="Record the calls of this cell, and show them below it.",
    )
    text = "keep the trace; without it, only what is shown stays"
    parser.add_argument("-o", dest="output", metavar="FILE", help=Common(text))
    add_settings(parser)
    parser.complete()
    return parser


def _options_of(words: str) -> argparse.Namespace:
    """Return the options in a line. Raises CommandError, also if they ask for help, which is printed."""
    try:
        options: argparse.Namespace = options_parser().parse_args(shlex.split(words))
    except ValueError as error:
        raise CommandError(f"{words}: {error}") from None
    except SystemExit:
        raise CommandError("the cell did not run") from None
    return options


def _kernel_tids() -> list[int]:
    """Return the threads of the kernel: they send output and keep its history, whatever the cell does."""
    return [one.native_id for one in threading.enumerate() if one.native_id and _is_of_kernel(one)]


def _is_of_kernel(thread: threading.Thread) -> bool:
    sources = (type(thread), getattr(thread, "_target", None))
    return any((getattr(source, "__module__", None) or "").split(".")[0] in _KERNEL for source in sources)


class _Block(RecordBlock):
    """A recording of what is not the kernel's. Its warnings are shown below the cell."""

    def __init__(self, output: str, settings: dict[str, Any], notes: list[str]) -> None:
        super().__init__(output, settings)
        self._notes = notes

    def _here(self, instance: dict[str, Any]) -> dict[str, Any]:
        here = super()._here(instance)
        modules = (*(f"{package}.*" for package in _KERNEL), "funcgraph.notebook.*")
        return {**here, "notrace": [*here["notrace"], *modules], "notrace_tids": _kernel_tids()}

    def _warn(self, text: str) -> None:
        self._notes.append(text)


class RecordedCell:
    """Records from `__enter__` to `__exit__`.

    Args:
        words: the magic's options, as they were typed.
        on_end: gets this when the recording has ended, also if the cell raised.

    Attributes:
        notes: what is to be said of the recording.

    Raises:
        UsageError: a wrong option: IPython shows it as one line. Entering raises it, too, if the recording
            cannot start.
    """

    def __init__(self, words: str, on_end: Callable[[RecordedCell], object]) -> None:
        self.notes: list[str] = []
        self._on_end = on_end
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            options = _options_of(words)
            self.path = options.output and os.path.abspath(os.path.expanduser(options.output))
            self._settings = settings_of(options, self.path or "cell.fg")
        except CommandError as error:
            raise _usage_error(error) from None

    def __enter__(self) -> None:
        if self.path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="funcgraph-")
            self.path = os.path.join(self._folder.name, "cell.fg")
        self._pid = os.getpid()
        self._block = _Block(self.path, self._settings, self.notes)
        try:
            self._block.__enter__()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError | RuntimeError):
                raise _usage_error(error) from None
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the recording. An error of it does not become one of the cell."""
        if os.getpid() != self._pid:
            return  # a fork's child: the recording is its parent's
        try:
            self._block.__exit__(kind, error, traceback)
        except (OSError, RuntimeError) as failure:
            self.notes.append(_text_of(failure))
        finally:
            self._on_end(self)

    def close(self) -> None:
        """Remove the trace, unless its name was given."""
        if self._folder is not None:
            self._folder.cleanup()


def _text_of(error: Exception) -> str:
    below = error.below if isinstance(error, CommandError) else ()
    return "\n".join((os_error_text(error) if isinstance(error, OSError) else str(error), *below))


def _usage_error(error: Exception) -> Exception:
    from IPython.core.error import UsageError  # the notebook's own

    shown: Exception = UsageError(f"%%funcgraph: {_text_of(error)}")
    return shown
