"""action.yml: what its scripts do on a push and in a change, as a workflow runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Funcgraph

from tools.layout import ROOT

pytestmark = pytest.mark.one_python

_SLOW = "def helper(): pass\ndef work():\n    for i in range({calls}): helper()\nwork()\n"


class Runner:
    """Runs the scripts in a folder, with the environment that a workflow gives them."""

    def __init__(self, fg: Funcgraph, folder: Path) -> None:
        self.folder = folder
        self._env = dict(fg.env)
        self._env["PATH"] = f"{Path(fg.command[0]).parent}{os.pathsep}{os.environ['PATH']}"

    def step(self, script: str, **inputs: str) -> tuple[int, dict[str, str], str]:
        """Run one; return its status, its outputs and what it printed."""
        output = self.folder / "output.txt"
        output.unlink(missing_ok=True)
        env = {**self._env, "NAME": "trace", "GITHUB_OUTPUT": str(output), **inputs}
        path = ROOT / ".github" / "action" / script
        done = subprocess.run(["bash", path], cwd=self.folder, env=env, capture_output=True, text=True)
        lines = output.read_text().splitlines() if output.exists() else []
        return done.returncode, dict(line.split("=", 1) for line in lines), done.stdout + done.stderr

    def record(self, event: str, calls: int, options: str = "") -> dict[str, str]:
        (self.folder / "app.py").write_text(_SLOW.format(calls=calls))
        inputs = {"COMMAND": "app.py", "OPTIONS": options, "GITHUB_EVENT_NAME": event}
        status, outputs, printed = self.step("record.sh", **inputs)
        assert status == 0, printed
        return outputs

    def report(self, event: str, trace: str, conditions: str) -> tuple[int, str]:
        inputs = {"FAIL_IF": conditions, "ROWS": "5", "TRACE": trace, "GITHUB_EVENT_NAME": event}
        status, outputs, _ = self.step("report.sh", **inputs, GITHUB_BASE_REF="main")
        return status, (self.folder / outputs["report"]).read_text()


@pytest.fixture
def runner(fg: Funcgraph, tmp_path: Path) -> Runner:
    return Runner(fg, tmp_path)


def test_a_change_is_compared_with_the_base_branch(runner: Runner) -> None:
    runner.record("push", 10)
    trace = runner.record("pull_request", 30)["trace"]
    status, report = runner.report("pull_request", trace, "__main__.helper: calls > 2\n\n")
    assert status == 1, report
    assert "### Calls of `trace`" in report
    assert "<details open><summary>Compared with main</summary>" in report
    assert "<details><summary>Summary</summary>" in report
    assert "__main__.helper" in report
    status, report = runner.report("pull_request", trace, "calls > 10\n__main__.work: calls > 1.5")
    assert status == 0, report


def test_the_first_change_has_nothing_to_be_compared_with(runner: Runner) -> None:
    trace = runner.record("pull_request", 3)["trace"]
    assert not (runner.folder / ".funcgraph" / "base" / "trace.fg").exists(), "a change is no base"
    status, report = runner.report("pull_request", trace, "calls > 1.1")
    assert status == 0, report
    assert "There is no trace of the base branch yet" in report


def test_options_are_words_as_in_a_shell(runner: Runner) -> None:
    trace = runner.record("push", 3, options="-l '*helper' --max-graph-depth 5")["trace"]
    _, report = runner.report("push", trace, "")
    assert "__main__.helper" in report
    assert "__main__.work" not in report


def test_a_command_that_fails_fails_the_step_and_leaves_its_trace(runner: Runner) -> None:
    (runner.folder / "app.py").write_text("def f(): raise SystemExit(3)\nf()\n")
    inputs = {"COMMAND": "app.py", "OPTIONS": "", "GITHUB_EVENT_NAME": "push"}
    status, outputs, _ = runner.step("record.sh", **inputs)
    assert status == 3
    assert (runner.folder / outputs["trace"]).is_file()


def test_each_script_and_each_value_that_the_action_names_is_there() -> None:
    text = (ROOT / "action.yml").read_text()
    scripts = re.findall(r"\.github/action/(\w+\.sh)", text)
    assert sorted(scripts) == sorted(path.name for path in (ROOT / ".github" / "action").glob("*.sh"))
    inputs = set(
        re.findall(r"^  ([a-z-]+):$", text.partition("inputs:")[2].partition("outputs:")[0], re.MULTILINE)
    )
    assert set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)) == inputs


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not here")
def test_shellcheck_finds_nothing() -> None:
    scripts = sorted((ROOT / ".github" / "action").glob("*.sh"))
    done = subprocess.run(["shellcheck", "-s", "bash", *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
