"""The extension for VS Code: it runs commands that exist, and its own tests pass with these, on node alone.

These need TypeScript. Nightly it is installed; else they run if npm has it from an earlier run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sizes
from view.pages import browser

from funcgraph import cli
from tools.layout import ROOT

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.one_python

EXTENSION = ROOT / "editors" / "vscode"


def test_it_runs_commands_and_options_that_exist() -> None:
    """Broken by an option that is renamed."""
    words = (EXTENSION / "src" / "words.ts").read_text()
    lines = re.findall(r'return words\(settings, "(\w+)"(.*)\);', words)
    assert {command for command, _ in lines} == {"view", "record", "summary", "values"}
    for command, rest in lines:
        # Behind -m pytest come pytest's words.
        used = re.findall(r'"(-[\w-]+)"', rest.partition('"-m"')[0])
        parser = cli.parser_of(cli.load(command))
        known = {flag for action in parser._actions for flag in action.option_strings}
        assert set(used) <= known, command


def test_its_version_is_the_packages() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    project = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert project is not None
    assert manifest["version"] == project[1]


PROGRAM = """
class Odd(Exception): pass

def rate(key, more=(1, (2, 3))):
    raise KeyError(key)

def price(n):
    return rate(n)

def bill(n):
    try:
        price(n)
    except KeyError:
        raise Odd(n)

def main():
    try:
        bill(3)
    except Odd:
        pass
main()
"""


def matched(pattern: str, text: str) -> list[tuple[str, str, int]]:
    """Return what a problem pattern of the extension finds in lines: message, file, line.

    A pattern of several expressions matches lines that follow each other, as in the editor.
    """
    manifest = json.loads((EXTENSION / "package.json").read_text())
    one = next(one for one in manifest["contributes"]["problemPatterns"] if one["name"] == pattern)
    parts = one.get("patterns", [one])
    lines = text.splitlines()
    found = []
    for at in range(len(lines) - len(parts) + 1):
        groups = {}
        for part, line in zip(parts, lines[at:], strict=False):
            if match := re.search(part["regexp"], line):
                groups |= {name: match[part[name]] for name in ("message", "file", "line") if name in part}
        if len(groups) == len(("message", "file", "line")):
            found.append((groups["message"], groups["file"], int(groups["line"])))
    return found


def test_the_problem_matchers_find_the_places_that_commands_print(fg: Any) -> None:
    """Broken by another form of a place in an answer, or of the patterns."""
    script = fg.script(PROGRAM)
    fg.record("--args", "--retval", "-l", "__main__.*", script)
    text = PROGRAM.splitlines()
    lines = {name: text.index(line) + 1 for line in text for name in re.findall(r"^def (\w+)", line)}
    place = {name: (str(script), number) for name, number in lines.items()}

    first, second = (
        matched("funcgraph-place", fg.run("exceptions", "--nth", number).stdout) for number in "12"
    )
    assert [one[1:] for one in first] == [place[name] for name in ("rate", "price", "bill")]
    assert [one[0].split()[0] for one in first] == ["raised", "through", "replaced"]
    assert [one[1:] for one in second] == [place["bill"], place["main"]]

    last = matched("funcgraph-place", fg.run("values", "--last", "__main__.*").stdout)
    found = {message.partition("(")[0]: at for message, *at in last}
    assert {name: found[f"__main__.{name}"] for name in place} == {name: [*at] for name, at in place.items()}
    (head,) = matched("funcgraph-function", fg.run("values", "__main__.rate").stdout)
    assert head[0].startswith("__main__.rate: 1 call, ") and head[1:] == place["rate"]


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder where the extension's own tests passed with the real commands, with what these made."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("vscode")
    extension = folder / "extension"
    shutil.copytree(EXTENSION, extension, ignore=shutil.ignore_patterns("node_modules", "out"))
    shutil.copyfile(ROOT / "examples" / "answers" / "shop.py", folder / "shop.py")
    install = ["npm", "install", "--no-package-lock", "--no-audit"]
    if sizes.NIGHTLY:
        subprocess.run(install, cwd=extension, check=True)
    elif subprocess.run([*install, "--offline"], cwd=extension, check=False, capture_output=True).returncode:
        pytest.skip("npm has not loaded TypeScript: 'make vscode' does")
    command = f"{sys.executable} -m funcgraph"
    environment = {**os.environ, "FUNCGRAPH_COMMAND": command, "FUNCGRAPH_FOLDER": str(folder)}
    subprocess.run(["npm", "test"], cwd=extension, env=environment, check=True)
    return folder


def test_its_own_tests_pass_with_the_real_commands(tested: Path) -> None:
    assert (tested / "trace.fg").exists()


def test_the_viewers_page_runs_in_the_document_of_a_trace(tested: Path, browser: Any) -> None:
    """In the browser that the editor is made of, under the policy of the document. Broken by a policy without
    the hash of the page's script, or by a frame that may reach the document around it."""
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.add_init_script(
        "window.sent = []; window.acquireVsCodeApi = () => ({postMessage: (message) => sent.push(message)});"
    )
    page.goto((tested / "webview.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.get_by_text(re.compile(r"\d calls")).first.wait_for()
    origin, canvases = page.frames[1].evaluate("[origin, document.querySelectorAll('canvas').length]")
    assert (origin, problems) == ("null", []) and canvases
    for text in ("Show calls", "Open in the browser"):
        page.get_by_text(text).click()
    assert page.evaluate("sent") == ["show", "view"]
    page.close()
