"""What `make` runs: standard library only, CPython 3.11 or later. Nothing of it is installed."""
