"""The terminal viewer, `funcgraph tui`: panes over the answers of `view`, and the live table."""
