"""funcgraph held to what others made: hostile environments, other packages' tests, servers."""
