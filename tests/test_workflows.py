"""The workflows of .github run what is there, where it can run."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tools import lint, pythons, sid
from tools.layout import ROOT
from tools.venvs import Environment

pytestmark = pytest.mark.one_python

FOLDER = ROOT / ".github" / "workflows"


def tags(words: list[str]) -> set[str]:
    """Return of releases as 3.13.0 the tags of their versions."""
    return {".".join(word.split(".")[:2]) for word in words}


def test_ci_brings_each_python_that_its_script_does_not() -> None:
    """Broken by a new version in SUPPORTED without a release in ci.yml: CI=true has such a run fail."""
    text = (FOLDER / "ci.yml").read_text()
    listed = re.search(r"^ +PYTHONS: (.*)$", text, re.MULTILINE)
    assert listed
    assert tags(listed[1].split()) == set(pythons.SUPPORTED) - set(sid.VERSIONS)


def test_ci_runs_the_script_where_it_can_work() -> None:
    """In Debian, of which setup-python has no CPython; with the rights to mount and attach; as root's own."""
    text = (FOLDER / "ci.yml").read_text()
    assert "image: debian:12" in text
    assert "actions/setup-python@" not in text
    assert re.search("^ +options: .*--privileged", text, re.MULTILINE)
    assert re.search(r"git clone \. (\S+)\n +cd \1 && \.ci/run$", text, re.MULTILINE)


def test_arm64_has_each_supported_python() -> None:
    listed = re.search(r"python: \[(.*)\]", (FOLDER / "arm64.yml").read_text())
    assert listed
    assert set(pythons.SUPPORTED) <= set(re.findall(r'"([\d.t]+)"', listed[1]))


def test_links_of_the_issue_forms_are_whole_addresses() -> None:
    """GitHub takes no relative ones there."""
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml").read_text()
    for address in re.findall(r"url: (\S+)", text):
        assert address.startswith("https://")


def test_a_workflow_runs_what_is_there() -> None:
    """Each `make TARGET` and each tool that a workflow names exists."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text()
        for words in re.findall(r"\bmake ([a-z -]+)", text):
            assert targets.issuperset(words.split()), f"{path.name}: make {words}"
        for module in re.findall(r"-m tools\.(\w+)", text):
            assert (ROOT / "tools" / f"{module}.py").is_file(), f"{path.name}: tools.{module}"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_lint_gives_each_workflow_to_actionlint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Path] = []

    class Prepared(Environment):
        def __init__(self) -> None:
            self.folder = tmp_path

    def run(words: list[Path], *, check: bool) -> int:
        given.extend(word for word in words[1:] if isinstance(word, Path))
        return 1

    monkeypatch.setattr(lint, "run", run)
    assert lint.actionlint(Prepared(), False) == 0  # no wheel of it for this machine
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "actionlint").touch()
    assert lint.actionlint(Prepared(), False) == 1
    assert given == sorted(FOLDER.iterdir())
