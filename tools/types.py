"""Types: `make types`. mypy --strict over our Python, and every stub against the module that was built."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.console import CommandFailedError, heading, print_message, run
from tools.layout import ROOT, files
from tools.pythons import choose
from tools.venvs import installed


def main() -> int:
    failed = []
    try:
        environment = installed("types", choose(""), "types")
    except (CommandFailedError, LookupError) as error:
        print_message(f"types: {error}")
        return 1
    heading("mypy --strict")
    if run([environment.python, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"], check=False):
        failed.append("mypy")
    stubs = [f"funcgraph.{stub.stem}" for stub in files("src/funcgraph", suffixes=(".pyi",))]
    heading(f"stubtest: {' '.join(stubs)}")
    # Outside the checkout, or it would look at src/ in place of what is installed.
    program: list[str | Path] = [environment.python, "-m", "mypy.stubtest"]
    program += ["--mypy-config-file", ROOT / "pyproject.toml", *stubs]
    if run(program, check=False, cwd=environment.folder):
        failed.append("stubtest")
    print_message(f"\ntypes: {'FAILED: ' + ', '.join(failed) if failed else 'clean'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
