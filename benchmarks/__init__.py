"""The figures of docs/performance.md. `make bench` measures them all on each CPython that they name."""
