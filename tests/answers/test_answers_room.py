"""The room of answers reads traces and nothing above them: a viewer or a server can use it."""

from __future__ import annotations

import pytest

from tools import rooms

pytestmark = pytest.mark.one_python


def test_answers_use_only_what_reads_traces() -> None:
    assert rooms.known("answers", rooms.PYTHON_KNOWS) >= {"answers", "tracedata"}
    assert not rooms.known("answers", rooms.PYTHON_KNOWS) & {"session", "instance", "commands"}
