"""`funcgraph tui`: what it shows for which keys, in process and in a real terminal."""
