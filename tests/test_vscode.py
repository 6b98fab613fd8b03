"""The extension for VS Code runs commands that exist. Its own tests, with the real commands, are nightly:
they need npm and a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sizes

from funcgraph import cli
from tools.layout import ROOT

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


@pytest.mark.skipif(not sizes.NIGHTLY, reason="it installs TypeScript: nightly")
def test_its_own_tests_pass_with_the_real_commands(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "out"))
    shutil.copyfile(ROOT / "examples" / "answers" / "shop.py", tmp_path / "shop.py")
    subprocess.run(["npm", "install", "--no-package-lock", "--no-audit"], cwd=folder, check=True)
    command = f"{sys.executable} -m funcgraph"
    environment = {**os.environ, "FUNCGRAPH_COMMAND": command, "FUNCGRAPH_FOLDER": str(tmp_path)}
    subprocess.run(["npm", "test"], cwd=folder, env=environment, check=True)
