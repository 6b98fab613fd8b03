"""Checks the documents: `make docs`. The checks are tests/test_docs.py, which `make test` runs as well."""

from __future__ import annotations

import sys

from tools.console import CommandFailedError, print_message, run
from tools.pythons import choose
from tools.venvs import test_environment


def main() -> int:
    try:
        environment = test_environment(choose(""))
    except (CommandFailedError, LookupError) as error:
        print_message(f"docs: {error}")
        return 1
    return run(
        [environment.python, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_docs.py"], check=False
    )


if __name__ == "__main__":
    sys.exit(main())
