"""Memory layouts to run tests on: what passes on one stack must not be that stack's luck.

A test whose outcome depends on what lies where on a stack passes on one machine and fails on another, always.
`make test` runs each CPython's tests on another of these layouts. `python3 -m tools.test --layout NAME` runs
all of them on one.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LAYOUTS", "Layout", "layout_for"]

_ENVIRONMENT_BYTES = 100_000


@dataclass(frozen=True)
class Layout:
    """How commands are started, so that they and their children have a memory layout.

    Args:
        name: for people and for --layout.
        prefix: words in front of a command.
        environment: variables that are added.
    """

    name: str
    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def can_run(self) -> bool:
        """Return whether this machine lets us: seccomp filters of containers forbid personality(2)."""
        if not self.prefix:
            return True
        if shutil.which(self.prefix[0]) is None:
            return False
        return subprocess.run([*self.prefix, "true"], capture_output=True).returncode == 0


LAYOUTS = (
    Layout("default"),
    # Without address space layout randomisation: the same addresses in each process.
    Layout("fixed-addresses", prefix=("setarch", platform.machine(), "-R")),
    # The environment lies above the stack: it moves all that is on it.
    Layout("large-environment", environment={"FUNCGRAPH_TEST_FILL": "x" * _ENVIRONMENT_BYTES}),
    # The loader resolves everything at start-up, and leaves other words behind.
    Layout("bind-now", environment={"LD_BIND_NOW": "1"}),
)


def layout_for(version: tuple[Any, ...]) -> Layout:
    """Return the layout on which `make test` runs the tests of a CPython: another for each minor version."""
    chosen = LAYOUTS[(version[1] - 11) % len(LAYOUTS)]
    return chosen if chosen.can_run() else LAYOUTS[0]
