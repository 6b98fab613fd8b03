"""Measures the figures of docs/performance.md. `make bench` runs it on each CPython that the document
names."""
