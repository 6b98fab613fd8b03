"""What a suite came to, read from its JUnit file: counts, and the tests that failed by their node ids."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Report", "read_report"]


@dataclass(frozen=True)
class Report:
    """Numbers of tests, and the names of those that failed: node ids of pytest, names of ctest."""

    total: int
    failed: int
    skipped: int
    failures: tuple[str, ...]


def read_report(path: Path) -> Report | None:
    """Return what the file says; None if there is none, or if it is damaged."""
    try:
        suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return None

    def count(*names: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites for name in names)

    failures = [
        _node_id(case)
        for suite in suites
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    unique = tuple(dict.fromkeys(failures))  # a test may fail, and its fixture's end as well
    return Report(count("tests"), count("failures", "errors"), count("skipped"), unique)


def _node_id(case: ElementTree.Element) -> str:
    """Return the node id: the file, then the classes, which `classname` has after the module."""
    name, file = case.get("name", ""), case.get("file")
    owner = case.get("classname", "")
    if file is None:  # ctest; or pytest could not read a file of tests, which it names as a module
        return f"{name.replace('.', '/')}.py" if owner == "" and name.startswith("tests.") else name
    module = file.removesuffix(".py").replace("/", ".")
    classes = owner.removeprefix(module).strip(".")
    return "::".join([file, *filter(None, classes.split(".")), name])
