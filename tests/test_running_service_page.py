"""docs/start/running-service.md: each command prints what the page shows, but for numbers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from progress import wait_for_progress

from funcgraph.control.processes import running

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "start" / "running-service.md").read_text()
SERVICE = ROOT / "examples" / "running_service" / "bakery.py"

#: The last line of an output of which the page shows the beginning; also the end of such a line.
REST = "..."


def commands() -> list[tuple[str, str]]:
    """Return each command of the page, with the output below it."""
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", PAGE, re.MULTILINE)
    shown = "\n".join(textwrap.dedent(block) for block in blocks)
    found = re.split(r"^\$ (.*)\n", shown, flags=re.MULTILINE)[1:]
    return [(command, output.strip("\n")) for command, output in zip(found[::2], found[1::2], strict=True)]


def kinds_of_lines(text: str) -> set[str]:
    """Return the lines without numbers, marks of long durations, paths and repeated blanks."""
    found = set()
    for pattern, stands in ((r'file=".*/', 'file="'), (r"[\d.,:]*\d", "N"), (r"[+#*!@$] N us", "N us")):
        text = re.sub(pattern, stands, text)
    for line in text.splitlines():
        found.add(re.sub(r"\s+", " ", line).strip())
    return found - {"", REST}


@pytest.fixture
def service(fg: Any) -> Iterator[subprocess.Popen[str]]:
    """Start the service as the page says."""
    command, output = commands()[0]
    assert (command, output) == ("FUNCGRAPH=control python bakery.py &", "")
    shutil.copy(SERVICE, fg.folder)
    child = subprocess.Popen(
        [sys.executable, "-B", "bakery.py"], cwd=fg.folder, env={**fg.env, "FUNCGRAPH": "control"}
    )
    yield child
    assert child.poll() is None, "the service has ended"
    child.kill()
    child.wait()


def test_each_command_prints_what_the_page_shows(
    fg: Any, in_process: Callable[..., Any], service: subprocess.Popen[str]
) -> None:
    shown = commands()[1:]
    assert len(shown) > 15
    while service.pid not in running():
        assert service.poll() is None  # it has only just started
    for command, output in shown:
        words = [word.replace("bakery.py", str(service.pid)) for word in shlex.split(command)]
        if "sleep" in words:
            at = words.index("sleep")
            words[at : at + 2] = wait_for_progress(service.pid)
        if words[:2] == ["funcgraph", "record"]:  # it changes signals and limits of its process
            done = fg.run(*words[1:])
            printed = done.stdout + done.stderr
        elif words[0] == "funcgraph":
            done = in_process(*words[1:])
            printed = done.stdout + done.stderr
        else:
            printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        is_whole = REST not in output
        expected, printed_kinds = kinds_of_lines(output), kinds_of_lines(printed)
        if output.endswith(f" {REST}") and "\n" not in output:
            begin = next(iter(expected)).removesuffix(REST)
            assert any(line.startswith(begin) for line in printed_kinds), printed
        else:
            assert expected <= printed_kinds, (command, printed)
            assert not is_whole or expected == printed_kinds, (command, printed)


def test_each_verb_is_on_the_page() -> None:
    """Broken by a verb without a word about it."""
    pages = set(re.findall(r"man/funcgraph-(\w+)\.md", PAGE))
    verbs = {path.stem for path in (ROOT / "src/funcgraph/commands").glob("*.py")}
    of_processes = {
        name
        for name in verbs
        if "add_processes(parser)" in (ROOT / f"src/funcgraph/commands/{name}.py").read_text()
    }
    assert of_processes - pages - {"set", "hist"} == set()
    assert all(f"funcgraph {name} -P" in PAGE for name in ("set", "hist"))
