"""Commit messages: what CONTRIBUTING.md asks of one, and the commits that `make lint` holds to it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Commit", "faults", "new_commits"]

#: The last commit that was made without this rule.
_START = "0b633fd9acbace6c83056c5714ee85a65cb9abfc"
_COLUMNS = 72
_SUBJECT = re.compile(r"[a-z][\w.,/ -]*: (\S+)")
#: A subject that begins with one of these tells what is, not what the commit does.
_NO_VERBS = frozenset(
    ("a", "all", "an", "any", "both", "each", "every", "it", "no", "nothing", "one", "some", "that", "the")
)


class Commit(NamedTuple):
    """A commit: the beginning of its hash, and its message."""

    hash: str
    message: str


def faults(message: str) -> Iterator[str]:
    """Yield what is wrong with a commit's message.

    Args:
        message: the subject, an empty line, the body.

    Example:
        >>> list(faults("ring: wake the reader once"))
        ['no body that says why']
    """
    subject, _, rest = message.strip().partition("\n")
    if len(subject) > _COLUMNS:
        yield f"the subject has {len(subject)} columns: must have at most {_COLUMNS}"
    found = _SUBJECT.match(subject)
    if found is None or found[1].lower() in _NO_VERBS:
        yield "the subject must be 'area: imperative', as in 'ring: wake the reader once'"
    if subject.endswith("."):
        yield "the subject must not end with a full stop"
    if not rest.strip():
        yield "no body that says why"
    elif not rest.startswith("\n"):
        yield "no empty line between subject and body"


def new_commits(root: Path, start: str = _START) -> list[Commit]:
    """Return the commits since this rule, without merges.

    Args:
        root: the folder of the repository.
        start: the last commit that is not asked for.

    Returns:
        The latest first. None where git cannot tell: in an archive, or in a clone without that history.
    """
    if not _git(root, "merge-base", "--is-ancestor", start, "HEAD").is_known:
        return []
    log = _git(root, "log", "--no-merges", "--format=%h%n%B%x00", f"{start}..HEAD")
    parts = (text.strip().partition("\n") for text in log.output.split("\0"))
    return [Commit(name, message.strip()) for name, _, message in parts if name]


class _Answer(NamedTuple):
    is_known: bool
    output: str


def _git(root: Path, *words: str) -> _Answer:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    except OSError:  # there is no git
        return _Answer(False, "")
    return _Answer(done.returncode == 0, done.stdout)
