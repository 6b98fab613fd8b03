"""`python -m funcgraph`: the same as the `funcgraph` command."""

import sys

from funcgraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
