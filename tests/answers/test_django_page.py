"""docs/guides/answers.md, "On a real project": the planted N+1 of a Django program is found."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import find_spec
from typing import Any

import pytest
from sizes import NIGHTLY
from test_answers_page import PAGE, ROOT, form

pytestmark = [
    pytest.mark.skipif(not NIGHTLY, reason="a real project: nightly"),
    pytest.mark.skipif(not find_spec("django"), reason="Django is installed for one CPython"),
]


def test_the_page_shows_the_n_plus_1_of_a_django_program(fg: Any) -> None:
    shutil.copy(ROOT / "examples" / "django_orders" / "orders.py", fg.folder)
    section = PAGE.partition("## On a real project: Django")[2]
    text = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    commands = re.split(r"^\$ funcgraph (.*)\n", text, flags=re.MULTILINE)[1:]
    assert len(commands) == 6
    for command, output in zip(commands[::2], commands[1::2], strict=True):
        done = fg.run(*shlex.split(command))
        assert done.returncode == 0, done.stderr
        printed = {form(line) for line in done.stdout.splitlines()}
        expected = {form(line) for line in output.splitlines() if not line.startswith("TIMES")}
        assert expected <= printed, (command, sorted(expected - printed), sorted(printed))
    found = fg.run("repeat").stdout
    assert "30 times, below __main__.slow_page" in found
    assert "below __main__.page" not in found
