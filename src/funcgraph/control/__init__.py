"""How a running process is steered from outside: see docs/guides/control.md.

`latency` here is the former place of funcgraph.instance.latency, kept for programs that import it.
"""
