"""The answer of a command to a question about calls: as JSON, or as lines for a person."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable

from funcgraph.tracedata.pager import write_text


def answer_text(args: argparse.Namespace, as_json: Callable[[], object], lines: Iterable[str]) -> str:
    """Return the answer as --json wants it, or its lines. Both may read the trace, which is open."""
    if args.json:
        return json.dumps(as_json(), indent=1) + "\n"
    return "".join(f"{line}\n" for line in lines)


def write_answer(text: str) -> None:
    """Write an answer to stdout, after the trace is closed: what fails here is no error of the trace."""
    write_text([text.encode("utf-8", "backslashreplace")], pager=False)
