"""Measures the figures of docs/reference/performance.md.

`make bench` runs it on each CPython that the document names.
"""
