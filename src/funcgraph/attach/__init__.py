"""Attaching to a running process that never heard of funcgraph."""
