"""Measures figures on this Python, which must have funcgraph and viztracer installed. `make bench` runs it.

Usage: python -m benchmarks [--rounds N] [--share PART] [--section NAME] [--only NAME]...
                            [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import ALL, SECTIONS
from benchmarks.harness import Bench, Figure


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of each comparison (default: %(default)s)"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=1,
        metavar="PART",
        help="the part of the longest programs to run, such as 0.1: a quick look, not figures to publish",
    )
    parser.add_argument(
        "--only", action="append", choices=tuple(ALL), help="measure only these; may be repeated"
    )
    parser.add_argument("--section", choices=tuple(SECTIONS), help="those of one section of the document")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="funcgraph-bench-") as folder:
        bench = Bench(Path(folder), arguments.rounds, arguments.share)
        section = SECTIONS[arguments.section] if arguments.section else ALL
        for name in [name for name in section if name in (arguments.only or ALL)]:
            for figure in ALL[name](bench):
                figures.append(figure)
                verdict = {True: "ok", False: "MISS", None: ""}[figure.good]
                print(
                    f"{figure.name:<78} {figure.measured:>16}  {figure.target:<16} {verdict}".rstrip(),
                    flush=True,
                )
    if arguments.json:
        arguments.json.write_text(json.dumps([dataclasses.asdict(figure) for figure in figures], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
