"""Comparing traces: figures of two versions of a program, and where two runs first differ."""
