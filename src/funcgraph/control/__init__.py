"""The former place of funcgraph.instance; kept for programs that import from it."""
