"""The recipe for conda-forge has what pyproject.toml says, and containers.md the pod of examples/sidecar."""

from __future__ import annotations

import re
import tomllib

import pytest

from tools.layout import ROOT

pytestmark = pytest.mark.one_python

RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text()


def test_the_recipe_is_of_this_version_with_these_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    about = project["project"]
    assert f'version: "{about["version"]}"' in RECIPE
    assert f"license: {about['license']}" in RECIPE
    assert f"summary: {about['description']}" in RECIPE
    (build,) = project["build-system"]["requires"]
    assert re.sub(r"([<>=])", r" \1", build, count=1) in RECIPE
    (need,) = about["dependencies"]
    match = re.fullmatch(r"([\w.]+)(>=[\d.]+); python_version < '([\d.]+)'", need)
    assert match
    name, least, limit = match.groups()
    assert f'if: match(python, "<{limit}")\n      then: {name} {least}\n' in RECIPE


def test_the_page_shows_the_pod_as_it_is() -> None:
    pod = (ROOT / "examples" / "sidecar" / "pod.yaml").read_text()
    page = (ROOT / "docs" / "guides" / "containers.md").read_text()
    for line in re.findall("^# (.*)", pod, re.MULTILINE)[1:]:
        assert f"    {line}\n" in page
    text = pod[pod.index("apiVersion") :]
    assert f"```yaml\n{text}```" in page
