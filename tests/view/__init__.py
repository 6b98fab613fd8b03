"""`funcgraph view`: the server, what it lets in, and what it answers."""
