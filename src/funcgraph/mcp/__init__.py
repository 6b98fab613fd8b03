"""The server of `funcgraph mcp`: answers about traces over the Model Context Protocol."""
