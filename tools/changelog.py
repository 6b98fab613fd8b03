"""Prints the section of a version in CHANGELOG.md, which is what a release says of itself.

python -m tools.changelog 0.1.0
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from tools.console import print_message
from tools.layout import ROOT


def section(text: str, version: str) -> str:
    """Return what a changelog says of a version, without its heading.

    Args:
        text: the changelog, of the form of Keep a Changelog.
        version: as 0.1.0; or Unreleased.

    Raises:
        LookupError: it has no section of this version, or an empty one.

    Example:
        >>> section("# Changelog\\n\\n## [0.1.0] - 2026-12-01\\n\\n### Added\\n\\n- all\\n", "0.1.0")
        '### Added\\n\\n- all\\n'
    """
    heading = rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)"
    match = re.search(heading, text, re.MULTILINE | re.DOTALL)
    if match is None or not match[1].strip():
        raise LookupError(f"CHANGELOG.md has nothing of {version}")
    return match[1].strip() + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.changelog", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", metavar="VERSION", help="as 0.1.0")
    try:
        text = section((ROOT / "CHANGELOG.md").read_text(), parser.parse_args(argv).version)
    except LookupError as error:
        print_message(f"changelog: {error}")
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
